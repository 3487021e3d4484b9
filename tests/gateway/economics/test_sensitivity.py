"""What a break-even depends on: one input at a time exactly, and all at once in draws that can be repeated."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.economics.break_even import break_even, is_cheaper
from gateway.economics.scenario import (
    ONE,
    ZERO,
    Capacity,
    Cost,
    Hosted,
    LanePrice,
    Mix,
    Owned,
    Range,
    Scenario,
    Traffic,
    VolumeTier,
)
from gateway.economics.sensitivity import INPUTS, SEED, Input, monte_carlo, tornado, with_input
from tests.gateway.economics.k3 import DSPARK, FLATKEY, MOONSHOT, THREE_TO_ONE, asked, millions_a_day, rented
from tests.gateway.economics.volumes import growing, of_day

ON_FLATKEY, ON_MOONSHOT = asked(), asked(hosted=MOONSHOT)
"""As if eight B300 carried any load."""
CARRIED = asked(capacity=DSPARK)

EXAMPLE: dict[Input, Range] = {
    "usd_per_gpu_hour": Range(Fraction("3.48"), Fraction("7.34"), Fraction("14.04")),
    "price_factor": Range(Fraction("0.6"), ONE, ONE),
    "output_share": Range(Fraction("0.1"), Fraction("0.25"), Fraction("0.5")),
    "cached_share": Range(ZERO, Fraction("0.5"), Fraction("0.95")),
    "staff_usd_per_month": Range(ZERO, Fraction(7_500), Fraction(20_000)),
}
"""Rent from the three-year price to that of a reserved block, a host that may fall to the reseller's price."""


def needed(scenario: Scenario) -> Fraction | None:
    answer = break_even(scenario)
    return answer.tokens_per_month if answer.valid else None


def day(scenario: Scenario, name: Input, value: str | Fraction) -> float:
    return round(millions_a_day(needed(with_input(scenario, name, Fraction(value)))), 3)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("usd_per_gpu_hour", "3.48", 185.600),
        ("usd_per_gpu_hour", "14.04", 748.800),
        ("cached_share", "0.5", 470.937),
        ("cached_share", "0.8", 536.256),
        ("price_factor", Fraction(15, 9), 234.880),
        ("output_share", "0.5", 260.978),
        ("output_share", Fraction(1, 9), 542.031),
        ("price_factor", "1", 391.467),
    ],
)
def test_one_input_moves_the_break_even_of_eight_b300(name: Input, value: str | Fraction, expected: float) -> None:
    assert day(ON_FLATKEY, name, value) == expected


def test_the_bars_stand_by_how_far_they_reach() -> None:
    ranges: dict[Input, Range] = {
        "cached_share": Range(ZERO, Fraction("0.5"), Fraction("0.8")),
        "output_share": Range(Fraction(1, 9), Fraction(1, 4), Fraction(1, 2)),
        "price_factor": Range(ONE, ONE, Fraction(15, 9)),
        "usd_per_gpu_hour": Range(Fraction("3.48"), Fraction("7.34"), Fraction("14.04")),
    }

    bars = tornado(ON_FLATKEY, ranges)

    assert [bar.name for bar in bars] == ["usd_per_gpu_hour", "output_share", "price_factor", "cached_share"]
    assert [round(millions_a_day(bar.spread), 1) for bar in bars] == [563.2, 281.1, 156.6, 144.8]
    assert bars[0].low == Fraction("3.48")
    assert bars[0].high == Fraction("14.04")


def test_inputs_without_effect_have_no_bar() -> None:
    ranges: dict[Input, Range] = {
        "peak_to_mean": Range(ONE, Fraction(2), Fraction(4)),
        "decode_tps": Range(Fraction(1000), Fraction(2000), Fraction(5000)),
        "staff_usd_per_month": Range(ZERO, ZERO, Fraction(100)),
        "price_factor": Range(ONE, ONE, ONE),
    }

    assert [bar.name for bar in tornado(ON_FLATKEY, ranges)] == ["staff_usd_per_month"]


def test_an_end_without_break_even_stands_first_and_is_told() -> None:
    carried = CARRIED
    ranges: dict[Input, Range] = {
        "usd_per_gpu_hour": Range(ONE, Fraction("7.34"), Fraction("7.50")),
        "peak_to_mean": Range(ONE, Fraction(1), Fraction(2)),
        "decode_tps": Range(Fraction(500), Fraction(500), Fraction(600)),
    }

    both, one, none = tornado(carried, ranges)

    assert (both.name, both.tokens_at_low, both.tokens_at_high) == ("decode_tps", None, None)
    assert (one.name, one.tokens_at_high, one.spread) == ("peak_to_mean", None, None)
    assert one.tokens_at_low == needed(carried)
    assert none.spread is not None


