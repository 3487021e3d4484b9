"""What is wrong with a pack: where it is, and what was probably meant."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in one file of a pack."""

    file: str
    line: int | None
    key: str
    message: str
    suggestion: str | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        where = f"{place}: {self.key}" if self.key else place
        meant = f"; did you mean {self.suggestion!r}?" if self.suggestion else ""
        return f"{where}: {self.message}{meant}"


class PackError(Exception):
    """A pack that must not be used; all its problems, one a line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = list(problems)


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is nearest to a mistyped one, if any is near."""
    matches = get_close_matches(word.lower(), sorted(known), n=1, cutoff=0.6)
    return matches[0] if matches else None
