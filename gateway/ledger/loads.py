"""How a volume spreads over time: hours over the average one, the busiest of them, the hours of the day, growth.

Growth is the median of the slopes between every two weeks' logarithms, which one odd week does not move (H. Theil 1950,
P. K. Sen 1968).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from fractions import Fraction
from itertools import combinations
from math import exp, log
from statistics import median, quantiles

from gateway.db.tables import BUCKET
from gateway.economics import calendar
from gateway.economics.scenario import HOURS_A_MONTH

Buckets = Mapping[datetime, int]
"""Tokens by where their half hour begins; halves without any may be left out."""

WEEKS = 4
"""So few whole weeks say nothing of growth yet, one less."""
MANY = 240
"""From so many hours on the few busiest do not decide."""
_SOME = 10
"""One in so many hours must have had something, or the few busiest are all there is."""
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_HOURS_A_DAY = 24
_HOURS_A_WEEK = 168
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Growth:
    """By how much a volume grows in a month of 730 hours, and between what most pairs of weeks lie."""

    per_month: Fraction
    low: Fraction
    high: Fraction
    """The quartiles of what any two weeks say."""


def hourly(buckets: Buckets, start: datetime, end: datetime) -> list[int]:
    """The volume of each whole hour from the start on."""
    return [
        sum(buckets.get(start + hour * _HOUR + half * BUCKET, 0) for half in range(_HOUR // BUCKET))
        for hour in range((end - start) // _HOUR)
    ]


def shape(hours: Sequence[int]) -> tuple[Fraction, ...]:
    """Each hour over the average one; nothing where there was nothing."""
    total = sum(hours)
    return tuple(Fraction(volume * len(hours), total) for volume in hours) if total else ()


def peak(loads: Sequence[Fraction]) -> Fraction:
    """The load that ninety-nine of a hundred hours do not pass, by nearest rank; of few hours the greatest."""
    ordered = sorted(loads)
    usual = ordered[-(-len(ordered) * 99 // 100) - 1]
    is_spread = len(ordered) >= MANY and sum(load > 0 for load in ordered) * _SOME >= len(ordered)
    return usual if is_spread and usual >= 1 else ordered[-1]


def by_clock(buckets: Buckets, start: datetime, end: datetime, zone: tzinfo) -> tuple[Fraction, ...]:
    """The part of an average day in each hour of the zone's clock; nothing unless each hour was seen.

    An hour that clocks leave out, or that the last day has not reached, was seen less often, and does not count less.
    """
    volumes, seen = [0] * _HOURS_A_DAY, [0] * _HOURS_A_DAY
    for half in range((end - start) // BUCKET):
        begins = start + half * BUCKET
        hour = begins.astimezone(zone).hour
        volumes[hour] += buckets.get(begins, 0)
        seen[hour] += 1
    if not all(seen) or not any(volumes):
        return ()
    rates = [Fraction(volume, times) for volume, times in zip(volumes, seen, strict=True)]
    return tuple(rate / sum(rates) for rate in rates)


def weekly(buckets: Buckets, start: datetime, end: datetime, zone: tzinfo) -> list[Fraction]:
    """The volume of an average hour in each whole week, of seven days before the last midnight, oldest first."""
    last = calendar.day_of(end, zone)
    weeks: list[Fraction] = []
    ends = calendar.start_of(last, zone)
    while (begins := calendar.start_of(last - 7 * (len(weeks) + 1) * _DAY, zone)) >= start:
        volume = sum(amount for bucket, amount in buckets.items() if begins <= bucket < ends)
        weeks.append(volume / Fraction((ends - begins) // BUCKET, _HOUR // BUCKET))
        ends = begins
    return weeks[::-1]


def growth(weeks: Sequence[Fraction]) -> Growth | None:
    """What whole weeks say of growth; None: they are too few, or one of them was empty."""
    if len(weeks) < WEEKS or not all(weeks):
        return None
    logs = [log(volume) for volume in weeks]
    slopes = [(later - earlier) / (j - i) for (i, earlier), (j, later) in combinations(enumerate(logs), 2)]
    low, _, high = quantiles(slopes, n=4, method="inclusive")
    return Growth(_monthly(median(slopes)), _monthly(low), _monthly(high))


def _monthly(slope: float) -> Fraction:
    """From the logarithm of a week's growth, to six digits."""
    return Fraction(str(round(exp(slope * HOURS_A_MONTH / _HOURS_A_WEEK) - 1, _DIGITS)))
