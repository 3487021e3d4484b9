"""How figures are written for people, in English and Brazilian Portuguese."""

from __future__ import annotations

from fractions import Fraction
from math import floor, log10
from typing import Literal

Language = Literal["en", "pt"]

_TO_PORTUGUESE = str.maketrans(",.", ".,")
_SMALL, _LARGE = 10, 100
_TINY = Fraction(1, 10)
_A_CENT = Fraction(1, 100)
_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_COUNTS = ((10**12, "trillion", "trilhões"), (10**9, "billion", "bilhões"), (10**6, "million", "milhões"))


def number(whole: int, language: Language = "en") -> str:
    """A whole number with its thousands set apart."""
    return spelled(f"{whole:,}", language)


def size(count: Fraction | int, language: Language = "en") -> str:
    """Bytes as people in this trade say them: `1,560 GB`, `14.5 GB`, `449 MB`; a gigabyte is 10**9."""
    exact = Fraction(count)
    for unit, name in _UNITS:
        if exact >= unit:
            return f"{rounded(exact / unit, language)}\N{NO-BREAK SPACE}{name}"
    return f"{int(exact)}\N{NO-BREAK SPACE}bytes"


def many(count: int, language: Language = "en") -> str:
    """A large count: `2.78 trillion`."""
    for unit, english, portuguese in _COUNTS:
        if count >= unit:
            return f"{rounded(Fraction(count, unit), language)} {portuguese if language == 'pt' else english}"
    return number(count, language)


def rate(value: Fraction, language: Language = "en") -> str:
    """Something by the second."""
    return spelled(f"{float(value):.2g}", language) if 0 < value < 1 else rounded(value, language)


def rounded(value: Fraction, language: Language = "en") -> str:
    """Three digits that count, or all before the point; of what is small two, so that it never looks like nothing."""
    if 0 < abs(value) < _TINY:
        return spelled(f"{float(value):.{1 - floor(log10(abs(value)))}f}".rstrip("0"), language)
    places = 0 if abs(value) >= _LARGE else 1 if abs(value) >= _SMALL else 2
    text = f"{float(value):,.{places}f}"
    return spelled(text.rstrip("0").rstrip(".") if "." in text else text, language)


def usd(amount: Fraction, language: Language = "en") -> str:
    """Dollars: cents where they count."""
    if 0 < abs(amount) < _A_CENT:
        return f"US$ {rounded(amount, language)}"
    return f"US$ {spelled(f'{float(amount):,.{2 if abs(amount) < 1000 else 0}f}', language)}"


def share(part: Fraction, language: Language = "en") -> str:
    """A part of a whole, in percent."""
    return f"{rounded(part * 100, language)} %"


def spelled(text: str, language: Language) -> str:
    """A number's points and commas as the language has them."""
    return text.translate(_TO_PORTUGUESE) if language == "pt" else text
