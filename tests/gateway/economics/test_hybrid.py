"""Own machines for what is always there, a host for the busy hours: divided by the hour, at the least cost."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from gateway.economics.break_even import hosted_usd, owned_usd, replicas_at
from gateway.economics.hybrid import Hybrid, hybrid, overflow_share
from gateway.economics.scenario import (
    MILLION,
    SECONDS_A_MONTH,
    Capacity,
    Cost,
    Hosted,
    Mix,
    Owned,
    Scenario,
    Traffic,
    VolumeTier,
)
from tests.gateway.economics.k3 import B300, DSPARK, FLATKEY, MOONSHOT, asked

MIX = Mix.of(Fraction(1), Fraction(1))
A_THOUSAND = Capacity(Fraction(1000), Fraction(1000), utilisation=Fraction(1))
"""Tokens of any kind in each second of the month."""
CARRIED = Fraction(1000 * SECONDS_A_MONTH)
"""By one replica, if no hour is busier than another."""
CHARGED = CARRIED * Fraction("5.40") / MILLION
"""For them by the host."""
NIGHT_DAY_NOON = (Fraction(1, 2), Fraction(1), Fraction(3, 2))


def scenario(
    *,
    part: str = "0.5",
    peak_to_mean: str = "1.5",
    shape: tuple[Fraction, ...] = NIGHT_DAY_NOON,
    forced_share: str = "0",
    house_usd: Fraction = Fraction(0),
    spares: int = 0,
    hosted: Hosted = FLATKEY,
    least_replicas: int = 1,
) -> Scenario:
    """Replicas that cost a part of what the host charges for all that they carry."""
    costs = (Cost("rent", CHARGED * Fraction(part)), Cost("staff", house_usd, scope="house"))
    owned = Owned(costs, gpus=8, spares=spares, least_replicas=least_replicas)
    traffic = Traffic(MIX, peak_to_mean=Fraction(peak_to_mean), shape=shape, forced_share=Fraction(forced_share))
    return Scenario(traffic, hosted, owned, A_THOUSAND)


def best(of: Scenario, tokens: Fraction) -> Hybrid:
    found = hybrid(of, tokens)
    assert found is not None
    return found


def test_what_replicas_do_not_carry_hour_by_hour_goes_to_the_host() -> None:
    tokens = 2 * CARRIED  # 1,000, 2,000 and 3,000 a second

    shares = [overflow_share(scenario(), tokens, replicas) for replicas in range(4)]

    assert shares == [1, Fraction(1, 2), Fraction(1, 6), 0]


def test_the_best_number_of_machines_leaves_the_busiest_hours_to_the_host() -> None:
    found = best(scenario(), 2 * CARRIED)

    assert found.replicas == 2
    assert found.own_usd == CHARGED
    assert found.hosted_usd == 2 * CHARGED / 6
    assert found.overflow_share == Fraction(1, 6)
    assert found.all_hosted_usd == 2 * CHARGED
    assert found.all_own_usd == Fraction(3, 2) * CHARGED
    assert found.usd == Fraction(4, 3) * CHARGED


@pytest.mark.parametrize(
    ("part", "replicas"), [("0.3", 3), ("0.34", 2), ("0.6", 2), ("0.67", 1), ("0.99", 1), ("1.01", 0)]
)
def test_dearer_machines_are_fewer(part: str, replicas: int) -> None:
    assert best(scenario(part=part), 2 * CARRIED).replicas == replicas


def test_costs_of_the_house_are_saved_where_no_machine_is_owned() -> None:
    found = best(scenario(house_usd=CHARGED), 2 * CARRIED)

    assert found.replicas == found.own_usd == 0
    assert found.usd == 2 * CHARGED


def test_the_host_stands_in_for_spare_machines() -> None:
    found = best(scenario(spares=2), 2 * CARRIED)

    assert found.own_usd == CHARGED
    assert found.all_own_usd == Fraction(5, 2) * CHARGED


def test_an_owner_who_keeps_a_number_of_replicas_has_so_many_or_none() -> None:
    assert best(scenario(least_replicas=3), 2 * CARRIED).replicas == 3
    assert best(scenario(least_replicas=3, part="0.9"), 2 * CARRIED).replicas == 0


def test_what_privacy_keeps_in_the_house_is_carried_through_its_own_busiest_hour_with_spares() -> None:
    found = best(scenario(part="5", forced_share="0.5", spares=1), 2 * CARRIED)

    assert found.replicas == 2  # 1,500 a second at the peak
    assert found.own_usd == 3 * 5 * CHARGED
    assert found.overflow_share == Fraction(1, 6)
    assert found.all_hosted_usd is None


def test_where_all_is_forced_nothing_goes_to_the_host() -> None:
    found = best(scenario(part="5", forced_share="1"), 2 * CARRIED)

    assert found.replicas == 3
    assert found.overflow_share == found.hosted_usd == 0
    assert found.usd == found.all_own_usd


def test_loads_are_taken_relative_to_their_own_mean() -> None:
    doubled = tuple(2 * load for load in NIGHT_DAY_NOON)

    assert best(scenario(shape=doubled), 2 * CARRIED) == best(scenario(), 2 * CARRIED)


def test_loads_above_the_peak_that_is_planned_for_wait_as_they_do_where_all_is_owned() -> None:
    one_wild_hour = (Fraction(1),) * 99 + (Fraction(5),)
    planned = scenario(shape=one_wild_hour, peak_to_mean="1.2")
    tokens = Fraction(104, 100) * CARRIED

    assert replicas_at(planned, tokens) == 2
    assert overflow_share(planned, tokens, 2) == 0
    # 99 hours at 1,000 a second are carried, of the wild one 1,248 (1.2 times the mean) are looked at
    assert overflow_share(planned, tokens, 1) == Fraction(248, 104_000)


@pytest.mark.parametrize(
    ("peak_to_mean", "carried", "share"),
    [
        ("1", "0.25", "0.75"),
        ("2", "0.5", "0.5625"),
        ("2", "1", "0.25"),
        ("3", "0.75", "0.5"),
        ("3", "3", "0"),
        ("1.5", "1.4999999", "0"),
        ("1.0001", "0.5", "0.5"),
    ],
)
def test_without_hours_the_peak_alone_draws_the_curve(peak_to_mean: str, carried: str, share: str) -> None:
    tokens = CARRIED / Fraction(carried)

    found = overflow_share(scenario(shape=(), peak_to_mean=peak_to_mean), tokens, 1)

    assert float(found) == pytest.approx(float(share), abs=1e-9)


def test_the_curve_of_the_peak_is_the_one_of_hours_that_lie_on_it() -> None:
    peak, hours = 2.5, 20_000
    drawn = tuple(Fraction(peak * ((hour + 0.5) / hours) ** (peak - 1)) for hour in range(hours))
    tokens = 3 * CARRIED

    for replicas in (1, 2, 5, 7):
        by_hours = overflow_share(scenario(shape=drawn, peak_to_mean="2.5"), tokens, replicas)
        by_peak = overflow_share(scenario(shape=(), peak_to_mean="2.5"), tokens, replicas)
        assert float(by_hours) == pytest.approx(float(by_peak), abs=1e-6)


def test_no_contract_is_paid_for_where_no_token_goes_to_the_host() -> None:
    least_bill = replace(FLATKEY, minimum_usd=CHARGED)
    found = best(scenario(part="0.3", hosted=least_bill), 2 * CARRIED)

    assert found.replicas == 3
    assert found.hosted_usd == 0


def test_a_volume_of_nothing_costs_nothing() -> None:
    found = best(scenario(), Fraction(0))

    assert found.replicas == found.usd == found.overflow_share == 0


@pytest.mark.parametrize("peak_to_mean", ["1.2", "2", "4"])
def test_among_very_many_replicas_the_best_is_found(peak_to_mean: str) -> None:
    many = scenario(shape=(), peak_to_mean=peak_to_mean, house_usd=CHARGED)
    tokens = 900 * CARRIED

    found = best(many, tokens)

    def usd(replicas: int) -> Fraction:
        share = overflow_share(many, tokens, replicas)
        return many.owned.monthly(replicas) + hosted_usd(many.hosted, MIX, share * tokens)

    assert found.usd == min(usd(replicas) for replicas in range(1, replicas_at(many, tokens) + 1))


def test_volume_tiers_are_of_what_goes_to_the_host_alone() -> None:
    tiers = (VolumeTier(CARRIED, Fraction(1, 10)),)
    found = best(scenario(hosted=replace(FLATKEY, tiers=tiers)), 2 * CARRIED)

    assert found.all_hosted_usd == Fraction("1.1") * CHARGED
    assert found.usd == min(Fraction("1.1") * CHARGED, Fraction(4, 3) * CHARGED)
    assert found.replicas == 0


def test_owning_the_base_load_saves_where_owning_all_never_pays() -> None:
    busy = asked(B300, FLATKEY, capacity=DSPARK, peak_to_mean="2.5")
    tokens = Fraction(30_000) * MILLION

    found = best(busy, tokens)

    assert owned_usd(busy, tokens) > hosted_usd(FLATKEY, busy.traffic.mix, tokens)
    assert found.replicas >= 1
    assert found.usd < hosted_usd(FLATKEY, busy.traffic.mix, tokens)


def test_there_is_no_division_without_machines_that_are_known_to_carry_something() -> None:
    assert hybrid(asked(B300, MOONSHOT), Fraction(1)) is None
    assert hybrid(replace(scenario(), holds=False), Fraction(1)) is None
    with pytest.raises(ValueError, match="takes the capacity"):
        overflow_share(asked(B300, MOONSHOT), Fraction(1), 1)


def test_traffic_that_takes_no_time_never_overflows() -> None:
    cached = Mix(fresh=Fraction(0), output=Fraction(0), cached=Fraction(1))

    assert overflow_share(replace(scenario(), traffic=Traffic(cached)), Fraction(10**18), 1) == 0
