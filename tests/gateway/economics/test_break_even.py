"""The volume from which owning is cheaper: exact, a staircase, and never beyond what the machines carry."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from gateway.economics.break_even import (
    MOST_INTERVALS,
    Tokens,
    blended,
    break_even,
    hosted_usd,
    implied_premium,
    is_cheaper,
    load,
    most_tokens,
    owned_usd,
    replicas_at,
    replicas_for,
    usd_per_million,
)
from gateway.economics.scenario import (
    DAYS_A_MONTH,
    HOURS_A_MONTH,
    MILLION,
    SECONDS_A_MONTH,
    Capacity,
    Cost,
    Hosted,
    LanePrice,
    Mix,
    Owned,
    Traffic,
    VolumeTier,
)
from tests.gateway.economics.k3 import (
    B200,
    B300,
    DSPARK,
    DSPARK_16,
    EIGHT_TO_ONE,
    FLATKEY,
    MOONSHOT,
    NO_DRAFTS,
    PRO,
    THREE_TO_ONE,
    asked,
    host,
    millions,
    millions_a_day,
    rented,
    seen,
)

AGENT = Mix(*(Fraction(tokens, 2_297_545) for tokens in (47_993, 45_392, 2_204_160)))
"""One task of a coding agent: 47,993 tokens read anew, 2,204,160 from a cache, 45,392 written."""
TASK = Fraction(2_297_545)
ZERO = Fraction(0)


def of_ratio(prompt: int, output: int, cached: str = "0") -> Mix:
    return Mix.of(Fraction(prompt), Fraction(output), Fraction(cached))


def cents(usd: Fraction) -> float:
    return round(float(usd), 2)


# Arithmetic alone: what is rented against what is charged.


@pytest.mark.parametrize(
    ("owned", "hourly", "monthly", "flatkey", "moonshot"),
    [
        (B200, "59.92", "43741.60", 399.467, 239.680),
        (B300, "58.72", "42865.60", 391.467, 234.880),
        (rented(16, "7.49"), "119.84", "87483.20", 798.933, 479.360),
        (rented(16, "3.60"), "57.60", "42048.00", 384.000, 230.400),
        (rented(32, "2.48"), "79.36", "57932.80", 529.067, 317.440),
    ],
    ids=["8xB200", "8xB300", "16xB200", "16xH200", "32xH100"],
)
def test_rented_machines_break_even_where_the_host_charges_as_much(
    owned: Owned, hourly: str, monthly: str, flatkey: float, moonshot: float
) -> None:
    cheap, dear = break_even(asked(owned, FLATKEY)), break_even(asked(owned, MOONSHOT))

    assert (cheap.hourly_usd, cheap.monthly_usd) == (Fraction(hourly), Fraction(monthly))
    assert millions_a_day(cheap.tokens_per_month) == pytest.approx(flatkey, abs=0.0005)
    assert millions_a_day(dear.tokens_per_month) == pytest.approx(moonshot, abs=0.0005)
    assert cheap.valid
    assert cheap.why == "arithmetic"


@pytest.mark.parametrize(
    ("hosted", "per_million", "a_month", "a_day"),
    [(FLATKEY, 3.60, 12150.444, 399.467), (MOONSHOT, 6.00, 7290.267, 239.680), (PRO, 4.00, 10935.400, 359.520)],
    ids=["flatkey", "moonshot", "k3.1-pro"],
)
def test_each_host_has_its_own_break_even(hosted: Hosted, per_million: float, a_month: float, a_day: float) -> None:
    answer = break_even(asked(B200, hosted))

    assert float(answer.hosted_per_million_usd) == per_million
    assert millions(answer.tokens_per_month) == pytest.approx(a_month, abs=0.0005)
    assert millions_a_day(answer.tokens_per_month) == pytest.approx(a_day, abs=0.0005)


def test_a_volume_is_also_so_many_tokens_a_second() -> None:
    tokens = break_even(asked(B200)).tokens_per_month
    dearer = break_even(asked(B200, MOONSHOT)).tokens_per_month
    assert tokens is not None
    assert dearer is not None

    assert millions(tokens / HOURS_A_MONTH * 24) == pytest.approx(399.467, abs=0.0005)
    assert millions(tokens / 30) == pytest.approx(405.015, abs=0.0005)
    assert cents(tokens / SECONDS_A_MONTH) == 4623.46
    assert cents(tokens * THREE_TO_ONE.fresh / SECONDS_A_MONTH) == 3467.59
    assert cents(tokens * THREE_TO_ONE.output / SECONDS_A_MONTH) == pytest.approx(1155.86, abs=0.011)
    assert round(float(dearer / SECONDS_A_MONTH), 1) == 2774.1


@pytest.mark.parametrize(
    ("cached", "flatkey", "moonshot", "cheap_month", "dear_month", "cheap_day", "dear_day"),
    [
        ("0.5", 2.9925, 4.9875, 14617.076, 8770.246, 480.561, 288.337),
        ("0.8", 2.628, 4.380, 16644.444, 9986.667, 547.215, 328.329),
    ],
)
def test_what_a_cache_holds_moves_the_break_even_away(
    cached: str,
    flatkey: float,
    moonshot: float,
    cheap_month: float,
    dear_month: float,
    cheap_day: float,
    dear_day: float,
) -> None:
    mix = of_ratio(3, 1, cached)
    cheap, dear = break_even(asked(B200, FLATKEY, mix)), break_even(asked(B200, MOONSHOT, mix))

    assert (float(cheap.hosted_per_million_usd), float(dear.hosted_per_million_usd)) == (flatkey, moonshot)
    assert millions(cheap.tokens_per_month) == pytest.approx(cheap_month, abs=0.5)
    assert millions(dear.tokens_per_month) == pytest.approx(dear_month, abs=0.5)
    assert millions_a_day(cheap.tokens_per_month) == pytest.approx(cheap_day, abs=0.0005)
    assert millions_a_day(dear.tokens_per_month) == pytest.approx(dear_day, abs=0.0005)


@pytest.mark.parametrize(
    ("prompt", "output", "flatkey", "moonshot"),
    [(3, 1, 3.60, 6.0), (8, 1, 2.60, 4.3333), (1, 1, 5.40, 9.0), (1, 3, 7.20, 12.0)],
)
def test_a_million_tokens_cost_what_their_lanes_cost(prompt: int, output: int, flatkey: float, moonshot: float) -> None:
    mix = of_ratio(prompt, output)

    assert float(blended(FLATKEY, mix)) == flatkey
    assert float(blended(MOONSHOT, mix)) == pytest.approx(moonshot, abs=0.00005)


def test_what_is_written_to_a_cache_is_charged_by_how_long_it_is_kept() -> None:
    price = LanePrice(
        Fraction(2), Fraction(10), Fraction("0.20"), cache_write_5m=Fraction(4), cache_write_1h=Fraction(8)
    )
    mix = Mix(*(Fraction(part, 10) for part in (1, 2, 4, 2, 1)))

    assert blended(Hosted(price), mix) == Fraction("0.2") + 2 + Fraction("0.08") + Fraction("0.8") + Fraction("0.8")


@pytest.mark.parametrize(
    ("an_hour", "a_month", "flatkey", "moonshot"), [(30, 21_900, 200.0, 120.0), (50, 36_500, 333.3, 200.0)]
)
def test_a_range_of_rents_is_a_range_of_break_evens(
    an_hour: int, a_month: int, flatkey: float, moonshot: float
) -> None:
    owned = rented(8, str(Fraction(an_hour, 8)))
    cheap, dear = break_even(asked(owned, FLATKEY)), break_even(asked(owned, MOONSHOT))

    assert cheap.monthly_usd == a_month
    assert millions_a_day(cheap.tokens_per_month) == pytest.approx(flatkey, abs=0.05)
    assert millions_a_day(dear.tokens_per_month) == pytest.approx(moonshot, abs=0.05)


def test_staff_is_paid_beside_the_machines() -> None:
    staff = Cost("staff", Fraction("0.5") * 15_000, scope="house")
    owned = rented(8, "7.34", staff, Cost("extra", Fraction(500), scope="house"))

    cheap, dear = break_even(asked(owned, FLATKEY)), break_even(asked(owned, MOONSHOT))

    assert cheap.monthly_usd == Fraction("50865.60")
    assert cheap.hourly_usd == Fraction("58.72")
    assert millions_a_day(cheap.tokens_per_month) == pytest.approx(464.526, abs=0.0005)
    assert millions_a_day(dear.tokens_per_month) == pytest.approx(278.716, abs=0.0005)


def test_what_is_bought_has_an_hour_of_all_that_its_month_costs() -> None:
    owned = Owned((Cost("capital", Fraction(730)), Cost("staff", Fraction(1460), scope="house")), gpus=1)

    assert break_even(asked(owned)).hourly_usd == 3


def test_an_agents_task_costs_by_its_lanes() -> None:
    hours = Fraction("462.6") / 3600

    assert float(hosted_usd(MOONSHOT, AGENT, TASK)) == pytest.approx(1.486107, abs=5e-7)
    assert float(hosted_usd(FLATKEY, AGENT, TASK)) == pytest.approx(0.891664, abs=5e-7)
    assert float(blended(MOONSHOT, AGENT)) == pytest.approx(0.646824, abs=5e-7)
    assert float(blended(FLATKEY, AGENT)) == pytest.approx(0.388094, abs=5e-7)
    assert float(AGENT.cached / AGENT.prompt) == pytest.approx(0.97869, abs=5e-6)
    assert float(break_even(asked(B300)).hourly_usd * hours) == pytest.approx(7.5455, abs=5e-5)
    assert float(break_even(asked(rented(8, "14.04"))).hourly_usd * hours) == pytest.approx(14.4331, abs=5e-5)


def test_an_agents_traffic_breaks_even_nine_times_as_far_away() -> None:
    cheap, dear = break_even(asked(B300, FLATKEY, AGENT)), break_even(asked(B300, MOONSHOT, AGENT))

    assert millions_a_day(cheap.tokens_per_month) == pytest.approx(3631.282, abs=0.0005)
    assert millions_a_day(dear.tokens_per_month) == pytest.approx(2178.769, abs=0.0005)
    assert millions_a_day(cheap.tokens_per_month) / 391.467 == pytest.approx(9.3, abs=0.05)


def test_another_currency_changes_amounts_and_no_volume() -> None:
    rate = Fraction("5.50")
    in_reais = break_even(asked(rented(8, str(Fraction("7.49") * rate)), host("9.90", "0.99", "49.50")))

    assert in_reais.monthly_usd == Fraction("240578.80")
    assert in_reais.hosted_per_million_usd == Fraction("19.80")
    assert in_reais.tokens_per_month == break_even(asked(B200)).tokens_per_month


def test_ninety_tokens_in_and_ten_out_cost_what_another_gateway_says() -> None:
    assert hosted_usd(MOONSHOT, of_ratio(90, 10), Fraction(100)) == Fraction("0.00042")


def test_a_fleet_that_published_its_figures_costs_what_it_said() -> None:
    fleet = break_even(asked(rented(1814, "2")))

    assert fleet.hourly_usd * 24 == 87_072
    assert float(562_027 / (fleet.hourly_usd * 24) - 1) == pytest.approx(5.455, abs=0.0005)


# Capacity: machines are full before they are paid, or not.


@pytest.mark.parametrize(
    ("capacity", "average", "peak", "replicas"), [(DSPARK, 0.3878, 0.9694, 2), (NO_DRAFTS, 0.6655, 1.6637, 3)]
)
def test_busy_hours_decide_how_many_replicas_a_volume_takes(
    capacity: Capacity, average: float, peak: float, replicas: int
) -> None:
    tokens = break_even(asked(B200)).tokens_per_month
    assert tokens is not None

    mean = load(capacity, THREE_TO_ONE, tokens)

    assert float(mean) == pytest.approx(average, abs=5e-5)
    assert float(mean * Fraction("2.5")) == pytest.approx(peak, abs=5e-5)
    assert replicas_for(capacity, THREE_TO_ONE, Fraction("2.5"), tokens) == replicas


def test_what_was_published_of_an_engine_is_its_rate_of_writing() -> None:
    assert float(seen(15_896).decode_tps) == pytest.approx(5075.1, abs=0.05)
    assert float(NO_DRAFTS.decode_tps) == pytest.approx(2287, abs=0.5)
    assert float(DSPARK_16.decode_tps) == pytest.approx(2067, abs=0.5)


def test_machines_that_are_full_before_they_are_paid_never_pay() -> None:
    answer = break_even(asked(B300, FLATKEY, capacity=DSPARK, peak_to_mean="2.5"))
    first = answer.steps[0]

    assert millions(first.most_tokens) == pytest.approx(9400.6, abs=0.05)
    assert first.most_tokens is not None
    assert float(hosted_usd(FLATKEY, THREE_TO_ONE, first.most_tokens)) == pytest.approx(33_842, abs=0.5)
    assert not first.is_valid
    assert (answer.valid, answer.why, answer.intervals) == (False, "never", ())
    assert millions(answer.tokens_per_month) == pytest.approx(11907.111, abs=0.0005)


def test_a_dearer_host_is_beaten_before_the_machines_are_full() -> None:
    answer = break_even(asked(B300, MOONSHOT, capacity=DSPARK, peak_to_mean="2.5"))
    most = answer.steps[0].most_tokens
    assert most is not None

    assert float(hosted_usd(MOONSHOT, THREE_TO_ONE, most)) == pytest.approx(56_404, abs=0.5)
    assert millions(answer.tokens_per_month) == pytest.approx(7144.267, abs=0.0005)
    assert (answer.valid, answer.why) == (True, "cheaper")


@pytest.mark.parametrize(
    ("capacity", "flatkey", "moonshot"), [(DSPARK, 1.974, 3.290), (NO_DRAFTS, 1.150, 1.917)], ids=["drafts", "none"]
)
@pytest.mark.parametrize("peak_to_mean", ["1", "2", "2.5"])
def test_peaks_up_to_a_limit_are_carried_at_the_break_even(
    capacity: Capacity, flatkey: float, moonshot: float, peak_to_mean: str
) -> None:
    cheap = break_even(asked(B300, FLATKEY, capacity=capacity, peak_to_mean=peak_to_mean))
    dear = break_even(asked(B300, MOONSHOT, capacity=capacity, peak_to_mean=peak_to_mean))

    assert cheap.peak_to_mean_max is not None
    assert dear.peak_to_mean_max is not None
    assert float(cheap.peak_to_mean_max) == pytest.approx(flatkey, abs=0.0005)
    assert float(dear.peak_to_mean_max) == pytest.approx(moonshot, abs=0.0005)
    assert cheap.valid is (Fraction(peak_to_mean) <= cheap.peak_to_mean_max)


def test_one_rate_for_all_tokens_is_a_capacity_too() -> None:
    assert most_tokens(Capacity(Fraction(6525), Fraction(6525)), EIGHT_TO_ONE, Fraction(1), 2) == (
        2 * Fraction(3, 4) * 6525 * SECONDS_A_MONTH
    )


@pytest.mark.parametrize(
    ("capacity", "usd", "percent"),
    [
        (DSPARK, 1.0261, 39.5),
        (NO_DRAFTS, 1.4616, 56.2),
        (DSPARK_16, 1.5458, 59.5),
        (Capacity(Fraction(6525), Fraction(6525)), 2.4998, 96.1),
        (Capacity(Fraction(2808), Fraction(2808)), 5.8088, 223.4),
    ],
    ids=["64-drafts", "64", "16-drafts", "vllm-16", "1"],
)
def test_a_million_tokens_on_a_full_machine_cost_by_its_engine(capacity: Capacity, usd: float, percent: float) -> None:
    full = usd_per_million(B300.monthly(1), capacity, EIGHT_TO_ONE, Fraction(1))

    assert float(full) == pytest.approx(usd, abs=5e-5)
    assert float(full / blended(FLATKEY, EIGHT_TO_ONE) * 100) == pytest.approx(percent, abs=0.06)


def test_a_half_empty_machine_doubles_the_price_and_written_tokens_bear_all_of_it() -> None:
    full = usd_per_million(B300.monthly(1), DSPARK, EIGHT_TO_ONE, Fraction(1))

    assert usd_per_million(B300.monthly(1), DSPARK, EIGHT_TO_ONE, Fraction(1, 2)) == 2 * full
    assert usd_per_million(B300.monthly(1), DSPARK, EIGHT_TO_ONE, Fraction(1), of="output") == 9 * full


@pytest.mark.parametrize(
    ("mix", "utilisation", "of"),
    [
        (EIGHT_TO_ONE, Fraction(0), "total"),
        (Mix(fresh=Fraction(1), output=Fraction(0)), Fraction(1), "output"),
        (Mix(fresh=Fraction(0), output=Fraction(0), cached=Fraction(1)), Fraction(1), "total"),
    ],
    ids=["idle", "nothing-written", "nothing-computed"],
)
def test_a_cost_of_no_tokens_is_refused(mix: Mix, utilisation: Fraction, of: Tokens) -> None:
    with pytest.raises(ValueError, match="takes tokens that are computed"):
        usd_per_million(Fraction(1), DSPARK, mix, utilisation, of)


def test_cached_tokens_take_time_only_where_somebody_states_how_much() -> None:
    mix = of_ratio(3, 1, "0.5")
    stated = replace(DSPARK, cached_tps=Fraction(100_000))

    extra = load(stated, mix, Fraction(MILLION)) - load(DSPARK, mix, Fraction(MILLION))

    assert extra == Fraction(375_000, 100_000 * SECONDS_A_MONTH)


def test_what_is_written_to_a_hosts_cache_is_computed_at_home() -> None:
    half = Fraction(1, 2)

    assert load(DSPARK, Mix(ZERO, half, cache_write_5m=half), Fraction(1)) == load(DSPARK, Mix(half, half), Fraction(1))
    assert load(DSPARK, Mix(ZERO, half, cache_write_1h=half), Fraction(1)) == load(DSPARK, Mix(half, half), Fraction(1))


def test_traffic_that_takes_no_time_is_carried_by_the_first_replica() -> None:
    cached = Mix(fresh=ZERO, output=ZERO, cached=Fraction(1))
    answer = break_even(asked(B300, FLATKEY, cached, DSPARK))

    assert most_tokens(DSPARK, cached, Fraction(1), 1) is None
    assert replicas_for(DSPARK, cached, Fraction(1), Fraction(10**15)) == 1
    assert (answer.valid, answer.why) == (True, "cheaper")
    assert answer.intervals[0].last is None


# A replica that cannot hold the model.


def test_arithmetic_alone_holds_for_machines_that_cannot_hold_the_model() -> None:
    answer = break_even(replace(asked(B200), holds=False))

    assert (answer.valid, answer.why) == (True, "arithmetic")
    assert millions(answer.tokens_per_month) == pytest.approx(12150.444, abs=0.0005)


def test_machines_that_cannot_hold_the_model_carry_nothing() -> None:
    answer = break_even(replace(asked(B200, MOONSHOT, capacity=DSPARK), holds=False))

    assert (answer.valid, answer.why, answer.intervals) == (False, "does_not_hold", ())
    assert answer.steps[0].most_tokens == 0
    assert answer.peak_to_mean_max is None
    assert not is_cheaper(replace(asked(B200, MOONSHOT, capacity=DSPARK), holds=False), Fraction(10**12))


# The staircase.


def test_gaps_open_where_a_further_replica_is_not_yet_paid_and_close_for_good() -> None:
    scenario = asked(B300, MOONSHOT, capacity=DSPARK, peak_to_mean="2.5")
    answer = break_even(scenario)

    assert [millions(each.first) for each in answer.intervals] == pytest.approx(
        [7144.267, 14288.533, 21432.800, 28577.067], abs=0.0005
    )
    assert answer.intervals[-1].last is None
    for before, after in pairwise(answer.intervals):
        assert before.last is not None
        assert is_cheaper(scenario, before.last)
        assert not is_cheaper(scenario, before.last + 1)
        assert not is_cheaper(scenario, after.first - 1)
        assert is_cheaper(scenario, after.first)


def test_costs_of_the_house_and_spare_machines_are_borne_by_many_replicas() -> None:
    house = Cost("staff", Fraction(40_000), scope="house")
    scenario = asked(rented(8, "7.34", house, spares=1), MOONSHOT, capacity=DSPARK, peak_to_mean="2.5")

    answer = break_even(scenario)
    paid = next(step for step in answer.steps if step.is_valid)

    assert paid.replicas == 7  # 82,865.60 are borne at 13,538.09 that a replica earns over its cost
    assert paid.machines == 8
    assert paid.usd_per_month == 8 * Fraction("42865.60") + 40_000
    assert answer.tokens_per_month == paid.needed_tokens == answer.intervals[0].first
    assert [step.replicas for step in answer.steps] == [1, 2, 3, 6, 7, 8, 9]
    assert [step.is_valid for step in answer.steps] == [False, False, False, False, True, True, True]


def test_owning_takes_one_replica_even_for_no_token() -> None:
    assert replicas_for(DSPARK, THREE_TO_ONE, Fraction(1), ZERO) == 1


def test_no_fewer_replicas_are_paid_than_the_owner_keeps() -> None:
    scenario = asked(rented(8, "7.34", least_replicas=3, spares=1), MOONSHOT, capacity=DSPARK)

    assert replicas_at(scenario, Fraction(1)) == 3
    assert owned_usd(scenario, Fraction(1)) == 4 * Fraction("42865.60")
    assert break_even(scenario).monthly_usd == 4 * Fraction("42865.60")
    assert break_even(scenario).hourly_usd == 4 * Fraction("58.72")
    assert owned_usd(replace(scenario, capacity=None), Fraction(10**15)) == 4 * Fraction("42865.60")


def test_replicas_that_earn_just_what_they_cost_pay_when_they_are_full_and_at_no_other_volume() -> None:
    capacity = Capacity(Fraction(1000), Fraction(1000), utilisation=Fraction(1))
    most = Fraction(1000 * SECONDS_A_MONTH)
    owned = Owned((Cost("rent", hosted_usd(FLATKEY, THREE_TO_ONE, most)),), gpus=8)

    answer = break_even(asked(owned, FLATKEY, capacity=capacity))

    assert [(each.first, each.last) for each in answer.intervals[:3]] == [
        (most * replicas, most * replicas) for replicas in (1, 2, 3)
    ]
    assert answer.known_up_to == MOST_INTERVALS * most


def test_replicas_that_earn_hardly_more_than_they_cost_have_more_intervals_than_are_told() -> None:
    capacity = Capacity(Fraction(1000), Fraction(1000), utilisation=Fraction(1))
    most = 1000 * SECONDS_A_MONTH
    charged = Fraction(36, 10) * most / MILLION
    owned = Owned((Cost("rent", charged * Fraction(999, 1000)),), gpus=8)

    answer = break_even(asked(owned, FLATKEY, capacity=capacity))

    assert len(answer.intervals) == MOST_INTERVALS
    assert answer.known_up_to == answer.intervals[-1].last == MOST_INTERVALS * most


def test_intervals_begin_at_a_number_of_replicas_that_nobody_would_count_up_to() -> None:
    capacity = Capacity(Fraction(1000), Fraction(1000), utilisation=Fraction(1))
    charged = Fraction(36, 10) * 1000 * SECONDS_A_MONTH / MILLION
    house = Cost("staff", charged * 10**6, scope="house")
    owned = Owned((Cost("rent", charged * Fraction(1, 2)), house), gpus=8)

    answer = break_even(asked(owned, FLATKEY, capacity=capacity))

    assert next(step.replicas for step in answer.steps if step.is_valid) == 2 * 10**6
    assert answer.intervals[-1].last is None


# Hosts whose bill is not a straight line.


def tiered(*tiers: tuple[int, str], minimum: str = "0", premium: str = "0", retries: str = "0") -> Hosted:
    return replace(
        FLATKEY,
        tiers=tuple(VolumeTier(Fraction(above) * MILLION, Fraction(factor)) for above, factor in tiers),
        minimum_usd=Fraction(minimum),
        privacy_premium=Fraction(premium),
        retry_overhead=Fraction(retries),
    )


@pytest.mark.parametrize(
    ("hosted", "volume", "usd"),
    [
        (tiered((1000, "0.5")), 1000, "3600"),
        (tiered((1000, "0.5")), 2000, "5400"),
        (tiered((1000, "0.5"), (2000, "0.25")), 3000, "6300"),
        (tiered((0, "0.5")), 1000, "1800"),
        (tiered((1000, "0.5"), retries="0.25"), 800, "3600"),
        (tiered((1000, "0.5"), retries="0.25"), 1600, "5400"),
        (tiered(minimum="5000"), 1000, "5000"),
        (tiered(minimum="5000"), 2000, "7200"),
        (tiered(minimum="5000", premium="0.1"), 1000, "5360"),
        (tiered(premium="0.1"), 1000, "3960"),
    ],
)
def test_a_bill_has_tiers_retries_a_premium_and_a_least(hosted: Hosted, volume: int, usd: str) -> None:
    assert hosted_usd(hosted, THREE_TO_ONE, Fraction(volume) * MILLION) == Fraction(usd)


def test_a_million_tokens_are_told_with_retries_and_before_tiers_and_premium() -> None:
    assert blended(tiered((0, "0.5"), premium="0.1", retries="0.25"), THREE_TO_ONE) == Fraction("4.50")


def test_volume_discounts_move_the_break_even_away() -> None:
    answer = break_even(asked(B200, tiered((10_000, "0.5"))))

    assert answer.tokens_per_month is not None
    assert millions(answer.tokens_per_month) == pytest.approx(10_000 + (43_741.60 - 36_000) / 1.80, abs=0.0005)


def test_a_host_that_is_free_beyond_a_volume_is_never_beaten() -> None:
    answer = break_even(asked(B200, tiered((10_000, "0"))))

    assert (answer.valid, answer.why, answer.tokens_per_month) == (False, "never", None)
    assert answer.steps[0].needed_tokens is None
    assert not answer.steps[0].is_valid


def test_discounts_for_great_volumes_end_what_owning_saves() -> None:
    capacity = replace(DSPARK, utilisation=Fraction(1))
    scenario = asked(B300, replace(MOONSHOT, tiers=tiered((200_000, "0.1")).tiers), capacity=capacity)

    answer = break_even(scenario)
    last = answer.intervals[-1].last

    assert answer.known_up_to is None
    assert last is not None
    assert is_cheaper(scenario, last)
    assert not any(is_cheaper(scenario, last + each * MILLION) for each in range(1, 500_000, 997))


def test_a_least_bill_that_the_machines_undercut_is_beaten_at_any_volume() -> None:
    answer = break_even(asked(B300, tiered(minimum="50000"), capacity=DSPARK))

    assert answer.tokens_per_month == 0
    assert answer.intervals[0].first == 0
    assert answer.peak_to_mean_max is None


def test_a_least_bill_that_is_just_what_the_machines_cost_is_beaten_at_any_volume() -> None:
    answer = break_even(asked(B300, tiered(minimum="42865.60"), capacity=DSPARK))

    assert answer.tokens_per_month == 0
    assert is_cheaper(asked(B300, tiered(minimum="42865.60"), capacity=DSPARK), Fraction(0))


def test_a_least_bill_is_beaten_where_it_begins_to_matter() -> None:
    scenario = asked(B300, tiered(minimum="42000"), capacity=DSPARK)

    assert break_even(scenario).tokens_per_month == break_even(asked(B300, FLATKEY, capacity=DSPARK)).tokens_per_month


def test_what_a_private_token_would_have_to_be_worth_is_told() -> None:
    scenario = asked(B200)
    half = Fraction("43741.60") / Fraction("3.60") * MILLION / 2

    assert implied_premium(scenario, half) == 1
    assert implied_premium(scenario, half * 4) == 0
    assert implied_premium(scenario, ZERO) is None
    assert is_cheaper(replace(scenario, hosted=tiered(premium="1")), half)
    assert not is_cheaper(replace(scenario, hosted=tiered(premium="0.99")), half)


# What cannot be is refused.


def test_what_cannot_be_is_refused_with_its_reason() -> None:
    with pytest.raises(ValueError, match="peak_to_mean is 1 or more"):
        Traffic(THREE_TO_ONE, peak_to_mean=Fraction(1, 2))
    with pytest.raises(ValueError, match="forced_share"):
        Traffic(THREE_TO_ONE, forced_share=Fraction(2))
    with pytest.raises(ValueError, match="loads of hours"):
        Traffic(THREE_TO_ONE, shape=(ZERO, ZERO))
    with pytest.raises(ValueError, match="above 0 tokens a second"):
        Capacity(ZERO, Fraction(1))
    with pytest.raises(ValueError, match="utilisation"):
        Capacity(Fraction(1), Fraction(1), utilisation=Fraction(2))
    with pytest.raises(ValueError, match="volume tiers rise"):
        tiered((2000, "0.5"), (1000, "0.25"))
    with pytest.raises(ValueError, match="prices"):
        host("-1", "0", "1")
    with pytest.raises(ValueError, match="decline_per_year"):
        replace(FLATKEY, decline_per_year=Fraction(1))
    with pytest.raises(ValueError, match="what a machine costs"):
        Cost("rent", Fraction(-1))
    with pytest.raises(ValueError, match="1 replica or more"):
        Owned((), gpus=8, least_replicas=0)
    with pytest.raises(ValueError, match="a mix has tokens"):
        Mix.of(ZERO, ZERO)


def test_a_mix_is_whole() -> None:
    mix = of_ratio(3, 1, "0.5")

    assert (mix.fresh, mix.cached, mix.output) == (Fraction(3, 8), Fraction(3, 8), Fraction(1, 4))
    assert mix.prompt + mix.output == 1
    assert DAYS_A_MONTH * 24 == HOURS_A_MONTH
