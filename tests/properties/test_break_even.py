"""Break-even for any prices, machines and loads: monotone, exact, within capacity, and never worse than its parts."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from gateway.economics.break_even import (
    MOST_INTERVALS,
    blended,
    break_even,
    hosted_usd,
    implied_premium,
    is_cheaper,
    load,
    most_tokens,
    owned_usd,
    replicas_at,
)
from gateway.economics.hybrid import hybrid, overflow_share
from gateway.economics.profiles import Point, Profile, Slo, at
from gateway.economics.scenario import (
    MILLION,
    Capacity,
    Cost,
    Hosted,
    LanePrice,
    Mix,
    Owned,
    Scenario,
    Traffic,
    VolumeTier,
)

_PARTS = 5040
"""What has many divisors, so that figures meet."""


def exact(low: str, high: str) -> st.SearchStrategy[Fraction]:
    """Fractions that people might write."""
    first, last = (round(Fraction(bound) * _PARTS) for bound in (low, high))
    return st.integers(first, last).map(lambda parts: Fraction(parts, _PARTS))


shares = exact("0", "1")
factors = exact("1", "4")
amounts = exact("0.05", "40")
mixes = st.builds(Mix.of, exact("0", "20"), exact("0.05", "5"), shares)
capacities = st.builds(
    Capacity,
    prefill_tps=exact("10", "40000"),
    decode_tps=exact("1", "9000"),
    cached_tps=st.none() | exact("100", "200000"),
    utilisation=exact("0.2", "1"),
)
shapes = st.just(()) | st.lists(exact("0.05", "6"), min_size=1, max_size=24).map(tuple)


@st.composite
def price_lists(draw: st.DrawFn) -> LanePrice:
    fresh = draw(amounts)
    return LanePrice(
        fresh=fresh,
        output=draw(amounts),
        cached=fresh * draw(shares),
        cache_write_5m=fresh,
        cache_write_1h=fresh * draw(factors),
    )


@st.composite
def scenarios(draw: st.DrawFn, *, capacity: bool = True, bends: bool = True) -> Scenario:
    """Where machines cost about what the host charges for all that they carry: there the answer is hard."""
    mix, carries, peak = draw(mixes), draw(capacities), draw(exact("1", "5"))
    hosted = Hosted(draw(price_lists()), retry_overhead=draw(exact("0", "0.2")))
    most = most_tokens(carries, mix, peak, 1)
    assert most is not None
    charged = hosted_usd(hosted, mix, most)
    owned = Owned(
        costs=(
            Cost("rent", charged * draw(exact("0", "1.5"))),
            Cost("energy", charged * draw(exact("0", "0.2"))),
            Cost("staff", charged * draw(exact("0", "5")), scope="house"),
        ),
        gpus=8,
        least_replicas=draw(st.integers(1, 3)),
        spares=draw(st.integers(0, 2)),
    )
    if bends:
        volumes = sorted(draw(st.lists(exact("0", "20"), max_size=3)))
        hosted = replace(
            hosted,
            tiers=tuple(VolumeTier(volume * most, draw(exact("0", "1.2"))) for volume in volumes),
            minimum_usd=charged * draw(exact("0", "3")),
            privacy_premium=draw(exact("0", "0.5")),
        )
    traffic = Traffic(mix, peak_to_mean=peak, shape=draw(shapes), forced_share=draw(st.just(Fraction(0)) | shares))
    return Scenario(traffic, hosted, owned, carries if capacity else None)


def of_one_replica(scenario: Scenario, part: Fraction) -> Fraction:
    """A volume, by the number of replicas that it takes."""
    assert scenario.capacity is not None
    most = most_tokens(scenario.capacity, scenario.traffic.mix, scenario.traffic.peak_to_mean, 1)
    assert most is not None
    return most * part


def dearer(scenario: Scenario, factor: Fraction) -> Scenario:
    """With a host that charges so many times as much by the token."""
    price = scenario.hosted.price
    lanes = {lane: getattr(price, lane) * factor for lane in LanePrice.__dataclass_fields__}
    return replace(scenario, hosted=replace(scenario.hosted, price=LanePrice(**lanes)))


def in_currency(scenario: Scenario, rate: Fraction) -> Scenario:
    """With every amount in units of which so many are a dollar."""
    priced = dearer(scenario, rate)
    owned = scenario.owned
    return replace(
        priced,
        hosted=replace(priced.hosted, minimum_usd=scenario.hosted.minimum_usd * rate),
        owned=replace(
            owned,
            costs=tuple(replace(cost, usd_per_month=cost.usd_per_month * rate) for cost in owned.costs),
            usd_per_gpu_hour=None if owned.usd_per_gpu_hour is None else owned.usd_per_gpu_hour * rate,
        ),
    )


@given(exact("0", "20"), exact("0.05", "5"), shares)
def test_the_shares_of_a_mix_are_the_whole(prompt: Fraction, output: Fraction, cached: Fraction) -> None:
    mix = Mix.of(prompt, output, cached)

    assert mix.prompt + mix.output == 1
    assert mix.cached == cached * mix.prompt


@given(scenarios(bends=False), factors)
def test_a_dearer_host_is_never_beaten_later(scenario: Scenario, factor: Fraction) -> None:
    before, after = break_even(scenario), break_even(dearer(scenario, factor))

    assert after.hosted_per_million_usd == factor * before.hosted_per_million_usd
    for step, raised in zip(before.steps[:3], after.steps[:3], strict=True):
        assert step.needed_tokens is not None
        assert raised.needed_tokens == step.needed_tokens / factor
    if before.valid:
        assert after.valid
        assert after.tokens_per_month is not None
        assert before.tokens_per_month is not None
        assert after.tokens_per_month <= before.tokens_per_month


@given(scenarios(), factors)
def test_a_dearer_host_leaves_owning_cheaper_where_it_was(scenario: Scenario, factor: Fraction) -> None:
    answer, raised = break_even(scenario), dearer(scenario, factor)

    assert all(is_cheaper(raised, interval.first) for interval in answer.intervals)
    assert break_even(raised).valid or not answer.valid


@given(scenarios(), factors, st.booleans())
def test_dearer_machines_never_pay_earlier(scenario: Scenario, factor: Fraction, of_house: bool) -> None:
    scope = "house" if of_house else "machine"
    costs = tuple(
        replace(cost, usd_per_month=cost.usd_per_month * factor) if cost.scope == scope else cost
        for cost in scenario.owned.costs
    )

    before, after = break_even(scenario), break_even(replace(scenario, owned=replace(scenario.owned, costs=costs)))

    assert before.valid or not after.valid
    if after.valid:
        assert before.tokens_per_month is not None
        assert after.tokens_per_month is not None
        assert after.tokens_per_month >= before.tokens_per_month


@given(scenarios())
def test_the_machines_carry_the_volume_at_which_they_pay(scenario: Scenario) -> None:
    answer = break_even(scenario)
    paid = [step for step in answer.steps if step.is_valid]

    assert answer.valid is bool(paid) is bool(answer.intervals)
    if not answer.valid:
        return
    tokens, most = answer.tokens_per_month, paid[0].most_tokens
    assert tokens is not None
    assert most is not None
    assert tokens <= most
    assert answer.intervals[0].first == tokens
    assert scenario.capacity is not None
    busy = load(scenario.capacity, scenario.traffic.mix, tokens, paid[0].replicas)
    assert busy * scenario.traffic.peak_to_mean <= scenario.capacity.utilisation


@given(scenarios(), exact("0", "60") | st.integers(0, 60).map(Fraction))
def test_intervals_hold_the_volumes_at_which_owning_costs_no_more_and_no_other(
    scenario: Scenario, part: Fraction
) -> None:
    answer = break_even(scenario)
    tokens = of_one_replica(scenario, part)
    assume(answer.known_up_to is None or tokens <= answer.known_up_to)

    is_told = any(tokens in interval for interval in answer.intervals)

    assert is_told is is_cheaper(scenario, tokens)
    assert is_told is (owned_usd(scenario, tokens) <= hosted_usd(scenario.hosted, scenario.traffic.mix, tokens))


@given(scenarios())
def test_intervals_end_where_owning_ends_being_cheaper(scenario: Scenario) -> None:
    answer = break_even(scenario)

    assert len(answer.intervals) <= MOST_INTERVALS
    for interval in answer.intervals:
        assert is_cheaper(scenario, interval.first)
        assert interval.last is None or is_cheaper(scenario, interval.last)
    for before, after in pairwise(answer.intervals):
        assert before.last is not None
        assert before.last < after.first
        assert not is_cheaper(scenario, (before.last + after.first) / 2)


@given(scenarios())
def test_the_least_volume_is_found_without_looking_at_each_number_of_replicas(scenario: Scenario) -> None:
    answer = break_even(scenario)
    least = scenario.owned.least_replicas

    for replicas in range(least, least + 60):
        full = of_one_replica(scenario, Fraction(replicas))
        if is_cheaper(scenario, full):
            assert answer.valid
            assert answer.tokens_per_month is not None
            assert answer.tokens_per_month <= full
            return
    assert not answer.valid or answer.intervals[0].first > of_one_replica(scenario, Fraction(least + 59))


@given(scenarios(capacity=False), exact("0", "60"))
def test_without_capacity_owning_is_cheaper_from_one_volume_on(scenario: Scenario, part: Fraction) -> None:
    answer = break_even(scenario)

    assert answer.why == ("arithmetic" if answer.valid else "never")
    assert answer.valid is (answer.tokens_per_month is not None)
    if answer.tokens_per_month is not None:
        tokens = answer.tokens_per_month * part
        assert is_cheaper(scenario, tokens) is (tokens >= answer.tokens_per_month)


@given(scenarios(), exact("0.01", "5000"))
def test_another_currency_changes_no_volume_and_comes_back_exactly(scenario: Scenario, rate: Fraction) -> None:
    answer, there = break_even(scenario), break_even(in_currency(scenario, rate))

    assert there.intervals == answer.intervals
    assert there.tokens_per_month == answer.tokens_per_month
    assert there.monthly_usd == answer.monthly_usd * rate
    assert there.hosted_per_million_usd == answer.hosted_per_million_usd * rate
    assert in_currency(in_currency(scenario, rate), 1 / rate) == scenario


@given(scenarios(), exact("0", "40"), exact("0", "40"))
def test_a_bill_never_falls_and_has_no_jumps(scenario: Scenario, one: Fraction, other: Fraction) -> None:
    hosted, mix = scenario.hosted, scenario.traffic.mix
    few, many = (of_one_replica(scenario, part) for part in sorted((one, other)))

    risen = hosted_usd(hosted, mix, many) - hosted_usd(hosted, mix, few)
    dearest = max(Fraction(1), *(tier.factor for tier in hosted.tiers)) if hosted.tiers else Fraction(1)

    assert risen >= 0
    assert risen <= (many - few) * blended(hosted, mix) / MILLION * dearest * (1 + hosted.privacy_premium)


@given(scenarios(), exact("0.01", "20"))
def test_the_implied_premium_is_the_least_at_which_owning_costs_no_more(scenario: Scenario, part: Fraction) -> None:
    tokens = of_one_replica(scenario, part)
    premium = implied_premium(scenario, tokens)
    assume(premium is not None)
    assert premium is not None

    def with_premium(worth: Fraction) -> bool:
        return is_cheaper(replace(scenario, hosted=replace(scenario.hosted, privacy_premium=worth)), tokens)

    assert with_premium(premium)
    assert premium == 0 or not with_premium(premium * Fraction(999, 1000))


@given(scenarios(), exact("0", "30"))
def test_a_division_is_never_dearer_than_the_better_of_its_parts(scenario: Scenario, part: Fraction) -> None:
    tokens = of_one_replica(scenario, part)
    found = hybrid(scenario, tokens)
    assert found is not None

    assert found.usd <= found.all_own_usd == owned_usd(scenario, tokens)
    if scenario.traffic.forced_share and tokens:
        assert found.all_hosted_usd is None
    else:
        assert found.all_hosted_usd == hosted_usd(scenario.hosted, scenario.traffic.mix, tokens)
        assert found.usd <= found.all_hosted_usd


@given(scenarios(), exact("0.01", "30"))
def test_what_privacy_forces_home_is_carried_there(scenario: Scenario, part: Fraction) -> None:
    tokens = of_one_replica(scenario, part)
    found = hybrid(scenario, tokens)
    assert found is not None

    forced = scenario.traffic.forced_share
    assert of_one_replica(scenario, Fraction(found.replicas)) >= forced * tokens
    assert 0 <= found.overflow_share <= 1 - forced
    assert found.replicas == 0 or found.replicas >= scenario.owned.least_replicas


@given(scenarios(), exact("0.01", "30"))
def test_each_replica_more_takes_from_the_overflow_until_all_is_carried(scenario: Scenario, part: Fraction) -> None:
    tokens = of_one_replica(scenario, part)
    most = replicas_at(scenario, tokens)

    shares = [overflow_share(scenario, tokens, replicas) for replicas in range(most + 1)]

    assert shares[0] == 1
    assert shares[-1] == 0
    assert all(before >= after >= 0 for before, after in pairwise(shares))


points = st.builds(
    Point,
    concurrency=st.integers(1, 512),
    prompt_tokens=st.just(8192),
    output_tokens=st.just(1024),
    ttft_ms=st.none() | exact("1", "20000"),
    tpot_ms=st.none() | exact("1", "200"),
    prefill_tps=st.none() | exact("1", "40000"),
    decode_tps=st.none() | exact("1", "9000"),
)
profiles = st.lists(points, max_size=6, unique_by=lambda point: point.concurrency).map(
    lambda found: Profile("p", "m", "q", "g", 8, "e", tuple(found), "made up", date(2026, 9, 3), "measured")
)
levels = st.builds(Slo, st.none() | exact("1", "20000"), st.none() | exact("1", "200"))


@given(profiles, levels, st.none() | st.integers(1, 600))
def test_a_curve_is_never_read_beyond_what_was_measured(profile: Profile, slo: Slo, most: int | None) -> None:
    found = at(profile, slo, most)
    if found is None:
        return

    reading = [point.prefill_tps for point in profile.points if point.prefill_tps is not None]
    writing = [point.decode_tps for point in profile.points if point.decode_tps is not None]
    assert min(reading) <= found.prefill_tps <= max(reading)
    assert min(writing) <= found.decode_tps <= max(writing)
    assert found.concurrency <= max(point.concurrency for point in profile.points) + Fraction(1, 10**6)
    assert most is None or found.concurrency <= most + Fraction(1, 10**6)


@given(profiles, levels, factors)
def test_a_looser_level_allows_no_less(profile: Profile, slo: Slo, factor: Fraction) -> None:
    looser = Slo(*(None if limit is None else limit * factor for limit in (slo.ttft_ms, slo.tpot_ms)))

    tight, loose = at(profile, slo), at(profile, looser)

    if tight is not None:
        assert loose is not None
        assert loose.concurrency >= tight.concurrency
