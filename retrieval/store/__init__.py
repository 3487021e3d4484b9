"""The vector store: what it keeps of a chunk, how it is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policies.labels import Label


@dataclass(frozen=True, slots=True)
class Entry:
    """A chunk as the store is given it. Its text is counted, not kept: text has one home, the registry."""

    chunk: str
    version: str
    collection: str
    label: Label
    language: str | None
    text: str
    dense: Sequence[float]


@dataclass(frozen=True, slots=True)
class Reach:
    """What a query may touch; None is no bound. Compartments only count together with a level."""

    collections: tuple[str, ...] | None
    level: int | None
    compartments: frozenset[str]


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that one leg of the search found, with that leg's own score."""

    chunk: str
    language: str | None
    score: float


@dataclass(frozen=True, slots=True)
class Words:
    """What one language's words found, best first. `coverage` is the part of the question's words the best hit has."""

    hits: list[Hit]
    coverage: float


@dataclass(frozen=True, slots=True)
class Legs:
    """What each way of searching found: meaning (cosines, best first), Portuguese words, English words."""

    dense: list[Hit]
    portuguese: Words
    english: Words


class Store(Protocol):
    """Keeps vectors; a rebuildable cache of the registry."""

    def add(self, entries: Sequence[Entry]) -> None:
        """Keep the entries; found by the next search, safe from a crash of the process."""

    def search(self, text: str, dense: Sequence[float], reach: Reach, depth: int) -> Legs:
        """The best `depth` of each leg within reach."""

    def drop(self, version: str) -> None:
        """Forget a version's entries."""

    def versions(self) -> dict[str, int]:
        """The versions kept, with how many entries each has."""

    def flush(self) -> None:
        """Put everything on disk, safe from a power cut."""

    def close(self) -> None: ...
