"""Sums of whole days and months, kept in memory: a ledger of millions is read once, and then what has changed of it.

A day's sums change only when an attempt of it is entered, settled, or settled after it was recovered. So a day is kept
where all of its attempts are settled, and holds for as long as it has as many of them: what is given out equals the
rows to the last digit, whichever process wrote them. The same holds for months. They are taken instead of their days
where nobody asks for days, all but the last one of a stretch, of which every attempt that is made would change all.
"""

from __future__ import annotations

import asyncio
from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from operator import add
from typing import TYPE_CHECKING, Literal
from weakref import WeakKeyDictionary

from gateway.db import rollups, tallies
from gateway.db.rollups import Summed
from gateway.db.tables import DIMENSIONS, MEASURES
from gateway.economics import calendar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.economics.calendar import Stretch

KEPT_GROUPS = 60_000
"""As many are kept at most, some 15 MB, of the days that were read last."""
WIDE = 600
"""A day with more meetings of names than that is not worth keeping: the ledger itself is as fast."""
WIDE_MONTH = 3000
"""The same of a month: then its days are looked at one by one."""
PATIENCE = 3
"""So many days or months that prove wide, and no more are tried for this answer."""
READ_AT_ONCE = 100
"""So many days are read for one answer, and as many months; the ledger itself says the others."""
LONGEST = timedelta(days=3700)
"""Longer stretches are summed by the ledger itself, unless their days are told apart."""
_A_WEEK = timedelta(days=7)

_COLLECTION = "collection"
_COLLECTIONS = DIMENSIONS.index("collections")
_KNOWN = frozenset((*DIMENSIONS, _COLLECTION))
_EVER = datetime(1970, 1, 1, tzinfo=UTC)

Names = tuple[str, ...]
Group = tuple[Names, "array[int]"]
"""What a meeting of all dimensions came to, in the order of MEASURES."""


@dataclass(frozen=True, slots=True)
class Day:
    """One day, or one month, as it was read."""

    attempts: int
    groups: tuple[Group, ...] | None
    """None: it is wide."""


