"""What the moments of answers say of an engine's rates."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import ceil
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateway.wire.lanes import Usage

_PERCENTILE = 0.95
_APART = 0.25
"""Of the longer prompt: between lengths that differ by less, chance decides which takes longer."""
_TELLS = 0.1
"""Of the time of the longest prompt, the part that must be due to its length: less is within what chance does."""
_LEAST_TOGETHER = 0.25
"""Of what several answers wrote, the part that must have been written while all of them were at it."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One answer, in seconds of one clock."""

    asked: float
    """When the request went out."""
    pieces: tuple[float, ...]
    """When each piece of it came, at least one."""
    usage: Usage

    @property
    def first(self) -> float:
        return self.pieces[0]

    @property
    def last(self) -> float:
        return self.pieces[-1]

    @property
    def ttft(self) -> float:
        """The seconds until it began."""
        return self.first - self.asked

    @property
    def tokens_a_piece(self) -> float:
        """Engines that guess ahead send several tokens at once."""
        return self.usage.completion / len(self.pieces)

    @property
    def tpot(self) -> float | None:
        """The seconds of each further token; None where all came at one moment."""
        further = self.usage.completion - self.tokens_a_piece
        return (self.last - self.first) / further if self.last > self.first and further > 0 else None


@dataclass(frozen=True, slots=True)
class Line:
    """How long prompts take: a fixed latency, and so much for each token."""

    latency: float
    seconds_a_token: float

    @property
    def rate(self) -> float:
        """Tokens a second, the latency left aside."""
        return 1 / self.seconds_a_token


def line(samples: Sequence[tuple[int, float]]) -> Line | None:
    """The line through (tokens, seconds) of prompts; None where lengths, or the times they take, hardly differ.

    Its slope is the median of those between any two lengths (Theil, 1950; Sen, 1968): one answer that was held up by
    something else does not bend it.
    """
    pairs = [(a, b) for a, b in combinations(samples, 2) if abs(b[0] - a[0]) >= _APART * max(a[0], b[0], 1)]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs]
    if not slopes:
        return None
    slope, longest = median(slopes), max(samples)
    if slope <= 0 or slope * longest[0] < _TELLS * longest[1]:
        return None
    return Line(max(median(seconds - slope * tokens for tokens, seconds in samples), 0.0), slope)


def slowest(values: Iterable[float]) -> float:
    """The 95th percentile, as the nearest that was seen."""
    ordered = sorted(values)
    return ordered[ceil(_PERCENTILE * len(ordered)) - 1]


def together(answers: Sequence[Heard]) -> float | None:
    """Tokens a second of all answers while every one of them was being written.

    None where that was for less than a quarter of what they wrote: the engine does not answer so many at once, or they
    are too short beside the time that it takes to read their prompts.
    """
    begins, ends = max(each.first for each in answers), min(each.last for each in answers)
    if ends <= begins:
        return None
    written = sum(sum(begins < at <= ends for at in each.pieces) * each.tokens_a_piece for each in answers)
    enough = _LEAST_TOGETHER * sum(each.usage.completion for each in answers)
    return written / (ends - begins) if written >= enough else None


def most_at_once(answers: Sequence[Heard]) -> int:
    """How many were being written at one moment, at most."""
    changes = sorted([(each.first, 1) for each in answers] + [(each.last, -1) for each in answers])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most
