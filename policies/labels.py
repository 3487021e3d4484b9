"""The label of a text: how confidential it is, whom it concerns, and whether it was redacted.

Labels form a join-semilattice: `a | b` is the least label that is at least both. Nothing in here lowers a label
but `Label.after_redaction`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORD = re.compile(r"[a-z][a-z0-9_-]{0,63}\Z")


class Level(IntEnum):
    """How confidential a text is."""

    PUBLIC = 0
    INTERNAL = 1
    PRIVATE = 2
    SECRET = 3

    def __str__(self) -> str:
        return self.name.lower()

    @classmethod
    def parse(cls, text: str) -> Level:
        """Read `public`, `internal`, `private` or `secret`; ValueError otherwise."""
        try:
            return cls[text.strip().upper()]
        except KeyError:
            raise ValueError(f"{text!r} is no level: use public, internal, private or secret") from None


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """A level with its compartments: one side of a label, or what may be read."""

    level: Level = Level.PUBLIC
    compartments: frozenset[str] = frozenset()

    def __or__(self, other: Sensitivity) -> Sensitivity:
        return Sensitivity(max(self.level, other.level), self.compartments | other.compartments)

    def __le__(self, other: Sensitivity) -> bool:
        return self.level <= other.level and self.compartments <= other.compartments

    def __str__(self) -> str:
        return "+".join([str(self.level), *sorted(self.compartments)])

    @classmethod
    def parse(cls, text: str) -> Sensitivity:
        """Read `private` or `private+health+work`; ValueError otherwise."""
        level, *compartments = (part.strip() for part in text.split("+"))
        for word in compartments:
            if not _WORD.match(word):
                raise ValueError(f"{word!r} is no compartment: use a word of a-z, 0-9, '-' or '_'")
        return cls(Level.parse(level), frozenset(compartments))


@dataclass(frozen=True, slots=True)
class Label:
    """What a text is now (`plain`) and, if parts of it were redacted, what those parts were (`redacted`)."""

    plain: Sensitivity = Sensitivity()
    redacted: Sensitivity | None = None

    @classmethod
    def of(cls, level: Level, *compartments: str) -> Label:
        return cls(Sensitivity(level, frozenset(compartments)))

    @classmethod
    def parse(cls, text: str) -> Label:
        """Read what `str()` writes: `private+health`, or `internal redacted:private+health`."""
        plain, _, redacted = text.strip().partition(" redacted:")
        return cls(Sensitivity.parse(plain), Sensitivity.parse(redacted) if redacted else None)

    def __str__(self) -> str:
        return f"{self.plain} redacted:{self.redacted}" if self.redacted else str(self.plain)

    def __or__(self, other: Label) -> Label:
        return Label(self.plain | other.plain, _join_optional(self.redacted, other.redacted))

    def __le__(self, other: Label) -> bool:
        """True if this label may stand wherever the other may: the order that `|` is the join of."""
        if not self.plain <= other.plain:
            return False
        if self.redacted is None:
            return True
        return other.redacted is not None and self.redacted <= other.redacted

    @property
    def level(self) -> Level:
        """The kept level: redaction does not lower it, it only marks it."""
        return max(self.plain.level, self.redacted.level) if self.redacted else self.plain.level

    @property
    def compartments(self) -> frozenset[str]:
        """The kept compartments, those of redacted parts included."""
        return self.plain.compartments | self.redacted.compartments if self.redacted else self.plain.compartments

    def after_redaction(self, scanned: Label) -> Label:
        """The label of this text once a redactor replaced what it found and the result was scanned again."""
        before = self.plain if self.redacted is None else self.plain | self.redacted
        return Label(scanned.plain, _join_optional(before, scanned.redacted))


PUBLIC = Label.of(Level.PUBLIC)
INTERNAL = Label.of(Level.INTERNAL)
PRIVATE = Label.of(Level.PRIVATE)
SECRET = Label.of(Level.SECRET)


def join(labels: Iterable[Label]) -> Label:
    """The least label that is at least all of them; `public` for none."""
    return reduce(Label.__or__, labels, PUBLIC)


def may_read(clearance: Sensitivity, label: Label) -> bool:
    """True if a reader with this clearance may see the text: a reader without compartments sees only text without."""
    return label.level <= clearance.level and label.compartments <= clearance.compartments


def _join_optional(one: Sensitivity | None, other: Sensitivity | None) -> Sensitivity | None:
    if one is None or other is None:
        return one or other
    return one | other
