"""What a parsing child returns: blocks of text, each with its headings and its place, or the reason why not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import msgspec

SUFFIXES = frozenset({".txt", ".md", ".markdown", ".html", ".htm", ".pdf"})

Reason = Literal[
    "unreadable",
    "too_large",
    "empty",
    "binary",
    "unsupported",
    "encrypted",
    "no_text",
    "corrupt",
    "timeout",
    "out_of_memory",
    "crashed",
    "interrupted",
    "internal",
]


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list, table or code block as the file has it; `headings` are those it stands under."""

    text: str
    headings: tuple[str, ...] = ()
    page: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """A file's text in reading order."""

    title: str | None
    blocks: tuple[Block, ...]


class ParseError(Exception):
    """A file cannot be taken in: a stable reason and words for the owner, never the file's own text."""

    def __init__(self, reason: Reason, words: str) -> None:
        super().__init__(f"{reason}: {words}")
        self.reason = reason
        self.words = words


class Accepted(msgspec.Struct, tag="accepted"):
    """A child's answer: the file's text."""

    parsed: Parsed


class Refused(msgspec.Struct, tag="refused"):
    """A child's answer: why the file cannot be taken in."""

    reason: Reason
    words: str


@dataclass(slots=True)
class Outline:
    """The headings that the next block stands under."""

    _levels: list[tuple[int, str]] = field(default_factory=list)

    def enter(self, level: int, heading: str) -> None:
        self._levels = [(depth, text) for depth, text in self._levels if depth < level]
        self._levels.append((level, heading))

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(text for _, text in self._levels)

    def alone(self) -> tuple[Block, ...]:
        """The headings themselves, for a file that holds nothing else."""
        return tuple(Block(text, line=1) for _, text in self._levels)
