"""What machines of one's own cost over a stretch of time, used or not: capital, rent, energy, staff.

Amounts of a month are spread evenly over each month of the owner's calendar, so that every whole month costs the same;
capital over the months of its life, counted from the day it began. Hours are real ones. All is exact until it is
rounded, once for each line.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta, tzinfo
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.economics.calendar import Stretch, day_of, start_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MICROSECOND = timedelta(microseconds=1)
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_MONTHS_A_YEAR = 12
_MILLIWATT_HOURS_A_KWH = 1_000_000
_ANY_FIRST = date(2000, 1, 1)
"""Months that begin on the first of a month: the calendar's."""


@dataclass(frozen=True, slots=True)
class Days:
    """From a day until another, both included; None: ever since, and until further notice."""

    first: date | None = None
    last: date | None = None

    def within(self, start: datetime, end: datetime, zone: tzinfo) -> Stretch | None:
        """What of a stretch lies in these days."""
        begins = start if self.first is None else max(start, start_of(self.first, zone))
        ends = end if self.last is None else min(end, start_of(self.last + _DAY, zone))
        return (begins, ends) if begins < ends else None


ALWAYS = Days()


@dataclass(frozen=True, slots=True)
class Capital:
    """What is written off evenly over a life."""

    nano_usd: Fraction
    """What was paid, less what is left at the end."""
    life_months: int
    since: date


@dataclass(frozen=True, slots=True)
class Rate:
    """A cost that runs on, by the month or by the hour."""

    nano_usd: Fraction
    days: Days = ALWAYS
    hourly: bool = False


@dataclass(frozen=True, slots=True)
class Power:
    """What is drawn and what it costs."""

    nano_usd_per_kwh: Fraction
    kw: Fraction | None = None
    """Without a meter; None: unknown then."""
    pue: Fraction = Fraction(1)
    days: Days = ALWAYS


