"""The kinds that patterns and check digits can find: for each how it looks, and what makes a look-alike one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from policies.detectors.checksums import IBAN_LENGTHS, is_cnpj, is_cpf, is_iban, passes_luhn
from policies.detectors.context import just_before, near

if TYPE_CHECKING:
    from collections.abc import Callable

Score = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span that a pattern matched, within the folded text."""

    text: str
    start: int
    end: int

    @property
    def span(self) -> str:
        return self.text[self.start : self.end]

    @property
    def digits(self) -> str:
        return "".join(filter(str.isdecimal, self.span))

    @property
    def tied(self) -> bool:
        """True if a dash, dot, slash or colon ties it to more digits: a part of a longer number."""
        return bool(_TIED_BEFORE.search(self.before) or _TIED_AFTER.match(self.after))

    @property
    def in_code(self) -> bool:
        """True if it is tied to letters too, as the parts of a UUID are."""
        return self.tied or bool(_CODE_BEFORE.search(self.before) or _CODE_AFTER.match(self.after))

    @property
    def before(self) -> str:
        return self.text[max(0, self.start - 2) : self.start]

    @property
    def after(self) -> str:
        return self.text[self.end : self.end + 2]

    def near(self, words: str) -> bool:
        return near(self.text, self.start, self.end, words)


@dataclass(frozen=True, slots=True)
class Kind:
    """`pattern` matches in linear time, its first group is the span; `judge` scores it or says that it is none."""

    name: str
    pattern: str
    judge: Callable[[Candidate], Score | None]


_TIED_BEFORE = re.compile(r"[0-9][-./:]\Z")
_TIED_AFTER = re.compile(r"[-./:][0-9]")
_CODE_BEFORE = re.compile(r"[A-Za-z]-\Z")
_CODE_AFTER = re.compile(r"-[A-Za-z]")

# RE2 has no look-around: what stands before is consumed, what follows is a word boundary or an underscore.
_START = r"(?:\A|[^0-9A-Za-z])"
_END = r"(?:\b|_)"

_CPF_WORDS = r"cpf|cpf/mf|cadastro de pessoas? fisicas?|contribuinte"
_CNPJ_WORDS = r"cnpj|cnpj/mf|cadastro nacional da pessoa juridica"
_CEP_WORDS = (
    r"cep|codigo postal|zip code|endereco|address|rua|r\.|avenida|av\.?|alameda|travessa|praca|rodovia|bairro|"
    r"logradouro"
)
_PHONE_WORDS = (
    r"tel|tels|telefones?|fone|celular|cel|whats ?app|whats|zap|contatos?|ligar|ligue|liga|ligacao|recados?|"
    r"phones?|telephone|mobile|cell|call|text me|contact|sms|fax|ramal|"
    r"(?:my|your|his|her) number|(?:meu|seu) numero"
)
_CARD_WORDS = (
    r"cartao|cartoes|credito|debito|card|cards|visa|master ?card|amex|american express|elo|hipercard|diners|"
    r"cvv|cvc|validade|expir\w*"
)
_IBAN_WORDS = r"iban|conta|bank|banco|account|transfer\w*|swift|bic"
_OTHER_NUMBER_WORDS = (
    r"pedido|order|protocolo|processo|rastreio|rastreamento|tracking|imei|nota|nf-?e|chave|serial|serie|sku|"
    r"codigo de barras|barcode|ean|isbn|ticket|chamado|matricula|id"
)


def _cpf(found: Candidate) -> Score | None:
    if not is_cpf(found.digits):
        return None
    if re.fullmatch(r"\d{3}\.\d{3}\.\d{3}-\d{2}", found.span) or found.near(_CPF_WORDS):
        return "high"
    if found.tied or _DOTTED_QUAD.fullmatch(found.span) or _said_to_be_a_mobile(found):
        return None
    return "medium"


_DOTTED_QUAD = re.compile(r"\d{3}\.\d{3}\.\d{3}\.\d{2}")


def _said_to_be_a_mobile(found: Candidate) -> bool:
    """One mobile number in a hundred passes the check of a CPF by chance."""
    return _brazilian(found.digits) and just_before(found.text, found.start, _PHONE_WORDS)


def _cnpj(found: Candidate) -> Score | None:
    plain = re.sub(r"[^0-9A-Za-z]", "", found.span)
    if not is_cnpj(plain):
        return None
    if "/" in found.span or found.near(_CNPJ_WORDS):
        return "high"
    if found.tied:
        return None
    # One code in a hundred passes the check by chance; those of machines are in small letters.
    return "medium" if plain == plain.upper() else "low"


def _cep(found: Candidate) -> Score | None:
    if found.in_code or len(set(found.digits)) == 1:
        return None
    formatted = "-" in found.span
    if found.near(_CEP_WORDS):
        return "high" if formatted else "medium" if found.near(r"cep|codigo postal") else None
    return "low" if formatted else None


