"""Sentences by their codes, in either language; what they name is written as that language writes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, get_args

from gateway.owning.fits.words import PORTUGUESE, WORDS
from gateway.owning.written import Language, many, number, rate, size

if TYPE_CHECKING:
    from collections.abc import Mapping

Fact: TypeAlias = "int | str | Fraction | Sentence"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A code whose words stand in `WORDS`, and what it names.

    A fact's name says how it is written: `..._bytes` as a size, `..._parameters` as a large count, `..._tps` as a rate.
    A text that begins with `@` stands for the words of that code, and a sentence is said inside this one.
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
    if isinstance(fact, Sentence):
        return say(fact, language)
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
