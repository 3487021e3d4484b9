"""The owner's calendar: hours, days, weeks and months of a time zone, as stretches of real time.

A stretch is a pair of aware UTC moments, its end excluded; stretches of one kind follow each other without a gap and
without overlapping, also where clocks are changed: that day has 23 or 25 hours, and is one day.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from policies.budgets import Per

Stretch = tuple[datetime, datetime]

FIRST_YEAR, LAST_YEAR = 1970, 2999

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_MONTHS_A_YEAR = 12


def window(moment: datetime, per: Per, zone: tzinfo) -> Stretch:
    """The hour, day, week (from Monday) or month that the moment lies in."""
    today = day_of(moment, zone)
    match per:
        case "hour":
            return _hour(moment, zone)
        case "day":
            return day(today, zone)
        case "week":
            monday = today - today.weekday() * _DAY
            return start_of(monday, zone), start_of(monday + 7 * _DAY, zone)
        case "month":
            return month(today.year, today.month, zone)


def windows(start: datetime, end: datetime, per: Per, zone: tzinfo) -> Iterator[Stretch]:
    """The stretches that lie in part or whole between two moments, in order."""
    moment = start
    while moment < end:
        stretch = window(moment, per, zone)
        yield stretch
        moment = stretch[1]


def day_of(moment: datetime, zone: tzinfo) -> date:
    """The date that a calendar in the zone shows at the moment."""
    return moment.astimezone(zone).date()


def known(which: date) -> date:
    """The day itself; ValueError beyond the years that a ledger can speak of, where clocks and months run out."""
    if not FIRST_YEAR <= which.year <= LAST_YEAR:
        raise ValueError(f"{which} is not within the years {FIRST_YEAR} to {LAST_YEAR}")
    return which


def day(which: date, zone: tzinfo) -> Stretch:
    """The day of this date."""
    return start_of(which, zone), start_of(which + _DAY, zone)


def days(start: datetime, end: datetime, zone: tzinfo) -> list[date]:
    """The dates of the days that lie in part or whole between two moments, in order."""
    return [day_of(begins, zone) for begins, _ in windows(start, end, "day", zone)]


def month(year: int, month: int, zone: tzinfo) -> Stretch:
    """The month, from the midnight that its first day begins at until the next month's."""
    following = date(year + month // _MONTHS_A_YEAR, month % _MONTHS_A_YEAR + 1, 1)
    return start_of(date(year, month, 1), zone), start_of(following, zone)


def start_of(which: date, zone: tzinfo) -> datetime:
    """The moment that a day begins at.

    Where clocks are put forward at midnight, that is the change itself: `fold=0` reads a time that does not exist by
    the offset before it. A midnight that comes twice counts as the first one.
    """
    return datetime.combine(which, time(), tzinfo=zone).astimezone(UTC)


def _hour(moment: datetime, zone: tzinfo) -> Stretch:
    """Hours are counted from midnight, so that they divide the day also where clocks are changed by half an hour."""
    midnight, next_midnight = day(day_of(moment, zone), zone)
    start = midnight + (moment - midnight) // _HOUR * _HOUR
    return start, min(start + _HOUR, next_midnight)
