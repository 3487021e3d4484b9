"""What an engine was measured to carry, as a curve over how many requests it answers at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import pairwise
from math import log
from typing import Literal

Quality = Literal["measured", "published", "derived"]
"""`measured` by the owner on the owner's engine; `published` by somebody; `derived` from what was published."""


@dataclass(frozen=True, slots=True)
class Point:
    """One setting that was measured."""

    concurrency: int
    prompt_tokens: int
    """Of one request."""
    output_tokens: int
    ttft_ms: Fraction | None
    """Time to the first token: the 95th percentile, where several were seen."""
    tpot_ms: Fraction | None
    """Time of each further token."""
    prefill_tps: Fraction | None
    """Rates of the whole replica while it does that alone."""
    decode_tps: Fraction | None


@dataclass(frozen=True, slots=True)
class Profile:
    """Points of one model on one kind of replica, by rising concurrency."""

    name: str
    model: str
    quant: str
    gpu: str
    gpus: int
    engine: str
    points: tuple[Point, ...]
    source: str
    as_of: date
    quality: Quality
    note: str = ""
    cached_tps: Fraction | None = None
    """At which cached input passes; None: nobody measured it."""


@dataclass(frozen=True, slots=True)
class Slo:
    """What an answer must keep to; None: no matter."""

    ttft_ms: Fraction | None = None
    tpot_ms: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Carried:
    """What a profile says at a service level."""

    prefill_tps: Fraction
    decode_tps: Fraction
    concurrency: Fraction
    """At which the level is just kept, between the points by interpolation."""
    is_beyond: bool
    """True if the level would allow more than was measured: it is not extrapolated, the last point counts."""
    ttft_ms: Fraction | None = None
    """Time to the first token there; None between two points, or where nobody measured it."""


def at(profile: Profile, slo: Slo, most_concurrency: int | None = None) -> Carried | None:
    """The rates at the highest concurrency that keeps the service level; None: not even the first point does.

    `most_concurrency` is what memory allows. One curve is of requests of one length: the one that was measured most
    often, of several the longest prompt. Points that do not state both rates, or not what the service level is about,
    count as not measured. Between two points rates and times lie on a straight line over the logarithm of the
    concurrency: it stays between its neighbours whatever they are, which a cubic spline does only with care (Fritsch
    and Carlson, Monotone piecewise cubic interpolation, 1980). A time that falls as concurrency rises is taken for
    chance: from the first point on that breaks the level, all do.
    """
    curve = [rated for point in _of_one_length(profile) if (rated := _rated(point, slo)) is not None]
    if not curve or not _keeps(curve[0], slo, most_concurrency):
        return None
    for low, high in pairwise(curve):
        if not _keeps(high, slo, most_concurrency):
            return _between(low, high, _kept_part(low, high, slo, most_concurrency))
    last = curve[-1]
    is_beyond = not _binds(last, slo, most_concurrency)
    return Carried(last.prefill_tps, last.decode_tps, Fraction(last.concurrency), is_beyond, last.ttft_ms)


def length(profile: Profile) -> int:
    """Tokens of one request of the curve that `at` reads; 0 where there is none."""
    return next((point.prompt_tokens + point.output_tokens for point in _of_one_length(profile)), 0)


def _of_one_length(profile: Profile) -> list[Point]:
    lengths = Counter((point.prompt_tokens, point.output_tokens) for point in profile.points)
    chosen = max(lengths, key=lambda length: (lengths[length], length), default=None)
    points = [point for point in profile.points if (point.prompt_tokens, point.output_tokens) == chosen]
    return sorted(points, key=lambda point: point.concurrency)


@dataclass(frozen=True, slots=True)
class _Rated:
    """A point that states all that is asked of it, with a time for each limit of the service level."""

    concurrency: int
    prefill_tps: Fraction
    decode_tps: Fraction
    times: tuple[Fraction, ...]
    ttft_ms: Fraction | None


def _rated(point: Point, slo: Slo) -> _Rated | None:
    if point.prefill_tps is None or point.decode_tps is None:
        return None
    asked = [seen for limit, seen in ((slo.ttft_ms, point.ttft_ms), (slo.tpot_ms, point.tpot_ms)) if limit is not None]
    times = tuple(seen for seen in asked if seen is not None)
    if len(times) < len(asked):
        return None
    return _Rated(point.concurrency, point.prefill_tps, point.decode_tps, times, point.ttft_ms)


def _limits(slo: Slo) -> tuple[Fraction, ...]:
    return tuple(limit for limit in (slo.ttft_ms, slo.tpot_ms) if limit is not None)


def _keeps(point: _Rated, slo: Slo, most_concurrency: int | None) -> bool:
    if most_concurrency is not None and point.concurrency > most_concurrency:
        return False
    return all(seen <= limit for seen, limit in zip(point.times, _limits(slo), strict=True))


def _binds(point: _Rated, slo: Slo, most_concurrency: int | None) -> bool:
    """True if a limit is just reached here."""
    return point.concurrency == most_concurrency or any(
        seen == limit for seen, limit in zip(point.times, _limits(slo), strict=True)
    )


def _kept_part(low: _Rated, high: _Rated, slo: Slo, most_concurrency: int | None) -> Fraction:
    """How far from one point to the next the level is kept, from 0 to 1."""
    parts = [
        (limit - before) / (after - before)
        for before, after, limit in zip(low.times, high.times, _limits(slo), strict=True)
        if after > limit
    ]
    if most_concurrency is not None and high.concurrency > most_concurrency:
        parts.append(Fraction(log(most_concurrency / low.concurrency) / log(high.concurrency / low.concurrency)))
    return min(parts)


def _between(low: _Rated, high: _Rated, part: Fraction) -> Carried:
    return Carried(
        prefill_tps=low.prefill_tps + part * (high.prefill_tps - low.prefill_tps),
        decode_tps=low.decode_tps + part * (high.decode_tps - low.decode_tps),
        concurrency=Fraction(low.concurrency * (high.concurrency / low.concurrency) ** float(part)),
        is_beyond=False,
    )