@dataclass(slots=True)
class Kept:
    """The days and months of one ledger, by when they begin and end; those that were used last stand last."""

    days: dict[Stretch, Day] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Several reports of one page read a day once."""
    names: dict[Names, Names] = field(default_factory=dict)
    """Each meeting of names once, however many days it is met on."""

    @property
    def size(self) -> int:
        """How many groups it holds."""
        return sum(len(day.groups or ()) for day in self.days.values())


_KEPT: WeakKeyDictionary[AsyncEngine, Kept] = WeakKeyDictionary()
"""A cache and nothing else: it goes with its engine, and whoever reads without it reads the same."""


async def sums(
    engine: AsyncEngine,
    zone: tzinfo,
    start: datetime,
    end: datetime,
    by: Sequence[str] = (),
    where: Mapping[str, Sequence[str]] = {},
    step: Literal["day", "month"] | None = None,
) -> list[Summed]:
    """What `rollups.sums` says of the same stretch; `step` sums each day or month of the zone by itself.

    `bucket` is where that begins, or where the stretch does.

    Both ends are at a bucket's edge. What they cut off of a day is read from the ledger each time.
    """
    if not _KNOWN.issuperset(where) or not set(DIMENSIONS).issuperset(by):
        return await rollups.sums(engine, start, end, by, where)  # which says what is wrong
    if step is None and end - start > LONGEST:
        return await rollups.sums(engine, start, end, by, where)
    kept = {} if step == "day" else await _read(engine, _months(start, end, zone))
    stretches = list(_divided(start, end, zone, kept))
    kept |= await _read(engine, [each for each in stretches if each not in kept and _is_day(each, zone)])
    total = _Total(
        by, where, [max(begins, start) for begins, _ in calendar.windows(start, end, step, zone)] if step else None
    )
    for each, groups in kept.items():
        total.add_whole(each[0], groups)
    for run in _runs(stretch for stretch in stretches if stretch not in kept):
        total.add(await rollups.sums(engine, run[0][0], run[-1][1], by, where, "bucket" if step else None))
    return total.summed()


async def warm(engine: AsyncEngine, zone: tzinfo, start: datetime, end: datetime, most: int = KEPT_GROUPS) -> None:
    """Read the months between two moments, the last one first, each by itself: who asks meanwhile waits for one.

    It ends where another month would take the place of a later one, which is asked for more often.
    """
    for month in reversed(_months(start, end, zone)):
        if _KEPT.setdefault(engine, Kept()).size > most - WIDE_MONTH:
            return
        await _read(engine, [month])


def _months(start: datetime, end: datetime, zone: tzinfo) -> list[Stretch]:
    """The whole months between two moments, but the last one."""
    return [month for month in list(calendar.windows(start, end, "month", zone))[:-1] if month[0] >= start]


def _divided(start: datetime, end: datetime, zone: tzinfo, kept: Collection[Stretch]) -> Iterator[Stretch]:
    """The months that are kept, and the days of the others, cut at both ends."""
    for month in calendar.windows(start, end, "month", zone):
        if month in kept:
            yield month
            continue
        first, last = max(month[0], start), min(month[1], end)
        for day in calendar.windows(first, last, "day", zone):
            yield max(day[0], first), min(day[1], last)


def _is_day(stretch: Stretch, zone: tzinfo) -> bool:
    """True if nothing is cut off of it."""
    return calendar.day(calendar.day_of(stretch[0], zone), zone) == stretch


@dataclass(slots=True)
class _Total:
    """What is asked for, as it adds up."""

    by: Sequence[str]
    where: Mapping[str, Sequence[str]]
    begins: list[datetime] | None
    """Where the days or months begin; None: they are not told apart."""
    amounts: dict[tuple[datetime | None, Names], list[int]] = field(default_factory=dict)

    def add_whole(self, begins: datetime, groups: Iterable[Group]) -> None:
        """Add what the filters let through of a day or month, under the names that are asked for."""
        places = [DIMENSIONS.index(name) for name in self.by]
        bucket = self._begins(begins)
        for names, amounts in groups:
            if self._counts(names):
                self._add((bucket, tuple(names[place] for place in places)), amounts)

    def add(self, found: Iterable[Summed]) -> None:
        """Add what the ledger says itself."""
        for group in found:
            key = (self._begins(group.bucket), tuple(group.names[name] for name in self.by))
            self._add(key, [group.measures[name] for name in MEASURES])

    def summed(self) -> list[Summed]:
        """In the order of names, then of time; all zeros where nothing is told apart and nothing was spent."""
        if not self.by and self.begins is None and not self.amounts:
            self.amounts[None, ()] = [0] * len(MEASURES)
        groups = sorted(self.amounts.items(), key=lambda group: (group[0][1], group[0][0] or _EVER))
        return [
            Summed(dict(zip(self.by, names, strict=True)), bucket, dict(zip(MEASURES, amounts, strict=True)))
            for (bucket, names), amounts in groups
        ]

    def _counts(self, names: Names) -> bool:
        for name, values in self.where.items():
            if name == _COLLECTION:
                if set(values).isdisjoint(names[_COLLECTIONS].split(",")):
                    return False
            elif names[DIMENSIONS.index(name)] not in values:
                return False
        return True

    def _begins(self, bucket: datetime | None) -> datetime | None:
        if self.begins is None or bucket is None:
            return None
        return self.begins[bisect_right(self.begins, bucket) - 1]

    def _add(self, key: tuple[datetime | None, Names], amounts: Iterable[int]) -> None:
        total = self.amounts.get(key)
        self.amounts[key] = list(amounts) if total is None else list(map(add, total, amounts))


async def _read(engine: AsyncEngine, days: Sequence[Stretch]) -> dict[Stretch, tuple[Group, ...]]:
    """The days as they stand now, from memory where they have not changed; wide ones are left out."""
    kept = _KEPT.setdefault(engine, Kept())
    async with kept.lock:
        await _drop_changed(engine, kept, [day for day in days if day in kept.days])
        read = await _read_missing(engine, kept, [day for day in days if day not in kept.days])
        for day in days:
            if day in kept.days:
                kept.days[day] = read[day] = kept.days.pop(day)
        _shrink(kept)
    return {day: read[day].groups or () for day in days if day in read and read[day].groups is not None}


async def _drop_changed(engine: AsyncEngine, kept: Kept, days: Sequence[Stretch]) -> None:
    """Forget the days that have more attempts, or fewer, than when they were read."""
    runs = list(_runs(days))
    counted = await tallies.counts(engine, [(run[0][0], run[-1][1]) for run in runs])
    changed = [
        run for run, now in zip(runs, counted, strict=True) if now != sum(kept.days[day].attempts for day in run)
    ]
    suspects = [day for run in changed for day in run]
    for day, now in zip(suspects, await tallies.counts(engine, suspects), strict=True):
        if now != kept.days[day].attempts:
            del kept.days[day]


async def _read_missing(engine: AsyncEngine, kept: Kept, days: Sequence[Stretch]) -> dict[Stretch, Day]:
    """Days read anew, the last ones first; those of which nothing may change any more are kept.

    They are counted before they are summed: what is entered in between makes the count differ the next time.
    """
    counted = dict(zip(days, await tallies.counts(engine, days), strict=True))
    empty = [day for day in days if not counted[day]]
    found = {day: Day(0, ()) for day in empty}
    full = [day for day in reversed(days) if counted[day]][:READ_AT_ONCE]
    changing = dict(zip(full, await tallies.unsettled(engine, full), strict=True))
    kept.days |= found
    wide = 0
    for day in full:
        if wide == PATIENCE:
            break
        groups = await rollups.sums(engine, *day, DIMENSIONS)
        is_wide = len(groups) > (WIDE if day[1] - day[0] < _A_WEEK else WIDE_MONTH)
        wide += is_wide
        found[day] = Day(counted[day], None if is_wide else tuple(_group(group, kept) for group in groups))
        if not changing[day]:
            kept.days[day] = found[day]
    return found


def _group(group: Summed, kept: Kept) -> Group:
    names = tuple(group.names[name] for name in DIMENSIONS)
    return kept.names.setdefault(names, names), array("q", [group.measures[name] for name in MEASURES])


def _shrink(kept: Kept) -> None:
    """Forget what was used longest ago, down to what may be kept."""
    size = kept.size
    for day in list(kept.days):
        if size <= KEPT_GROUPS:
            return
        size -= len(kept.days.pop(day).groups or ())
    kept.names.clear()


def _runs(days: Iterable[Stretch]) -> Iterator[list[Stretch]]:
    """Days that follow one another without a gap, so that one query covers them."""
    run: list[Stretch] = []
    for day in days:
        if run and run[-1][1] != day[0]:
            yield run
            run = []
        run.append(day)
    if run:
        yield run
