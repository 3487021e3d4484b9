"""What the moments of answers say of an engine's rates."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import ceil
from statistics import median, quantiles
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateway.wire.lanes import Usage

_PERCENTILE = 0.95
_APART = 0.25
"""Of the longer prompt: between lengths that differ by less, chance decides which takes longer."""
_TELLS = 0.1
"""Of the time of the longest prompt, the part that must be due to its length: less is within what chance does."""
_ONE_BY_ONE = 0.9
"""Pieces for each token, from which on each is taken for one."""
_SURE = 1.5
"""How many times the lower the higher quarter of what any two lengths say may be, if the rate is to be trusted."""
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
    sizes: tuple[int, ...] = ()
    """The bytes of each piece; empty: one is like the other."""

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
    def tpot(self) -> float | None:
        """The seconds of each further token; None where all came at one moment."""
        further = self.written(self.first, self.last)
        return (self.last - self.first) / further if further > 0 else None

    def written(self, begins: float, ends: float) -> float:
        """The tokens that came after one moment and until another.

        Engines that guess ahead, or that gather what they send, send several at once: then a piece is as many as it is
        long. Else a piece is a token, however long.
        """
        one_by_one = len(self.pieces) >= _ONE_BY_ONE * self.usage.completion
        sizes = (1,) * len(self.pieces) if one_by_one or not self.sizes else self.sizes
        said = sum(size for at, size in zip(self.pieces, sizes, strict=True) if begins < at <= ends)
        return self.usage.completion * said / sum(sizes)


@dataclass(frozen=True, slots=True)
class Line:
    """How long prompts take: a fixed latency, and so much for each token."""

    latency: float
    seconds_a_token: float
    between: tuple[float, float]
    """Within which half of what any two lengths say lies."""

    @property
    def rate(self) -> float:
        """Tokens a second, the latency left aside."""
        return 1 / self.seconds_a_token

    @property
    def is_sure(self) -> bool:
        """False where two lengths say quite another rate than other two."""
        low, high = self.between
        return 0 < high <= _SURE * low


def line(samples: Sequence[tuple[int, float]]) -> Line | None:
    """The line through (tokens, seconds) of prompts; None where lengths, or the times they take, hardly differ.

    Its slope is the median of those between any two lengths (Theil, 1950; Sen, 1968): one answer that was held up by
    something else does not bend it. Where longer prompts are read more slowly it would begin below no time at all; then
    it goes through nothing at no tokens, for no prompt takes longer than the ones that were seen.
    """
    pairs = [(a, b) for a, b in combinations(samples, 2) if abs(b[0] - a[0]) >= _APART * max(a[0], b[0], 1)]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs]
    if not slopes:
        return None
    slope, longest = median(slopes), max(samples)
    if slope <= 0 or slope * longest[0] < _TELLS * longest[1]:
        return None
    latency = median(seconds - slope * tokens for tokens, seconds in samples)
    if latency < 0:
        slopes = [seconds / tokens for tokens, seconds in samples if tokens]
        return Line(0.0, median(slopes), _middle(slopes))
    return Line(latency, slope, _middle(slopes))


def _middle(values: Sequence[float]) -> tuple[float, float]:
    """Between which the middle half of them lies."""
    if len(values) == 1:
        return values[0], values[0]
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, high


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
    written = sum(each.written(begins, ends) for each in answers)
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
