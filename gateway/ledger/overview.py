"""The first look at the ledger: today, the month so far, where it is heading, and what it is made of."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.db import attempts, rollups
from gateway.db.tables import BUCKET
from gateway.economics import calendar
from gateway.economics.forecast import LATELY, Seen, forecast
from gateway.economics.workdays import kind_in
from gateway.errors import Unavailable
from gateway.ledger import days, usage
from gateway.ledger.usage import Span, columns, summed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import tzinfo

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.rollups import Summed
    from gateway.economics.forecast import Forecast
    from gateway.ledger.usage import Sums, Where
    from policies.budgets import Per
    from policies.pack import Pack

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)
_WEEK = timedelta(days=7)
_MONTHS_A_YEAR = 12


@dataclass(frozen=True, slots=True)
class Stretch:
    """What a span came to, beside what the one to compare it with came to."""

    span: Span
    sums: Sums
    before: Span
    sums_before: Sums


@dataclass(frozen=True, slots=True)
class Overview:
    """The figures that the page opens with."""

    at: datetime
    today: Stretch
    """Until now, beside yesterday until the same time."""
    month: Stretch
    """Until now, beside the month before until the same day and time.

    Its sums say what caches saved, what privacy cost and what routing saved, and how many calls were `estimated` or
    took another lane's price (`assumed`). A call without any price is refused: there is none.
    """
    forecast: Forecast
    """Of what the whole month will come to."""
    home: Sums
    """Of the month, what ran in the house's own zones."""
    away: Sums
    """Of the month, what ran anywhere else."""
    held_nano_usd: int
    """Of all attempts under way, the most that they may cost."""
    held: int


async def overview(engine: AsyncEngine, pack: Pack, now: datetime, where: Where | None = None) -> Overview:
    """Look at the ledger from a moment."""
    zone, filters = pack.budgets.zone, columns(where or {})
    today, month = _so_far(now, "day", pack), _so_far(now, "month", pack)
    earlier = before(today), months_before(month)
    lookback = calendar.start_of(calendar.day_of(now, zone) - (LATELY + 1) * _DAY, zone)
    start = min(earlier[1].start, lookback)
    held = await attempts.held(engine, _EPOCH, now + _DAY, filters)
    began = None if where else await rollups.first(engine)
    daily = await days.sums(engine, zone, start, month.end, ["zone"], filters, "day")
    yesterday, last_month = [await _until_within_a_day(engine, span, daily, filters) for span in earlier]
    home, this_month = home_zones(pack), _within(month, daily)
    return Overview(
        at=now,
        today=Stretch(today, summed(_within(today, daily)), earlier[0], summed(yesterday)),
        month=Stretch(month, summed(this_month), earlier[1], summed(last_month)),
        forecast=_forecast(pack, now, daily, began),
        home=summed(group for group in this_month if group.names["zone"] in home),
        away=summed(group for group in this_month if group.names["zone"] not in home),
        held_nano_usd=held.nano_usd,
        held=held.attempts,
    )


async def warm(engine: AsyncEngine, pack: Pack, now: datetime) -> None:
    """Look once before anybody does, so that no page of a large ledger waits for its days and months to be read."""
    with suppress(Unavailable):
        await overview(engine, pack, now)
        if began := await rollups.first(engine):
            start, _ = calendar.window(began, "month", pack.budgets.zone)
            await days.warm(engine, pack.budgets.zone, start, now)


def home_zones(pack: Pack) -> frozenset[str]:
    """The zones that admit the house's own addresses alone."""
    return frozenset(name for name, zone in pack.zones.items() if zone.is_home)


def before(span: Span) -> Span:
    """The span to compare with, at the same times of day.

    For a day or less the day before, for whole months as many months before, for a month so far the month before until
    the same day, for two to seven days the same days of the week before, else as many days before.
    """
    start, end = _on_the_wall(span)
    if end - start <= _DAY:
        return _back(span, _DAY)
    if start == _month_of(start) and (end == _month_of(end) or not _months(start, end)):
        return months_before(span)
    length = -(-(end - start) // _DAY) * _DAY
    return _back(span, max(length, _WEEK))


def months_before(span: Span) -> Span:
    """As many months before, or of a month so far the month before until the same day, or its end if it is shorter."""
    start, end = _on_the_wall(span)
    months = _months(start, end)
    earlier = _month_of(start, -max(months, 1))
    ended = _month_of(start) if months else min(earlier + (end - start), _month_of(start))
    return _from_the_wall(earlier, ended, span.zone)


def _back(span: Span, by: timedelta) -> Span:
    start, end = _on_the_wall(span)
    return _from_the_wall(start - by, end - by, span.zone)


def _on_the_wall(span: Span) -> tuple[datetime, datetime]:
    """The span's ends as the zone's clocks show them."""
    start, end = (moment.astimezone(span.zone).replace(tzinfo=None) for moment in (span.start, span.end))
    return start, end


def _from_the_wall(start: datetime, end: datetime, zone: tzinfo) -> Span:
    begins, ends = (moment.replace(tzinfo=zone).astimezone(UTC) for moment in (start, end))
    return Span(begins, max(begins, ends), zone)


def _months(start: datetime, end: datetime) -> int:
    return (end.year - start.year) * _MONTHS_A_YEAR + end.month - start.month


def _month_of(moment: datetime, ahead: int = 0) -> datetime:
    """The start of its month, or of one so many months ahead."""
    months = moment.year * _MONTHS_A_YEAR + moment.month - 1 + ahead
    return datetime(months // _MONTHS_A_YEAR, months % _MONTHS_A_YEAR + 1, 1)  # noqa: DTZ001 - of the wall, in any zone


def _so_far(now: datetime, per: Per, pack: Pack) -> Span:
    """From the start of the day or month to the end of the half hour that is running."""
    start, _ = calendar.window(now, per, pack.budgets.zone)
    return Span(start, now - (now - _EPOCH) % BUCKET + BUCKET, pack.budgets.zone)


def _within(span: Span, daily: Sequence[Summed]) -> list[Summed]:
    return [group for group in daily if group.bucket is not None and span.start <= group.bucket < span.end]


async def _until_within_a_day(
    engine: AsyncEngine, span: Span, daily: Sequence[Summed], filters: Mapping[str, Sequence[str]]
) -> list[Summed]:
    """The days of the span, and the part of its last one."""
    midnight, _ = calendar.day(calendar.day_of(span.end, span.zone), span.zone)
    whole = _within(Span(span.start, midnight, span.zone), daily)
    rest = Span(midnight, span.end, span.zone)
    return whole + await usage.groups(engine, rest, ["zone"], filters)


def _forecast(pack: Pack, now: datetime, daily: Sequence[Summed], began: datetime | None) -> Forecast:
    zone = pack.budgets.zone
    today, costs = calendar.day_of(now, zone), dict[date, int]()
    for group in daily:
        if group.bucket is not None:
            day = calendar.day_of(group.bucket, zone)
            costs[day] = costs.get(day, 0) + group.measures["cost_nano_usd"]
    first = min(costs, default=today) if began is None else calendar.day_of(began, zone)
    start, end = calendar.day(today, zone)
    seen = Seen(costs, first, today, Fraction((now - start) // _MICROSECOND, (end - start) // _MICROSECOND))
    month = calendar.days(*calendar.month(today.year, today.month, zone), zone)
    return forecast(seen, month, kind_in(pack.budgets.holidays))