def test_a_bar_is_there_where_only_one_end_has_a_break_even() -> None:
    crowded = with_input(CARRIED, "peak_to_mean", Fraction(3))

    (bar,) = tornado(crowded, {"peak_to_mean": Range(ONE, Fraction(3), Fraction(5))})

    assert needed(crowded) is None
    assert bar.tokens_at_low is not None
    assert bar.tokens_at_high is None


def test_rent_keeps_its_taxes_and_leaves_other_costs_alone() -> None:
    taxed = replace(
        ON_FLATKEY,
        owned=Owned((Cost("rent", Fraction(60_000)), Cost("energy", Fraction(900), "house")), 8, Fraction(10)),
    )

    cheaper = with_input(taxed, "usd_per_gpu_hour", Fraction(5))

    assert cheaper.owned.monthly(1) == 30_900
    assert cheaper.owned.usd_per_gpu_hour == 5


def test_what_is_not_rented_by_the_hour_has_no_rent_to_change() -> None:
    bought = replace(ON_FLATKEY, owned=Owned((Cost("capital", Fraction(53_000)),), 64))

    assert with_input(bought, "usd_per_gpu_hour", ONE) == bought
    assert with_input(bought, "decode_tps", ONE) == bought


def test_a_rent_of_nothing_becomes_one() -> None:
    given_away = replace(ON_FLATKEY, owned=Owned((), 8, ZERO))

    assert with_input(given_away, "usd_per_gpu_hour", Fraction("7.34")).owned == ON_FLATKEY.owned


def test_staff_is_what_is_said_however_it_was_paid_before() -> None:
    staffed = asked(rented(8, "7.34", Cost("staff", Fraction(7_500)), Cost("staff", Fraction(500), "house")))

    assert with_input(staffed, "staff_usd_per_month", Fraction(7_500)).owned.monthly(1) == Fraction("50365.60")


@pytest.mark.parametrize("share", [ZERO, Fraction(1, 3), ONE])
def test_shares_that_change_keep_the_proportions_of_the_others(share: Fraction) -> None:
    writing = Mix(Fraction("0.4"), Fraction("0.25"), Fraction("0.2"), Fraction("0.1"), Fraction("0.05"))
    scenario = replace(ON_FLATKEY, traffic=Traffic(writing))

    cached = with_input(scenario, "cached_share", share).traffic.mix
    output = with_input(scenario, "output_share", share).traffic.mix

    assert cached.cached == share * Fraction("0.75")
    assert (cached.output, cached.prompt) == (Fraction("0.25"), Fraction("0.75"))
    assert cached.fresh == 4 * cached.cache_write_5m == 8 * cached.cache_write_1h
    assert (output.output, output.prompt) == (share, 1 - share)
    assert output.fresh == 2 * output.cached == 8 * output.cache_write_1h


def test_a_mix_without_input_reads_fresh_when_it_reads() -> None:
    only_written = replace(ON_FLATKEY, traffic=Traffic(Mix(ZERO, ONE)))

    assert with_input(only_written, "output_share", Fraction(1, 4)).traffic.mix == THREE_TO_ONE


def test_input_that_a_cache_held_wholly_becomes_fresh_where_it_does_not() -> None:
    all_cached = asked(mix=Mix.of(Fraction(3), Fraction(1), ONE))

    assert with_input(all_cached, "cached_share", ZERO).traffic.mix == THREE_TO_ONE
    half: dict[Input, Range] = {"cached_share": Range(Fraction(1, 2), Fraction(1, 2), Fraction(1, 2))}
    assert millions_a_day(Fraction(monte_carlo(all_cached, half, draws=1).p50 or 0)) == pytest.approx(470.937, abs=5e-4)


def test_a_host_that_is_free_beyond_a_volume_never_bills_what_machines_cost() -> None:
    free_beyond = VolumeTier(of_day(390), ZERO)
    hosted = [replace(FLATKEY, tiers=(free_beyond,)), replace(FLATKEY, tiers=(replace(free_beyond, factor=ONE),))]

    never, once = (monte_carlo(asked(hosted=host), {}, draws=1) for host in hosted)

    assert (never.p50, never.never) == (None, 1)
    assert millions_a_day(Fraction(once.p50 or 0)) == pytest.approx(391.467, abs=5e-4)


