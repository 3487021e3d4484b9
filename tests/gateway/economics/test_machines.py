"""Machines cost time: capital, rent, energy and staff of any stretch, exactly, and apart for used and idle."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.economics.calendar import month, start_of
from gateway.economics.machines import Capital, Cost, Days, Machine, Power, Rate, Reading, cost, months, split

NANO = 10**9
SAO_PAULO, BERLIN = ZoneInfo("America/Sao_Paulo"), ZoneInfo("Europe/Berlin")
FLEET = Capital(Fraction(2_400_000 - 480_000) * NANO, life_months=36, since=date(2026, 9, 1))
"""64 H100: 2.4 million dollars, 36 months, 20 % left."""
POWER = Power(Fraction("0.12") * NANO, kw=Fraction("44.8"), pue=Fraction("1.4"))
NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)


def cents(nano_usd: Fraction) -> Decimal:
    return (Decimal(round(nano_usd)) / NANO).quantize(Decimal("0.01"))


def hours(start: datetime, number: float) -> datetime:
    return start + timedelta(hours=number)


@pytest.mark.parametrize("zone", [UTC, SAO_PAULO, BERLIN])
@pytest.mark.parametrize("number", [9, 10, 11, 12])
def test_every_month_writes_off_as_much_as_the_others(zone: ZoneInfo, number: int) -> None:
    of = cost(Machine(capital=(FLEET,)), *month(2026, number, zone), zone)

    assert cents(of.capital) == Decimal("53333.33")
    assert of.capital * 36 == FLEET.nano_usd


def test_a_month_of_730_hours_draws_what_the_fleet_draws() -> None:
    start = NOVEMBER[0]

    of = cost(Machine(power=(POWER,)), start, hours(start, 730), UTC)

    assert of.assumed_kwh == Fraction("45785.6")
    assert cents(of.energy) == Decimal("5494.27")


def test_the_fleet_all_in_draws_more() -> None:
    start = NOVEMBER[0]
    all_in = Power(Fraction("0.12") * NANO, kw=Fraction("110.72"))

    of = cost(Machine(power=(all_in,)), start, hours(start, 730), UTC)

    assert of.assumed_kwh == Fraction("80825.6")
    assert cents(of.energy) == Decimal("9699.07")


def test_reserved_cards_cost_their_hours() -> None:
    start = NOVEMBER[0]
    rent = Rate(Fraction("59.92") * NANO, hourly=True)

    assert cents(cost(Machine(rent=(rent,)), start, hours(start, 730), UTC).rent) == Decimal("43741.60")


def test_half_a_person_costs_half_a_person_each_month() -> None:
    staff = Rate(Fraction(7_500) * NANO)

    assert cost(Machine(staff=(staff,)), *month(2026, 2, SAO_PAULO), SAO_PAULO).staff == 7_500 * NANO


def test_a_life_writes_off_everything_and_no_more() -> None:
    since = date(2026, 1, 31)
    capital = Capital(Fraction(1_000), life_months=13, since=since)
    before, after = start_of(date(2025, 1, 1), BERLIN), start_of(date(2029, 1, 1), BERLIN)

    assert cost(Machine(capital=(capital,)), before, after, BERLIN).capital == 1_000
    assert cost(Machine(capital=(capital,)), before, start_of(since, BERLIN), BERLIN).capital == 0
    assert cost(Machine(capital=(capital,)), start_of(date(2027, 2, 28), BERLIN), after, BERLIN).capital == 0


@given(
    cuts=st.lists(st.integers(0, 3 * 365 * 24 * 60), min_size=2, max_size=8),
    zone=st.sampled_from([SAO_PAULO, BERLIN, ZoneInfo("America/Noronha")]),
    since=st.dates(date(2025, 6, 1), date(2028, 6, 1)),
)
def test_parts_come_to_the_whole(cuts: list[int], zone: ZoneInfo, since: date) -> None:
    moments = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=cut) for cut in sorted(cuts)]
    machine = Machine(
        capital=(Capital(Fraction(10**15), 17, since),),
        rent=(Rate(Fraction(10**12), Days(since)),),
        power=(POWER,),
        staff=(Rate(Fraction(10**11), Days(None, since)),),
    )
    readings = [Reading(moments[0] + timedelta(hours=1), moments[0] + timedelta(days=40), 123_456_789)]

    parts = [cost(machine, one, other, zone, readings) for one, other in pairwise(moments)]

    assert sum(parts, Cost()) == cost(machine, moments[0], moments[-1], zone, readings)


def test_months_are_counted_from_the_day_they_begin() -> None:
    start, end = start_of(date(2026, 1, 31), UTC), start_of(date(2026, 3, 31), UTC)

    assert months(start, end, date(2026, 1, 31), UTC) == 2
    assert months(start, start_of(date(2026, 2, 28), UTC), date(2026, 1, 31), UTC) == 1


def test_a_day_of_23_hours_is_a_smaller_part_of_its_month() -> None:
    day = start_of(date(2026, 3, 29), BERLIN), start_of(date(2026, 3, 30), BERLIN)

    assert months(*day, date(2026, 3, 1), BERLIN) == Fraction(23, 31 * 24 - 1)


def test_a_cost_falls_due_on_its_days_alone() -> None:
    old = Rate(Fraction(30) * NANO, Days(None, date(2026, 11, 10)))
    new = Rate(Fraction(60) * NANO, Days(date(2026, 11, 11), None))

    assert cost(Machine(rent=(old, new)), *NOVEMBER, UTC).rent == (10 + 40) * NANO


def test_meters_count_where_they_were_read_and_kilowatts_for_the_rest() -> None:
    start = NOVEMBER[0]
    power = Power(Fraction(NANO), kw=Fraction(2))
    readings = [Reading(hours(start, 1), hours(start, 3), 1_000_000)]

    of = cost(Machine(power=(power,)), start, hours(start, 4), UTC, readings)

    assert [of.metered_kwh, of.assumed_kwh, of.unmetered_hours] == [1, 4, 0]
    assert of.energy == 5 * NANO


def test_without_kilowatts_the_time_without_a_reading_is_said_to_be_unknown() -> None:
    start = NOVEMBER[0]
    readings = [Reading(hours(start, 1), hours(start, 3), 1_000_000)]

    of = cost(Machine(power=(Power(Fraction(NANO)),)), start, hours(start, 4), UTC, readings)

    assert [of.metered_kwh, of.assumed_kwh, of.unmetered_hours] == [1, 0, 2]


def test_readings_that_overlap_count_no_energy_twice() -> None:
    start = NOVEMBER[0]
    readings = [
        Reading(hours(start, 1), hours(start, 3), 2_000_000),
        Reading(hours(start, 0), hours(start, 2), 2_000_000),
        Reading(hours(start, 1.5), hours(start, 2), 9_000_000),
    ]

    of = cost(Machine(power=(Power(Fraction(NANO)),)), start, hours(start, 4), UTC, readings)

    assert [of.metered_kwh, of.unmetered_hours] == [3, 1]


def test_a_reading_that_reaches_over_the_stretch_counts_in_part() -> None:
    start = NOVEMBER[0]
    reading = Reading(hours(start, -2), hours(start, 6), 8_000_000)

    assert cost(Machine(power=(Power(Fraction(NANO)),)), start, hours(start, 1), UTC, [reading]).metered_kwh == 1


def test_what_cools_the_machines_is_added_to_what_their_meter_saw() -> None:
    start = NOVEMBER[0]
    reading = Reading(start, hours(start, 1), 1_000_000)

    of = cost(Machine(power=(Power(Fraction(NANO), pue=Fraction("1.4")),)), start, hours(start, 1), UTC, [reading])

    assert of.energy == Fraction("1.4") * NANO


def test_a_tariff_holds_on_its_days() -> None:
    start = NOVEMBER[0]
    old = Power(Fraction(NANO), kw=Fraction(1), days=Days(None, date(2026, 11, 1)))
    new = Power(Fraction(2 * NANO), kw=Fraction(1), days=Days(date(2026, 11, 2), None))
    reading = Reading(hours(start, 23), hours(start, 25), 4_000_000)

    of = cost(Machine(power=(old, new)), start, hours(start, 48), UTC, [reading])

    assert of.energy == (23 + 2) * NANO + (2 + 23) * 2 * NANO


@pytest.mark.parametrize(
    ("busy_ms", "capacity_ms", "used"),
    [(0, 1_000, 0), (250, 1_000, 25), (1_000, 1_000, 100), (5_000, 1_000, 100), (10, 0, 0)],
)
def test_a_cost_is_used_as_far_as_its_time_was_busy(busy_ms: int, capacity_ms: int, used: int) -> None:
    divided = split(100, busy_ms, capacity_ms)

    assert (divided.used, divided.idle, divided.allocated) == (used, 100 - used, 100)


def test_no_nano_dollar_is_lost_in_dividing() -> None:
    divided = split(100_000_000_001, 1, 3)

    assert divided.used + divided.idle == 100_000_000_001
