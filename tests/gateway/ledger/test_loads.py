"""How volumes spread over time: what hours, days and weeks come to, worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import isclose
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.economics import calendar
from gateway.ledger import loads

HOUR, HALF = timedelta(hours=1), timedelta(minutes=30)
SAO_PAULO = ZoneInfo("America/Sao_Paulo")
BERLIN = ZoneInfo("Europe/Berlin")
KOLKATA = ZoneInfo("Asia/Kolkata")
START = datetime(2026, 11, 2, tzinfo=UTC)


def test_two_halves_make_an_hour_and_an_unfinished_one_is_none() -> None:
    buckets = {START: 3, START + HALF: 4, START + 2 * HOUR: 5, START + 3 * HOUR: 100}

    assert loads.hourly(buckets, START, START + 3 * HOUR + HALF) == [7, 0, 5]


def test_a_shape_has_a_mean_of_one() -> None:
    assert loads.shape([1, 0, 5]) == (Fraction(1, 2), Fraction(0), Fraction(5, 2))
    assert loads.shape([0, 0]) == loads.shape([]) == ()


def test_of_few_hours_the_busiest_is_the_peak() -> None:
    assert loads.peak(loads.shape([1] * 99 + [101])) == Fraction(101, 2)


def test_of_many_hours_the_hundredth_does_not_decide() -> None:
    hours = [10] * 700 + [30] * 13 + [500] * 6 + [1000]  # 720 in all: 713 of them are 99.03 %

    assert loads.peak(loads.shape(hours)) == Fraction(30 * 720, sum(hours))


def test_where_few_hours_had_anything_the_busiest_is_the_peak() -> None:
    """One call in a month: ninety-nine of a hundred hours were empty."""
    assert loads.peak(loads.shape([0] * 719 + [5])) == 720
    assert loads.peak(loads.shape([0] * 640 + [1] * 73 + [10**6] * 7)) > 100


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=400).filter(any))
def test_a_peak_is_at_least_the_mean_and_at_most_the_busiest(hours: list[int]) -> None:
    shape = loads.shape(hours)

    assert sum(shape) == len(shape)
    assert 1 <= loads.peak(shape) <= max(shape)


def test_the_hours_of_the_day_are_the_owners() -> None:
    start = calendar.start_of(datetime(2026, 11, 2, tzinfo=UTC).date(), SAO_PAULO)
    buckets = {start + 9 * HOUR: 1, start + 9 * HOUR + HALF: 2, start + 33 * HOUR: 3, start + 14 * HOUR: 2}

    found = loads.by_clock(buckets, start, start + 48 * HOUR, SAO_PAULO)

    assert len(found) == 24
    assert sum(found) == 1
    assert {hour: share for hour, share in enumerate(found) if share} == {9: Fraction(6, 8), 14: Fraction(2, 8)}


def test_where_days_begin_at_a_half_hour_the_hours_do_too() -> None:
    start = calendar.start_of(datetime(2026, 11, 2, tzinfo=UTC).date(), KOLKATA)
    assert start.minute == 30

    found = loads.by_clock({start + 9 * HOUR + HALF: 1, start + 10 * HOUR: 1}, start, start + 24 * HOUR, KOLKATA)

    assert {hour: share for hour, share in enumerate(found) if share} == {9: Fraction(1, 2), 10: Fraction(1, 2)}


def test_an_hour_that_was_seen_less_often_does_not_count_less() -> None:
    """On 29 March 2026 clocks in Berlin leave out the hour from 2; the last day goes until noon."""
    start = calendar.start_of(datetime(2026, 3, 28, tzinfo=UTC).date(), BERLIN)
    end = datetime(2026, 3, 30, 12, tzinfo=BERLIN).astimezone(UTC)
    buckets = {start + half * HALF: 1 for half in range((end - start) // HALF)}

    assert (end - start) // HOUR == 24 + 23 + 12
    assert loads.by_clock(buckets, start, end, BERLIN) == (Fraction(1, 24),) * 24


def test_without_a_whole_day_the_hours_of_the_day_are_not_known() -> None:
    assert loads.by_clock({START: 1}, START, START + 23 * HOUR, UTC) == ()
    assert loads.by_clock({}, START, START + 24 * HOUR, UTC) == ()


def test_weeks_are_seven_days_before_the_last_midnight() -> None:
    end = START + timedelta(days=15, hours=7)
    buckets = {START + timedelta(days=day): 168 * 10**day for day in (0, 1, 7, 8, 14, 15)}

    assert loads.weekly(buckets, START, end, UTC) == [10 + 10**7, 10**8 + 10**14]
    assert loads.weekly(buckets, START, START + timedelta(days=6, hours=23), UTC) == []


def test_a_week_with_changed_clocks_has_an_hour_less() -> None:
    days = [datetime(2026, 3, day, tzinfo=BERLIN).date() for day in (16, 23, 30)]
    starts = [calendar.start_of(day, BERLIN) for day in days]
    buckets = {starts[0] + half * HALF: 1 for half in range((starts[2] - starts[0]) // HALF)}

    assert (starts[2] - starts[1]) // HOUR == 167
    assert loads.weekly(buckets, starts[0], starts[2], BERLIN) == [2, 2]


def test_growth_of_a_tenth_a_week_is_found_whatever_one_odd_week_says() -> None:
    weeks = [Fraction(11, 10) ** week * 1000 for week in range(9)]
    odd = [*weeks[:3], weeks[3] * 40, *weeks[4:]]

    for seen in (weeks, odd):
        found = loads.growth(seen)
        assert found is not None
        assert isclose(found.per_month, 1.1 ** (730 / 168) - 1, abs_tol=1e-6)
        assert found.low <= found.per_month <= found.high


def test_a_volume_that_stays_does_not_grow() -> None:
    assert loads.growth([Fraction(7)] * 4) == loads.Growth(Fraction(0), Fraction(0), Fraction(0))


@pytest.mark.parametrize("weeks", [[], [1, 2, 3], [1, 0, 2, 3]])
def test_of_three_weeks_or_an_empty_one_growth_is_not_known(weeks: list[int]) -> None:
    assert loads.growth([Fraction(week) for week in weeks]) is None