def test_another_peak_forgets_the_hours_that_were_seen() -> None:
    seen = replace(ON_FLATKEY, traffic=Traffic(THREE_TO_ONE, peak_to_mean=Fraction(2), shape=(ZERO, Fraction(2))))

    changed = with_input(seen, "peak_to_mean", Fraction(3)).traffic

    assert changed.peak_to_mean == 3
    assert not changed.shape


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("output_share", Fraction(2), "share from 0 to 1"),
        ("cached_share", Fraction(-1), "share from 0 to 1"),
        ("peak_to_mean", Fraction(1, 2), "1 or more"),
        ("decode_tps", ZERO, "more than 0"),
        ("usd_per_gpu_hour", Fraction(-1), "not below 0"),
    ],
)
def test_what_an_input_cannot_be_is_refused(name: Input, value: Fraction, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        with_input(ON_FLATKEY, name, value)


def test_a_range_that_is_not_in_order_is_refused() -> None:
    wrong: dict[Input, Range] = {"price_factor": Range(ONE, Fraction(1, 2), ONE)}

    for refusing in (tornado, monte_carlo):
        with pytest.raises(ValueError, match="price_factor is not in order"):
            refusing(ON_FLATKEY, wrong)


def test_no_draws_say_nothing() -> None:
    with pytest.raises(ValueError, match="at least one draw"):
        monte_carlo(ON_FLATKEY, EXAMPLE, draws=0)


def test_the_band_of_the_example() -> None:
    band = monte_carlo(ON_MOONSHOT, EXAMPLE)

    days = [millions_a_day(Fraction(tokens or 0)) for tokens in (band.p5, band.p50, band.p95)]
    assert days == pytest.approx([227.79, 400.59, 700.51], rel=0.0005)
    assert (band.never, band.probability, band.draws) == (0, None, 20_000)


def test_draws_come_in_the_order_of_the_inputs_whatever_the_order_of_the_ranges() -> None:
    backwards = dict(reversed(EXAMPLE.items()))

    assert monte_carlo(ON_MOONSHOT, backwards, draws=100) == monte_carlo(ON_MOONSHOT, EXAMPLE, draws=100)


def test_another_seed_draws_others() -> None:
    assert monte_carlo(ON_MOONSHOT, EXAMPLE, draws=100, seed=1) != monte_carlo(ON_MOONSHOT, EXAMPLE, draws=100)


def test_draws_of_a_volume_are_cheaper_as_often_as_it_lies_above_the_break_even() -> None:
    median = monte_carlo(ON_MOONSHOT, EXAMPLE).p50

    assert median is not None
    assert monte_carlo(growing(ON_MOONSHOT, Fraction(median)), EXAMPLE).probability == pytest.approx(0.5, abs=1e-3)


def test_draws_that_are_full_before_they_are_paid_never_break_even() -> None:
    crowded = CARRIED
    ranges: dict[Input, Range] = {"peak_to_mean": Range(ONE, Fraction(2), Fraction(3))}

    band = monte_carlo(crowded, ranges)

    # Up to a peak of 1.974 the load is carried; below the mode a triangle has (x - low)² / (3 - 1) / (2 - 1) of itself.
    assert band.never == pytest.approx(1 - (1.974 - 1) ** 2 / 2, abs=0.01)
    assert band.p5 is not None
    assert (band.p50, band.p95) == (None, None)


@pytest.mark.parametrize(("millions", "expected"), [(300, 0), (420, 0.8), (500, 0.2), (850, 0.8)])
def test_a_second_machine_that_is_not_yet_paid_counts_at_todays_volume(millions: int, expected: float) -> None:
    """391 million a day pay for one machine and 470 to 480 fill it; two are paid from 783 on."""
    flat = growing(CARRIED, of_day(millions), peak=Fraction("1.6"))
    ranges: dict[Input, Range] = {"price_factor": Range(Fraction("0.9"), ONE, Fraction("1.1"))}

    band = monte_carlo(flat, ranges, draws=500)

    assert band.probability is not None
    assert band.probability >= expected if expected > 0.5 else band.probability <= expected


def test_a_machine_that_cannot_hold_the_model_never_pays() -> None:
    too_small = growing(replace(CARRIED, holds=False), of_day(10_000))

    band = monte_carlo(too_small, EXAMPLE, draws=10)

    assert (band.p50, band.never, band.probability) == (None, 1, 0)


def test_inputs_without_a_range_take_no_draw() -> None:
    one: dict[Input, Range] = {"staff_usd_per_month": EXAMPLE["staff_usd_per_month"]}

    band = monte_carlo(ON_FLATKEY, one, draws=1)

    drawn = Random(SEED).triangular(0, 20_000, 7_500)
    assert band.p50 == pytest.approx((42_865.60 + drawn) / 3.60 * 1_000_000, rel=1e-12)


money = st.integers(0, 2_000_000).map(lambda cents: Fraction(cents, 100))
shares = st.integers(0, 100).map(lambda percent: Fraction(percent, 100))
prices = st.integers(0, 2_000).map(lambda cents: Fraction(cents, 100))
rates = st.integers(1, 50_000).map(Fraction)
costs = st.lists(
    st.builds(
        Cost, st.sampled_from(["rent", "energy", "staff", "capital"]), money, st.sampled_from(["machine", "house"])
    ),
    max_size=4,
)


@st.composite
def mixes(draw: st.DrawFn) -> Mix:
    parts = [draw(st.integers(0, 100)) for _ in range(5)]
    whole = sum(parts) or 1
    fresh, output, cached, short, long = (Fraction(part, whole) for part in parts)
    return Mix(fresh if sum(parts) else ONE, output, cached, short, long)


@st.composite
def hosts(draw: st.DrawFn) -> Hosted:
    volumes = sorted(draw(st.sets(st.integers(1, 40_000), max_size=3)))
    return Hosted(
        LanePrice(*(draw(prices) for _ in range(5))),
        tiers=tuple(VolumeTier(Fraction(volume) * 10**6, draw(shares)) for volume in volumes),
        retry_overhead=draw(st.sampled_from([ZERO, Fraction("0.03")])),
        privacy_premium=draw(st.sampled_from([ZERO, Fraction("0.25")])),
        minimum_usd=draw(st.just(ZERO) | money),
    )


scenarios = st.builds(
    Scenario,
    traffic=st.builds(
        Traffic,
        mixes(),
        tokens_per_month=st.integers(0, 10**11).map(Fraction),
        peak_to_mean=st.integers(10, 40).map(lambda tenths: Fraction(tenths, 10)),
    ),
    hosted=hosts(),
    owned=st.builds(
        Owned,
        costs=costs.map(tuple),
        gpus=st.sampled_from([1, 8, 64]),
        usd_per_gpu_hour=st.none() | prices,
        least_replicas=st.integers(1, 3),
        spares=st.integers(0, 2),
    ),
    capacity=st.none() | st.builds(Capacity, rates, rates, st.none() | rates, st.sampled_from([Fraction(3, 4), ONE])),
    holds=st.sampled_from([None, True, False]),
)
fixed = st.fixed_dictionaries(
    {},
    optional={
        "usd_per_gpu_hour": prices,
        "price_factor": shares,
        "output_share": shares,
        "cached_share": shares,
        "staff_usd_per_month": money,
        "peak_to_mean": st.integers(10, 40).map(lambda tenths: Fraction(tenths, 10)),
        "decode_tps": rates,
    },
)


@given(scenarios, fixed)
def test_a_draw_says_what_the_exact_answer_says(scenario: Scenario, values: dict[Input, Fraction]) -> None:
    changed = scenario
    for name in INPUTS:
        if name in values:
            changed = with_input(changed, name, values[name])

    band = monte_carlo(scenario, {name: Range(value, value, value) for name, value in values.items()}, draws=1)

    exact = needed(changed)
    assert band.p50 == (None if exact is None else pytest.approx(float(exact), rel=1e-9, abs=1e-6))
    assert band.never == (exact is None)
    assert changed.traffic.tokens_per_month is not None
    assert band.probability == is_cheaper(changed, changed.traffic.tokens_per_month)


@given(scenarios, fixed)
def test_shares_of_a_changed_mix_are_one(scenario: Scenario, values: dict[Input, Fraction]) -> None:
    for name, value in values.items():
        mix = with_input(scenario, name, value).traffic.mix
        assert mix.prompt + mix.output == 1
        assert min(mix.fresh, mix.output, mix.cached, mix.cache_write_5m, mix.cache_write_1h) >= 0