@dataclass(frozen=True, slots=True)
class Machine:
    """All that a kind of machine costs over time, in nano-dollars, for as many as there are."""

    capital: tuple[Capital, ...] = ()
    rent: tuple[Rate, ...] = ()
    power: tuple[Power, ...] = ()
    staff: tuple[Rate, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """The energy that a meter saw pass between two moments."""

    starts_at: datetime
    ends_at: datetime
    milliwatt_hours: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What a stretch of time costs, line by line, in nano-dollars, with the energy that went into it."""

    capital: Fraction = Fraction(0)
    rent: Fraction = Fraction(0)
    energy: Fraction = Fraction(0)
    staff: Fraction = Fraction(0)
    metered_kwh: Fraction = Fraction(0)
    """What meters saw, and what the building adds to it."""
    assumed_kwh: Fraction = Fraction(0)
    """What is reckoned from kilowatts and hours instead."""
    unmetered_hours: Fraction = Fraction(0)
    """Of which nothing is known: their energy is missing from the cost."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(**{field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(Cost)})


@dataclass(frozen=True, slots=True)
class Split:
    """A cost divided by what the time was used for."""

    used: int
    idle: int

    @property
    def allocated(self) -> int:
        return self.used + self.idle


def cost(machine: Machine, start: datetime, end: datetime, zone: tzinfo, readings: Iterable[Reading] = ()) -> Cost:
    """What the machine costs between two moments, by the calendar of a zone."""
    metered = list(_one_by_one(readings, start, end))
    total = Cost(
        capital=sum((_written_off(capital, start, end, zone) for capital in machine.capital), Fraction(0)),
        rent=sum((_due(rate, start, end, zone) for rate in machine.rent), Fraction(0)),
        staff=sum((_due(rate, start, end, zone) for rate in machine.staff), Fraction(0)),
    )
    for power in machine.power:
        if stretch := power.days.within(start, end, zone):
            total += _drawn(power, stretch, metered)
    return total


def split(nano_usd: int, busy_ms: int, capacity_ms: int) -> Split:
    """Divide a cost by busy time over capacity; work beyond the capacity leaves nothing idle."""
    if capacity_ms <= 0:
        return Split(0, nano_usd)
    used = round(nano_usd * Fraction(min(busy_ms, capacity_ms), capacity_ms))
    return Split(used, nano_usd - used)


def months(start: datetime, end: datetime, since: date, zone: tzinfo) -> Fraction:
    """How many months lie between two moments, each counted from the day of the month that `since` is."""
    return _months_until(end, since, zone) - _months_until(start, since, zone)


def _written_off(capital: Capital, start: datetime, end: datetime, zone: tzinfo) -> Fraction:
    life = Fraction(capital.life_months)
    before, after = (min(max(_months_until(moment, capital.since, zone), Fraction(0)), life) for moment in (start, end))
    return capital.nano_usd * (after - before) / life


def _due(rate: Rate, start: datetime, end: datetime, zone: tzinfo) -> Fraction:
    stretch = rate.days.within(start, end, zone)
    if stretch is None:
        return Fraction(0)
    return rate.nano_usd * (_hours(*stretch) if rate.hourly else months(*stretch, _ANY_FIRST, zone))


def _drawn(power: Power, stretch: Stretch, seen: Iterable[_Seen]) -> Cost:
    """By the meter where there are readings, by kilowatts for the rest of the time."""
    within = [part for each in seen if (part := each.within(stretch)) is not None]
    metered = sum((part.kwh for part in within), Fraction(0)) * power.pue
    rest = _hours(*stretch) - sum((part.hours for part in within), Fraction(0))
    if power.kw is None:
        return Cost(energy=metered * power.nano_usd_per_kwh, metered_kwh=metered, unmetered_hours=rest)
    assumed = power.kw * power.pue * rest
    return Cost(energy=(metered + assumed) * power.nano_usd_per_kwh, metered_kwh=metered, assumed_kwh=assumed)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The part of a reading that counts, as if all of it were drawn evenly."""

    reading: Reading
    starts_at: datetime
    ends_at: datetime

    @property
    def hours(self) -> Fraction:
        return _hours(self.starts_at, self.ends_at)

    @property
    def kwh(self) -> Fraction:
        share = self.hours / _hours(self.reading.starts_at, self.reading.ends_at)
        return Fraction(self.reading.milliwatt_hours, _MILLIWATT_HOURS_A_KWH) * share

    def within(self, stretch: Stretch) -> _Seen | None:
        begins, ends = max(self.starts_at, stretch[0]), min(self.ends_at, stretch[1])
        return _Seen(self.reading, begins, ends) if begins < ends else None


def _one_by_one(readings: Iterable[Reading], start: datetime, end: datetime) -> Iterator[_Seen]:
    """The readings of a stretch, each without the time that an earlier one has covered: no energy counts twice."""
    covered = start
    for reading in sorted(readings, key=lambda reading: (reading.starts_at, reading.ends_at)):
        seen = _Seen(reading, reading.starts_at, reading.ends_at).within((covered, end))
        if seen is not None:
            yield seen
            covered = seen.ends_at


def _hours(start: datetime, end: datetime) -> Fraction:
    return Fraction((end - start) // _MICROSECOND, _HOUR // _MICROSECOND)


def _months_until(moment: datetime, since: date, zone: tzinfo) -> Fraction:
    """The months from a day to a moment, below 0 before it; a month that is under way counts in part."""
    today = day_of(moment, zone)
    whole = (today.year - since.year) * _MONTHS_A_YEAR + today.month - since.month
    if start_of(_later(since, whole), zone) > moment:
        whole -= 1
    begins, ends = (start_of(_later(since, number), zone) for number in (whole, whole + 1))
    return whole + Fraction((moment - begins) // _MICROSECOND, (ends - begins) // _MICROSECOND)


def _later(since: date, months: int) -> date:
    """The same day so many months later, or the last one of a month that is too short for it."""
    year, month = divmod(since.year * _MONTHS_A_YEAR + since.month - 1 + months, _MONTHS_A_YEAR)
    return date(year, month + 1, min(since.day, monthrange(year, month + 1)[1]))
