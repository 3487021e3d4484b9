"""Figures and notes, collected while a scenario is put together: nothing enters it without a source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway.owning.figures import OF_OVERRIDE as NAMES
from gateway.owning.figures import Figure
from gateway.owning.notes import Note

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from fractions import Fraction

    from gateway.owning.figures import From
    from gateway.owning.notes import Fact
    from gateway.owning.questions import Override
    from policies.scenarios import Sourced


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a figure comes from."""

    kind: From
    source: str
    as_of: date | None = None


DEFAULT = Origin("default", "nobody stated it")
OVERRIDDEN = Origin("overridden", "changed for this look")


@dataclass
class Told:
    """What was told so far; `name` is the scenario's."""

    name: str
    at: date
    overrides: Mapping[Override, Fraction]
    figures: list[Figure] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def figure(self, name: str, value: Fraction | str, unit: str, origin: Origin) -> None:
        self.figures.append(Figure(name, value, unit, origin.kind, origin.source, origin.as_of))

    def note(self, code: str, **facts: Fact) -> None:
        self.notes.append(Note(code, facts))

    def first_note(self, code: str, **facts: Fact) -> None:
        """What is to be read before all others."""
        self.notes.insert(0, Note(code, facts))

    def chosen(self, override: Override, value: Fraction, unit: str, origin: Origin) -> Fraction:
        """The value, or what was put in its place for this look; the figure tells of the one that counts."""
        changed = self.overrides.get(override)
        if changed is None:
            self.figure(NAMES[override], value, unit, origin)
            return value
        self.figure(NAMES[override], changed, unit, OVERRIDDEN)
        return changed

    def is_known(self, name: str) -> bool:
        """True of a figure that somebody stated or saw; False of one that is assumed, or is not told."""
        return any(figure.name == name and figure.origin != "default" for figure in self.figures)

    def stated(self, part: Sourced | None = None) -> Origin:
        """In the scenario; its source and day, where a part of it names them."""
        source, as_of = (None, None) if part is None else (part.source, part.as_of)
        return Origin("stated", source or f"stated in scenario {self.name!r}", as_of)
