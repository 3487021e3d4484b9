"""What a month will come to: its days so far, and for the days left what days of their kind cost lately."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Literal, get_args

from gateway.economics.workdays import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import date

Source = Literal["working_day", "weekend", "holiday", "days_off", "all"]
"""Whose average stands for a kind of day; `days_off`: weekends and holidays together."""

NEEDED = 7
"""Complete days that a forecast takes at least: one of each day of the week."""
LATELY = 28
"""Days that it looks back over."""

_DAY = timedelta(days=1)
_ENOUGH = 2
"""Days that an average, and how far days are spread around it, take at least."""
_SPREAD = Fraction(32, 25)
"""Standard deviations around the middle that hold four fifths of a normal distribution."""
_OFF: tuple[Kind, ...] = ("weekend", "holiday")


@dataclass(frozen=True, slots=True)
class Seen:
    """What the ledger has seen until now."""

    nano_usd: Mapping[date, int]
    """What each day cost; a day that is left out cost nothing."""
    first: date
    """The day on which it began: it counts for nothing, since that may have been at noon."""
    today: date
    passed: Fraction
    """How much of today is over, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What the forecast takes a kind of day to cost, and why."""

    kind: Kind
    seen: int
    """How many such days it has seen lately."""
    nano_usd_a_day: int
    """What one is taken to cost, rounded."""
    taken_from: Source
    """Its own average, or where too few were seen that of all days off, else of all days."""
    left: int
    """How many of them the month still has after today."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """A month's cost at its end. It lands from `low` to `high` about four times out of five."""

    so_far_nano_usd: int
    expected_nano_usd: int | None
    """None, as `low` and `high`: too few days were seen."""
    low_nano_usd: int | None
    high_nano_usd: int | None
    days_seen: int
    """Complete days that it is made from."""
    days_needed: int = NEEDED
    """How many it takes at least."""
    bases: tuple[Basis, ...] = ()
    """By kind of day; kinds that the rest of the month has none of are left out."""


def forecast(seen: Seen, month: Sequence[date], kind: Callable[[date], Kind]) -> Forecast:
    """Say what the month of these days will come to; `seen.today` is one of them.

    Today comes to what it cost so far, and for the rest of it that part of a day of its kind.
    """
    spent = sum(seen.nano_usd.get(day, 0) for day in month if day <= seen.today)
    days = _lately(seen)
    if len(days) < NEEDED:
        return Forecast(spent, None, None, None, len(days))
    costs = {each: [seen.nano_usd.get(day, 0) for day in days if kind(day) == each] for each in get_args(Kind)}
    ahead = [day for day in month if day > seen.today]
    mean, variance, bases = Fraction(spent), Fraction(), []
    for each in get_args(Kind):
        left = sum(kind(day) == each for day in ahead)
        expected = left + (1 - seen.passed if kind(seen.today) == each else 0)
        if not expected:
            continue
        source, sample = _sample(each, costs)
        average = Fraction(sum(sample), len(sample))
        mean += expected * average
        # Days scatter around the average, and the average of a few days is itself uncertain.
        variance += _variance(sample, average) * (expected + expected**2 / len(sample))
        bases.append(Basis(each, len(costs[each]), round(average), source, left))
    reach = round(_SPREAD * isqrt(round(variance)))
    middle = round(mean)
    return Forecast(spent, middle, max(spent, middle - reach), middle + reach, len(days), NEEDED, tuple(bases))


def _lately(seen: Seen) -> list[date]:
    """The complete days to go by."""
    candidates = (seen.today - ago * _DAY for ago in range(LATELY, 0, -1))
    return [day for day in candidates if day > seen.first]


def _sample(kind: Kind, costs: Mapping[Kind, Sequence[int]]) -> tuple[Source, Sequence[int]]:
    """The days whose average stands for the kind."""
    off = [cost for each in _OFF for cost in costs[each]]
    if len(costs[kind]) >= _ENOUGH:
        return kind, costs[kind]
    if kind in _OFF and len(off) >= _ENOUGH:
        return "days_off", off
    return "all", [cost for each in costs.values() for cost in each]


def _variance(sample: Collection[int], average: Fraction) -> Fraction:
    return Fraction(sum((cost - average) ** 2 for cost in sample), len(sample) - 1)