# Area codes in use (Anatel); no other two digits begin a Brazilian number.
_AREA_CODES = frozenset(
    (
        "11 12 13 14 15 16 17 18 19 21 22 24 27 28 31 32 33 34 35 37 38 41 42 43 44 45 46 47 48 49 51 53 54 55 "
        "61 62 63 64 65 66 67 68 69 71 73 74 75 77 79 81 82 83 84 85 86 87 88 89 91 92 93 94 95 96 97 98 99"
    ).split()
)


def _phone(found: Candidate) -> Score | None:
    if found.in_code:
        return None
    if found.span.startswith("+"):
        return _international(found)
    if _AMERICAN.fullmatch(found.span):
        return "high" if found.near(_PHONE_WORDS) else "medium"
    digits = found.digits
    national = digits[2:] if digits.startswith("55") and len(digits) in (12, 13) else digits.lstrip("0")
    return _national(found) if _brazilian(national) else _by_context(found, digits)


# Area and exchange begin with 2 to 9 (NANP).
_AMERICAN = re.compile(r"(?:1[-. ])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[-.])[2-9]\d{2}[-.]\d{4}")


def _international(found: Candidate) -> Score | None:
    digits = found.digits
    if digits.startswith("55"):
        return "high" if _brazilian(digits[2:]) else None
    if not 8 <= len(digits) <= 15:
        return None
    if found.near(_PHONE_WORDS):
        return "high"
    # A sum with a sign has no groups, or groups of three behind points.
    grouped = re.search(r"\d[ ()-]", found.span) or len(digits) > 10
    return "medium" if grouped else None


def _brazilian(national: str) -> bool:
    """Area code, then a mobile of nine digits that begins with 9, or a fixed line of eight that begins with 2 to 5."""
    if national[:2] not in _AREA_CODES:
        return False
    return (len(national) == 11 and national[2] == "9") or (len(national) == 10 and national[2] in "2345")


def _national(found: Candidate) -> Score | None:
    if re.search(r"\(0?\d\d\)", found.span):
        return "high"
    if found.near(_PHONE_WORDS):
        return "high" if _GROUPED.search(found.span) else "medium"
    return "medium" if _GROUPED.search(found.span) and not _YEARS.search(found.span) else None


# An area code set apart, and a number in two parts.
_GROUPED = re.compile(r"\A\d{2,5}[ -].*\d{4}[- .]\d{4}\Z")
_YEARS = re.compile(r"(?:19|20)\d\d[- .](?:19|20)\d\d\Z")


def _by_context(found: Candidate, digits: str) -> Score | None:
    """Without a known area code only a word nearby tells a phone from a range of years or pages."""
    mobile = len(digits) == 9 and digits[0] == "9"
    fixed = len(digits) == 8 and digits[0] in "2345" and not _YEARS.search(found.span)
    foreign = 9 <= len(digits) <= 12 and not found.span.isdecimal()
    return "medium" if (mobile or fixed or foreign) and found.near(_PHONE_WORDS) else None


_FILE_ENDINGS = frozenset("png jpg jpeg gif svg webp ico css js ts map json html py whl gz zip".split())


def _email(found: Candidate) -> Score | None:
    local, _, domain = found.span.rpartition("@")
    if domain.rpartition(".")[2].lower() in _FILE_ENDINGS or ".." in local:
        return None
    # `git@github.com:owner/name` is the address of a repository.
    return None if local == "git" and found.text[found.end : found.end + 1] == ":" else "high"


def _card(found: Candidate) -> Score | None:
    digits = found.digits
    if not _issued(digits) or not passes_luhn(digits) or found.tied:
        return None
    if found.near(_CARD_WORDS) or re.search(r"\d[ .-]\d", found.span):
        return "high"
    return "low" if just_before(found.text, found.start, _OTHER_NUMBER_WORDS) else "medium"


