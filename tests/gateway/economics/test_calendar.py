"""Days begin at the owner's midnight, also where clocks are changed, and no moment is in two or in none."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.db.tables import BUCKET
from gateway.economics import calendar

if TYPE_CHECKING:
    from policies.budgets import Per

ZONES = [
    "America/Sao_Paulo",
    "America/Manaus",
    "America/Rio_Branco",
    "America/Noronha",
    "Europe/Berlin",
    "Asia/Tokyo",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Africa/Cairo",
    "UTC",
]
PERS: list[Per] = ["hour", "day", "week", "month"]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "moment", "per", "start", "end"),
    [
        ("America/Sao_Paulo", "2026-11-01T02:59:59", "day", "2026-10-31T03:00", "2026-11-01T03:00"),
        ("America/Sao_Paulo", "2026-11-01T03:00:00", "day", "2026-11-01T03:00", "2026-11-02T03:00"),
        ("America/Sao_Paulo", "2026-11-01T02:59:59", "month", "2026-10-01T03:00", "2026-11-01T03:00"),
        ("America/Manaus", "2027-01-01T03:59:59", "month", "2026-12-01T04:00", "2027-01-01T04:00"),
        ("America/Rio_Branco", "2026-11-01T04:30", "day", "2026-10-31T05:00", "2026-11-01T05:00"),
        ("America/Noronha", "2026-11-01T02:00", "day", "2026-11-01T02:00", "2026-11-02T02:00"),
        ("Asia/Tokyo", "2026-11-30T15:00", "month", "2026-11-30T15:00", "2026-12-31T15:00"),
        ("Asia/Tokyo", "2026-11-30T14:59:59", "day", "2026-11-29T15:00", "2026-11-30T15:00"),
        ("Asia/Kolkata", "2026-11-01T05:00", "hour", "2026-11-01T04:30", "2026-11-01T05:30"),
        ("Europe/Berlin", "2026-03-29T12:00", "day", "2026-03-28T23:00", "2026-03-29T22:00"),
        ("Europe/Berlin", "2026-10-25T12:00", "day", "2026-10-24T22:00", "2026-10-25T23:00"),
        ("Europe/Berlin", "2026-10-25T00:30", "hour", "2026-10-25T00:00", "2026-10-25T01:00"),
        ("Europe/Berlin", "2026-10-25T01:30", "hour", "2026-10-25T01:00", "2026-10-25T02:00"),
        ("Europe/Berlin", "2026-10-25T12:00", "week", "2026-10-18T22:00", "2026-10-25T23:00"),
        ("UTC", "2026-11-29T23:59:59", "week", "2026-11-23T00:00", "2026-11-30T00:00"),
        ("UTC", "2028-02-29T12:00", "month", "2028-02-01T00:00", "2028-03-01T00:00"),
    ],
)
def test_a_window_begins_and_ends_at_the_owner_s_midnight(
    zone: str, moment: str, per: Per, start: str, end: str
) -> None:
    assert calendar.window(utc(moment), per, ZoneInfo(zone)) == (utc(start), utc(end))


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", date(2026, 3, 29), 23),
        ("Europe/Berlin", date(2026, 10, 25), 25),
        ("America/Sao_Paulo", date(2018, 11, 4), 23),  # Brazil's last summer time began at midnight itself
        ("America/Sao_Paulo", date(2019, 2, 16), 25),
        ("Australia/Lord_Howe", date(2026, 10, 4), 23.5),
        ("Asia/Tokyo", date(2026, 3, 29), 24),
    ],
)
def test_a_day_on_which_clocks_are_changed_is_one_day(zone: str, day: date, hours: float) -> None:
    start, end = calendar.day(day, ZoneInfo(zone))

    assert end - start == timedelta(hours=hours)
    assert {calendar.day_of(moment, ZoneInfo(zone)) for moment in (start, end - timedelta(microseconds=1))} == {day}
    assert calendar.days(start, end, ZoneInfo(zone)) == [day]


@pytest.mark.parametrize("per", PERS)
@pytest.mark.parametrize("zone", ZONES)
def test_windows_follow_each_other_through_a_year_and_cut_no_bucket(zone: str, per: Per) -> None:
    found = list(calendar.windows(utc("2026-01-01T00:00"), utc("2027-01-01T00:00"), per, ZoneInfo(zone)))

    assert all(one[1] == other[0] for one, other in pairwise(found))
    assert all(start < end for start, end in found)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert all((start - epoch) % BUCKET == timedelta() for start, _ in found)


@given(
    moment=st.integers(0, 22 * 366 * 86_400).map(lambda seconds: utc("2015-01-01T00:00") + timedelta(seconds=seconds)),
    zone=st.sampled_from(ZONES),
    per=st.sampled_from(PERS),
)
def test_every_moment_lies_in_its_window_and_the_window_is_that_of_all_its_moments(
    moment: datetime, zone: str, per: Per
) -> None:
    start, end = calendar.window(moment, per, ZoneInfo(zone))

    assert start <= moment < end
    for other in (start, start + (end - start) / 2, end - timedelta(microseconds=1)):
        assert calendar.window(other, per, ZoneInfo(zone)) == (start, end)


def test_the_days_between_two_moments_are_named_once_each() -> None:
    berlin = ZoneInfo("Europe/Berlin")

    days = calendar.days(utc("2026-10-24T21:59"), utc("2026-10-26T23:00"), berlin)

    assert days == [date(2026, 10, 24), date(2026, 10, 25), date(2026, 10, 26)]
    assert calendar.month(2026, 12, berlin) == (utc("2026-11-30T23:00"), utc("2026-12-31T23:00"))
