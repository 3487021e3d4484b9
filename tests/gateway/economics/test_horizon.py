"""When owning begins to pay and what it is worth: growth against falling prices, payback, and present value."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.economics.break_even import break_even, hosted_usd, is_cheaper
from gateway.economics.horizon import (
    LONGEST,
    aged,
    first_cheaper_month,
    fleet,
    monthly_rate,
    months_until,
    payback,
    savings,
)
from gateway.economics.scenario import ONE, ZERO, Cost, Owned, Purchase, Scenario
from tests.gateway.economics.k3 import B300, DSPARK, FLATKEY, MOONSHOT, asked
from tests.gateway.economics.volumes import growing, of_day

ON_FLATKEY, ON_MOONSHOT = asked(), asked(hosted=MOONSHOT)
"""As if eight B300 carried any load."""
CROWDED = asked(capacity=DSPARK, peak_to_mean="1.9")
HUNDRED, EIGHT_PERCENT = of_day(100), Fraction("0.08")
FLEET = Purchase(Fraction(2_400_000), 36, Fraction(480_000))
YEARLY = Fraction("0.12")
STEADY = [Fraction(120_000)] * 36

BOUGHT = Scenario(
    ON_FLATKEY.traffic,
    FLATKEY,
    Owned(
        (Cost("capital", Fraction(9_000)), Cost("energy", Fraction(1_000)), Cost("staff", Fraction(500), "house")),
        8,
        purchase=Purchase(Fraction(360_000), 36, Fraction(36_000)),
    ),
    DSPARK,
)
"""Eight B300 that are bought; each carries 23,502 million tokens of a month, which cost 84,605 dollars at the host."""
CARRIED = Fraction(break_even(BOUGHT).steps[0].most_tokens or 0)


def needed(scenario: Scenario) -> Fraction:
    tokens = break_even(scenario).tokens_per_month
    assert tokens is not None
    return tokens


def test_a_volume_that_is_gone_in_a_month_never_reaches_anything() -> None:
    assert months_until(HUNDRED, 2 * HUNDRED, -ONE, ZERO) is None


def test_a_hundred_million_a_day_reach_eight_b300_in_eighteen_months() -> None:
    months = months_until(HUNDRED, needed(ON_FLATKEY), EIGHT_PERCENT, ZERO)

    assert months == pytest.approx(17.733, abs=0.0005)


def test_falling_prices_move_the_target_away() -> None:
    months = months_until(HUNDRED, needed(ON_FLATKEY), EIGHT_PERCENT, Fraction("0.33"))

    assert months is not None
    volume, target = 100 * 1.08**months, 391.467 / 0.67 ** (months / 12)
    assert months == pytest.approx(31.310, abs=0.0005)
    assert volume == pytest.approx(target, rel=1e-6)


@pytest.mark.parametrize(
    ("growth", "decline"), [("0", "0"), ("-0.02", "0"), ("0.02", "0.30"), ("0.01", "0.11361512828387077")]
)
def test_what_does_not_come_nearer_is_never_reached(growth: str, decline: str) -> None:
    assert months_until(HUNDRED, needed(ON_FLATKEY), Fraction(growth), Fraction(decline)) is None


def test_what_is_reached_takes_no_month_and_nothing_never_grows() -> None:
    assert months_until(HUNDRED, HUNDRED, ZERO, ZERO) == 0
    assert months_until(ZERO, HUNDRED, EIGHT_PERCENT, ZERO) is None


def test_the_first_cheaper_month_is_the_one_after_the_crossing() -> None:
    scenario = growing(ON_FLATKEY, HUNDRED, EIGHT_PERCENT)

    assert first_cheaper_month(scenario, HUNDRED) == 18
    assert first_cheaper_month(scenario, of_day(392)) == 0
    assert first_cheaper_month(scenario, HUNDRED, within=17) is None


def test_the_first_cheaper_month_counts_the_machines_that_the_volume_takes() -> None:
    """At a peak of 1.9 one machine is paid at 391 million a day and full at 407, two at 783 and 813, three at 1,174.

    Growth of 10 % passes over the first two: 380 and 418, then 740 and 814; in the 26th month it is 1,192.
    """
    growth = Fraction("0.10")
    scenario = growing(CROWDED, HUNDRED, growth)

    months = months_until(HUNDRED, needed(scenario), growth, ZERO)
    first = first_cheaper_month(scenario, HUNDRED)

    assert months == pytest.approx(14.32, abs=0.005)
    assert first == 26
    assert [is_cheaper(scenario, of_day(volume)) for volume in (380, 400, 418, 800, 814, 1_192)] == [
        *(False, True, False),
        *(True, False, True),
    ]


def test_falling_prices_may_outrun_growth() -> None:
    hosted = replace(ON_FLATKEY.hosted, decline_per_year=Fraction("0.67"))
    scenario = growing(replace(ON_FLATKEY, hosted=hosted), HUNDRED, EIGHT_PERCENT)

    assert first_cheaper_month(scenario, HUNDRED, within=LONGEST) is None


def test_prices_fall_exactly_by_the_year_and_evenly_within_it() -> None:
    falling = replace(ON_MOONSHOT, hosted=replace(ON_MOONSHOT.hosted, decline_per_year=Fraction("0.36")))

    assert aged(falling, 0) == falling
    assert aged(falling, 24).hosted.price.output == 15 * Fraction("0.64") ** 2
    assert float(aged(falling, 6).hosted.price.fresh) == pytest.approx(3 * 0.8)
    assert aged(ON_MOONSHOT, 24) == ON_MOONSHOT


def test_a_fleet_is_worth_its_savings_less_what_it_cost() -> None:
    worth = payback(FLEET, ZERO, STEADY, YEARLY)

    assert monthly_rate(YEARLY) == pytest.approx(0.00948879, abs=5e-9)
    assert round(worth.npv_usd, 2) == 1_586_625.01
    assert (worth.months, worth.discounted_months) == (20, 23)
    assert worth.usd == 2_400_000


def test_setting_up_is_paid_back_too() -> None:
    worth = payback(FLEET, Fraction(120_000), STEADY, YEARLY)

    assert worth.usd == 2_520_000
    assert worth.months == 21
    assert round(worth.npv_usd, 2) == 1_466_625.01


def test_what_never_comes_back_says_so() -> None:
    worth = payback(FLEET, ZERO, [Fraction(60_000)] * 36, YEARLY)

    assert (worth.months, worth.discounted_months) == (None, None)
    assert worth.npv_usd < 0


def test_what_comes_back_only_undiscounted_says_so() -> None:
    worth = payback(FLEET, ZERO, [Fraction(70_000)] * 36, YEARLY)

    assert (worth.months, worth.discounted_months) == (35, None)


def test_a_machine_that_is_bought_later_must_come_back_as_well() -> None:
    spent_again = [Fraction(100), Fraction(-90), Fraction(50), Fraction(50)]

    worth = payback(Purchase(Fraction(100), 4), ZERO, spent_again, ZERO)

    assert worth.months == 4
    assert worth.npv_usd == 10


def test_without_a_discount_present_value_is_the_plain_sum() -> None:
    assert payback(FLEET, ZERO, STEADY, ZERO).npv_usd == 36 * 120_000 + 480_000 - 2_400_000


def test_nothing_paid_is_back_at_once() -> None:
    assert payback(Purchase(ZERO, 36), ZERO, STEADY, YEARLY).months == 0


def test_savings_beyond_the_life_of_a_machine_are_refused() -> None:
    with pytest.raises(ValueError, match="lasts 36 months"):
        payback(FLEET, ZERO, [*STEADY, ONE], YEARLY)
    with pytest.raises(ValueError, match="last 36 months"):
        savings(BOUGHT, CARRIED, 37)


def test_the_first_fleet_is_paid_with_its_spares() -> None:
    spared = replace(BOUGHT.owned, spares=1)

    assert fleet(spared, 2) == Purchase(Fraction(1_080_000), 36, Fraction(108_000))
    assert fleet(B300, 2) is None


def test_a_month_saves_what_the_host_would_be_paid_less_what_machines_cost_to_run() -> None:
    assert savings(BOUGHT, of_day(400), 36) == [of_day(400) * Fraction("3.60") / 10**6 - 1_500] * 36


def test_savings_of_what_is_rented_count_the_rent() -> None:
    assert savings(ON_FLATKEY, of_day(400), 2) == [Fraction("934.40")] * 2


def test_savings_grow_with_the_volume_and_fall_with_the_price() -> None:
    hosted = replace(BOUGHT.hosted, decline_per_year=Fraction("0.20"))
    scenario = replace(growing(BOUGHT, ZERO, Fraction("0.01")), hosted=hosted)

    saved = savings(scenario, HUNDRED, 13)

    today = hosted_usd(BOUGHT.hosted, BOUGHT.traffic.mix, HUNDRED)
    assert saved[0] == today - 1_500
    assert saved[12] == today * Fraction("1.01") ** 12 * Fraction("0.8") - 1_500
    assert float(saved[6]) == pytest.approx(float(today) * 1.01**6 * 0.8**0.5 - 1_500)


def test_a_machine_that_growth_takes_is_paid_when_it_comes_and_worth_something_at_the_end() -> None:
    scenario = growing(BOUGHT, ZERO, Fraction("0.5"))
    volumes = [CARRIED * Fraction(volume) for volume in ("0.9", "1.35", "2.025")]

    saved = savings(scenario, volumes[0], 3)

    first, second, third = (hosted_usd(BOUGHT.hosted, BOUGHT.traffic.mix, volume) for volume in volumes)
    worth = (360_000 - 2 * 9_000) + (360_000 - 9_000)
    assert saved == [first - 1_500, second - 2_500 - 360_000, third - 3_500 - 360_000 + worth]


def test_what_is_bought_does_not_shrink_and_what_is_rented_may_after_its_term() -> None:
    shrinking = growing(BOUGHT, ZERO, Fraction("-0.5"))
    rented = replace(shrinking, owned=Owned((Cost("rent", Fraction(1_000)),), 8, committed_months=2))

    def running(scenario: Scenario) -> list[Fraction]:
        bills = [hosted_usd(BOUGHT.hosted, BOUGHT.traffic.mix, 4 * CARRIED / 2**month) for month in range(4)]
        return [bill - saving for bill, saving in zip(bills, savings(scenario, 4 * CARRIED, 4), strict=True)]

    assert running(shrinking) == [4_500] * 4
    assert running(rented) == [4_000, 4_000, 1_000, 1_000]


def test_a_machine_that_cannot_hold_the_model_costs_and_saves_nothing() -> None:
    assert savings(replace(BOUGHT, holds=False), of_day(400), 2) == [-1_500] * 2


growths = st.integers(-5, 15).map(lambda percent: Fraction(percent, 100))
declines = st.integers(0, 80).map(lambda percent: Fraction(percent, 100))
volumes = st.integers(1, 2_000).map(of_day)


@given(volumes, volumes, growths, declines)
def test_the_volume_meets_the_target_in_the_month_that_is_told(
    volume: Fraction, target: Fraction, growth: Fraction, decline: Fraction
) -> None:
    months = months_until(volume, target, growth, decline)

    if months:
        moved = float(target) / float(1 - decline) ** (months / 12)
        assert float(volume) * float(1 + growth) ** months == pytest.approx(moved, rel=1e-6)


@given(volumes, growths, declines)
def test_without_machines_to_count_both_ways_of_dating_agree(
    volume: Fraction, growth: Fraction, decline: Fraction
) -> None:
    scenario = growing(ON_FLATKEY, volume, growth)
    scenario = replace(scenario, hosted=replace(scenario.hosted, decline_per_year=decline))

    months = months_until(volume, needed(scenario), growth, decline)
    first = first_cheaper_month(scenario, volume)

    if months is None or months > LONGEST:
        assert first is None
        return
    assert first is not None
    assert first - 1 <= months <= first + 1e-6


@given(st.lists(st.integers(-(10**6), 10**6).map(Fraction), max_size=36), st.integers(0, 10**6), st.integers(0, 50))
def test_what_is_not_back_is_worth_less_than_it_cost(saved: list[Fraction], usd: int, percent: int) -> None:
    purchase = Purchase(Fraction(usd), 36)

    worth = payback(purchase, ZERO, saved, Fraction(percent, 100))

    assert (worth.discounted_months is None) == (worth.npv_usd < 0)
    assert (worth.months is None) == (sum(saved) < usd)


@given(st.integers(0, 10**6), st.integers(0, 100), st.integers(0, 100))
def test_a_higher_discount_never_makes_steady_savings_worth_more(saved: int, lower: int, more: int) -> None:
    first, second = (
        payback(FLEET, ZERO, [Fraction(saved)] * 36, Fraction(percent, 100)).npv_usd
        for percent in (lower, lower + more)
    )

    assert second <= first + 1e-6