# Issuer prefixes with the lengths of their numbers; Elo and Hipercard by their published ranges.
_ISSUERS = (
    (re.compile(r"4"), (13, 16, 19)),
    (re.compile(r"5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"3(?:0[0-5]|[689])"), (14, 16, 19)),
    (re.compile(r"6(?:011|4[4-9]|5)"), (16, 19)),
    (re.compile(r"35(?:2[89]|[3-8])"), (16, 19)),
    (re.compile(r"2131|1800"), (15,)),
    (re.compile(r"62"), (16, 17, 18, 19)),
    (re.compile(r"50(?:18|20|38)|6(?:304|759|76[1-3])"), (12, 13, 14, 15, 16, 17, 18, 19)),
    (re.compile(r"50(?:41|66|67|78|9)|6(?:277|362|363)"), (16,)),
    (re.compile(r"606282|637(?:095|5|6)"), (16,)),
)


def _issued(digits: str) -> bool:
    return any(prefix.match(digits) and len(digits) in lengths for prefix, lengths in _ISSUERS)


def _iban(found: Candidate) -> Score | None:
    if not is_iban(re.sub(r"[ -]", "", found.span.upper())):
        return None
    canonical = re.fullmatch(r"[A-Z]{2}\d{2}(?: [A-Z0-9]{4})+(?: [A-Z0-9]{1,4})?", found.span)
    return "high" if canonical or found.near(_IBAN_WORDS) else "medium"


def _secret_key(found: Candidate) -> Score | None:
    if not found.span.startswith("sk-"):
        return "high"
    # Style sheets and examples have words behind `sk-`.
    return "high" if len(found.digits) > 1 else None


def _iban_pattern() -> str:
    """One alternative for each length, so that a match never runs into the next word."""
    by_length: dict[int, list[str]] = {}
    for country, length in IBAN_LENGTHS.items():
        by_length.setdefault(length, []).append(country)
    exact = (rf"(?:{'|'.join(names)})\d{{2}}(?:[ -]?[0-9A-Z]){{{length - 4}}}" for length, names in by_length.items())
    return rf"{_START}((?i:{'|'.join(exact)})){_END}"


# Letters beyond ASCII are allowed in addresses; all of UTF-8 compiles to far less than the letters of Unicode.
_HOST = r"0-9A-Za-z\x{80}-\x{10ffff}-"
_MAIL = r"._%+" + _HOST

_SECRETS = (
    r"sk-[0-9A-Za-z_-]{20,}",
    r"[rs]k_(?:live|test)_[0-9A-Za-z]{16,}",
    r"gh[pousr]_[0-9A-Za-z]{36,}",
    r"github_pat_[0-9A-Za-z_]{22,}",
    r"glpat-[0-9A-Za-z_-]{20,}",
    r"(?:AKIA|ASIA)[0-9A-Z]{16}",
    r"AIza[0-9A-Za-z_-]{35}",
    r"xox[abeoprs]-[0-9A-Za-z-]{10,}",
    r"hf_[0-9A-Za-z]{30,}",
    r"npm_[0-9A-Za-z]{36}",
    r"eyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}",
)
_KEY_END = r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_PRIVATE_KEY = rf"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[^-]*(?:{_KEY_END})?"

_CNPJ = r"[0-9A-Z]{2}[. ]?[0-9A-Z]{3}[. ]?[0-9A-Z]{3} ?[/ ]? ?[0-9A-Z]{4} ?-? ?\d{2}"
_CARD = (
    r"[2-6]\d{3}[ .-]?\d{4}[ .-]?\d{4}[ .-]?\d{4}"
    r"|3\d{3}[ -]?\d{6}[ -]?\d{4,5}"
    r"|(?:2131|1800)\d{11}|(?:4|50[123]|6[37])\d{10,13}|[3-6]\d{16,18}"
)
_PHONE = (
    r"\+55\)?[ .-]?\(?\d{2}\)?[ .-]?9?[ .-]?\d{4}[ .-]?\d{4}"
    r"|\+[1-9]\d{0,2}(?:[ .-]?\(?\d{1,5}\)?){2,6}"
    r"|(?:55[ -]?)?\(?0?[1-9]\d\)?[ -]{0,3}9?[ .-]?\d{4}[ .-]?\d{4}"
    r"|(?:1[-. ])?\(?[2-9]\d{2}\)?[-. ]?\d{3}[-.]\d{4}"
    r"|(?:9[ .-]?)?\d{4}[ .-]\d{4}|9\d{8}"
    r"|\(?\d{2,5}\)?(?:[ .-]\d{2,5}){1,4}"
)

KINDS = (
    Kind("secret_key", rf"(?:\A|[^0-9A-Za-z_-])({'|'.join(_SECRETS)})|({_PRIVATE_KEY})", _secret_key),
    Kind("cpf", rf"(?:{_START}|(?i:cpf))(\d{{3}}[. -]?\d{{3}}[. -]?\d{{3}} ?[-./]? ?\d{{2}}){_END}", _cpf),
    Kind("cnpj", rf"(?:{_START}|(?i:cnpj))((?i:{_CNPJ})){_END}", _cnpj),
    Kind("card", rf"{_START}({_CARD}){_END}", _card),
    Kind("iban", _iban_pattern(), _iban),
    Kind("email", rf"(?:\A|[^{_MAIL}])([{_MAIL}]+@(?:[{_HOST}]+\.)+[A-Za-z]{{2,24}})\b", _email),
    Kind("phone", rf"(?:\A|[^0-9A-Za-z+])({_PHONE}){_END}", _phone),
    Kind("cep", rf"{_START}(\d{{2}}\.?\d{{3}}-?\d{{3}}){_END}", _cep),
)
