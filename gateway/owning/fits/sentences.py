"""Sentences by their codes, in either language; what they name is written as that language writes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, get_args

from gateway.owning.fits.words import PORTUGUESE, WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

Language = Literal["en", "pt"]
Fact = int | str | Fraction

_TO_PORTUGUESE = str.maketrans(",.", ".,")
_SMALL = 10
_LARGE = 100
_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_COUNTS = ((10**12, "trillion", "trilhões"), (10**9, "billion", "bilhões"), (10**6, "million", "milhões"))


@dataclass(frozen=True, slots=True)
class Sentence:
    """A code whose words stand in `WORDS`, and what it names.

    A fact's name says how it is written: `..._bytes` as a size, `..._parameters` as a large count, `..._tps` as a rate.
    A text that begins with `@` stands for the words of that code.
    """

    code: str
    facts: Mapping[str, Fact] = field(default_factory=dict)
    source: str = ""
    """Where it is from, as a reader would look it up."""


def say(sentence: Sentence, language: Language = "en") -> str:
    """The sentence in words; KeyError for a code that has none."""
    words = WORDS[sentence.code][get_args(Language).index(language)]
    return words.format(**{name: written(name, fact, language) for name, fact in sentence.facts.items()})


def written(name: str, fact: Fact, language: Language = "en") -> str:
    """One fact as the language writes it."""
    if isinstance(fact, str):
        return _text(fact, language)
    if name.endswith("bytes"):
        return size(fact, language)
    if name.endswith("parameters"):
        return many(int(fact), language)
    if isinstance(fact, Fraction) or name.endswith("tps"):
        return rate(Fraction(fact), language)
    return number(fact, language)


def _text(fact: str, language: Language) -> str:
    """A text of the catalog's in the reader's language, or the words that `@code` stands for."""
    if fact.startswith("@"):
        return say(Sentence(fact[1:]), language)
    return PORTUGUESE.get(fact, fact) if language == "pt" else fact


def number(whole: int, language: Language = "en") -> str:
    """A whole number with its thousands set apart."""
    return _spelled(f"{whole:,}", language)


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
    return _spelled(f"{float(value):.2g}", language) if 0 < value < 1 else rounded(value, language)


def rounded(value: Fraction, language: Language = "en") -> str:
    """Three digits that count, or all that stand before the point."""
    places = 0 if value >= _LARGE else 1 if value >= _SMALL else 2
    text = f"{float(value):,.{places}f}"
    return _spelled(text.rstrip("0").rstrip(".") if "." in text else text, language)


def _spelled(text: str, language: Language) -> str:
    return text.translate(_TO_PORTUGUESE) if language == "pt" else text
