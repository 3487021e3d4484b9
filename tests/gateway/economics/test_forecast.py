"""The forecast: days left cost what days of their kind cost lately, and too few days are said to be too few."""

from __future__ import annotations

import random
from datetime import date, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.economics.forecast import LATELY, NEEDED, Basis, Forecast, Seen, forecast
from gateway.economics.workdays import kind_in

NOVEMBER = [date(2026, 11, day) for day in range(1, 31)]
DAY = timedelta(days=1)
LONG_AGO = date(2026, 1, 1)
BRAZIL = kind_in(("BR",))


def days_until(today: date, working: int, weekend: int, holiday: int, count: int = 60) -> dict[date, int]:
    """Every day before today costs what its kind does."""
    costs = {"working_day": working, "weekend": weekend, "holiday": holiday}
    return {day: costs[BRAZIL(day)] for day in (today - ago * DAY for ago in range(1, count + 1))}


def test_a_steady_month_comes_to_what_its_days_come_to() -> None:
    today = date(2026, 11, 16)
    seen = Seen(days_until(today, 100, 10, 10), LONG_AGO, today, Fraction(0))

    told = forecast(seen, NOVEMBER, BRAZIL)

    # Working days in November but for All Souls' (2nd) and the 20th: 19; weekends 9; holidays 2.
    assert told.expected_nano_usd == 19 * 100 + 9 * 10 + 2 * 10
    assert told.so_far_nano_usd == sum(seen.nano_usd[date(2026, 11, day)] for day in range(1, 16))
    assert told.low_nano_usd == told.expected_nano_usd == told.high_nano_usd
    assert [(basis.kind, basis.left) for basis in told.bases] == [("working_day", 9), ("weekend", 4), ("holiday", 1)]


def test_the_rest_of_today_counts_for_its_part() -> None:
    today = date(2026, 11, 30)
    spent = {**days_until(today, 100, 10, 10), today: 30}

    at_noon = forecast(Seen(spent, LONG_AGO, today, Fraction(1, 2)), NOVEMBER, BRAZIL)
    at_the_end = forecast(Seen(spent, LONG_AGO, today, Fraction(1)), NOVEMBER, BRAZIL)

    assert at_noon.expected_nano_usd == at_noon.so_far_nano_usd + 50
    assert at_the_end.expected_nano_usd == at_the_end.so_far_nano_usd
    assert at_the_end.bases == ()


@pytest.mark.parametrize("days", range(NEEDED + 1))
def test_too_few_complete_days_are_no_forecast(days: int) -> None:
    today = date(2026, 11, 20)
    spent = {today - ago * DAY: 100 for ago in range(days + 1)}

    told = forecast(Seen(spent, min(spent), today, Fraction(1, 2)), NOVEMBER, BRAZIL)

    # The first day may have begun at noon: it is not complete.
    assert told == Forecast(100 * (days + 1), None, None, None, max(days - 1, 0))


def test_an_empty_ledger_is_no_forecast() -> None:
    today = date(2026, 11, 1)

    assert forecast(Seen({}, today, today, Fraction(0)), NOVEMBER, BRAZIL) == Forecast(0, None, None, None, 0)


def test_days_on_which_nothing_was_called_count_as_nothing() -> None:
    today = date(2026, 11, 16)
    seen = Seen({today - 3 * DAY: 700}, LONG_AGO, today, Fraction(0))

    told = forecast(seen, NOVEMBER, kind_in(()))

    # 20 working days lately, of which one cost something; 11 are still to come with today.
    assert told.expected_nano_usd == 700 + round(Fraction(700, 20) * 11)


def test_a_holiday_that_none_like_it_was_seen_of_costs_what_other_days_off_cost() -> None:
    today = date(2026, 12, 14)
    december = [date(2026, 12, day) for day in range(1, 32)]
    seen = Seen(days_until(today, 100, 10, 50, 14), today - 14 * DAY, today, Fraction(0))

    told = forecast(seen, december, kind_in(("DE",)))

    assert told.bases[-1] == Basis("holiday", 0, 10, "days_off", 1)  # the 25th; the 26th is a Saturday


def test_old_days_are_forgotten() -> None:
    today = date(2026, 11, 16)
    recent = days_until(today, 100, 100, 100, LATELY)
    old = dict.fromkeys((today - ago * DAY for ago in range(LATELY + 1, 90)), 1_000_000)

    assert forecast(Seen({**old, **recent}, LONG_AGO, today, Fraction(0)), NOVEMBER, BRAZIL).bases[0] == Basis(
        "working_day", 19, 100, "working_day", 9
    )


@given(
    st.lists(st.integers(0, 10**15), min_size=0, max_size=70),
    st.integers(0, 29),
    st.fractions(0, 1, max_denominator=48),
)
def test_the_middle_lies_between_low_and_high_and_nothing_below_what_is_spent(
    costs: list[int], day: int, passed: Fraction
) -> None:
    today = NOVEMBER[day]
    spent = {today - ago * DAY: cost for ago, cost in enumerate(costs)}

    told = forecast(Seen(spent, min(spent, default=today), today, passed), NOVEMBER, BRAZIL)

    assert told.so_far_nano_usd == sum(spent.get(each, 0) for each in NOVEMBER[: day + 1])
    if told.expected_nano_usd is not None and told.low_nano_usd is not None and told.high_nano_usd is not None:
        assert told.so_far_nano_usd <= told.low_nano_usd <= told.expected_nano_usd <= told.high_nano_usd


def test_about_four_months_in_five_end_where_it_said() -> None:
    chance = random.Random(4)
    today, hits, months = date(2026, 11, 13), 0, 400
    for _ in range(months):
        costs = {
            day: round(chance.gauss(1000, 300) if BRAZIL(day) == "working_day" else chance.gauss(200, 60))
            for day in (date(2026, 9, 1) + ahead * DAY for ahead in range(91))
        }
        known = {day: cost for day, cost in costs.items() if day < today}
        told = forecast(Seen(known, LONG_AGO, today, Fraction(0)), NOVEMBER, BRAZIL)
        assert told.low_nano_usd is not None
        assert told.high_nano_usd is not None
        hits += told.low_nano_usd <= sum(costs[day] for day in NOVEMBER) <= told.high_nano_usd

    assert 0.74 <= hits / months <= 0.88
