"""The check digits of identifiers: what tells a number that was given to somebody from one that only looks like it."""

from __future__ import annotations

_CPF_WEIGHTS = (10, 9, 8, 7, 6, 5, 4, 3, 2)
_CNPJ_WEIGHTS = (5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)

# ISO 13616, from the SWIFT registry: the length of an IBAN by country.
IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "BY": 28,
    "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18,
    "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22,
    "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20,
    "LU": 20, "LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30, "NL": 18, "NO": 15,
    "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SC": 31, "SE": 24, "SI": 19,
    "SK": 24, "SM": 27, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip


def is_cpf(digits: str) -> bool:
    """Eleven digits whose last two check the others; one digit repeated is nobody's number."""
    if len(digits) != 11 or not digits.isdecimal() or len(set(digits)) == 1:
        return False
    values = [int(digit) for digit in digits]
    first = _mod_11(values[:9], _CPF_WEIGHTS)
    second = _mod_11(values[:10], (11, *_CPF_WEIGHTS))
    return values[9:] == [first, second]


def is_cnpj(text: str) -> bool:
    """Twelve letters or digits and two check digits: a letter counts as its ASCII code less 48 (Receita Federal)."""
    if len(text) != 14 or not text[12:].isdecimal() or len(set(text)) == 1:
        return False
    values = [ord(character) - 48 for character in text.upper()]
    first = _mod_11(values[:12], _CNPJ_WEIGHTS)
    second = _mod_11(values[:13], (6, *_CNPJ_WEIGHTS))
    return values[12:] == [first, second]


def _mod_11(values: list[int], weights: tuple[int, ...]) -> int:
    rest = sum(value * weight for value, weight in zip(values, weights, strict=True)) % 11
    return 0 if rest < 2 else 11 - rest


def passes_luhn(digits: str) -> bool:
    """ISO/IEC 7812: every second digit from the right is doubled, and the digits of all add up to a ten."""
    doubled = [int(digit) * 2 for digit in digits[-2::-2]]
    total = sum(int(digit) for digit in digits[-1::-2]) + sum(value - 9 if value > 9 else value for value in doubled)
    return total % 10 == 0


def is_iban(text: str) -> bool:
    """The country's length, and 1 modulo 97 with the first four at the end and letters as 10 to 35."""
    if len(text) != IBAN_LENGTHS.get(text[:2]):
        return False
    return int("".join(str(int(character, 36)) for character in text[4:] + text[:4])) % 97 == 1
