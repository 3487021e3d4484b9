"""What there is to know of an answer beside its figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

Fact = str | int | Fraction


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know of the answer: a code, whose sentence the words have in either language, and what it names.

    A fact's name says how it is written: `..._usd`, `..._tokens`, `..._share`, `..._bytes`, `..._ms`; texts stay.
    """

    code: str
    facts: Mapping[str, Fact] = field(default_factory=dict)
