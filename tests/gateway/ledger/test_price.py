"""Prices: each token once, in its lane, exact to the last digit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from gateway.catalog.deployments import Price
from gateway.catalog.prices import ExchangeRate, Surcharge
from gateway.catalog.rates import Change, Hours, Rates, ServiceTier, Tier
from gateway.ledger.price import Charge, UnpricedLaneError, as_usd, charge, estimate, most_nano_usd, nano_usd
from gateway.wire.lanes import LANES, Usage
from tests.gateway.ledger.samples import K3, NOON

# Half a nano-dollar a token.
TINY = Price(Decimal("0.0005"), Decimal("0.0005"), "made up", date(2026, 1, 1))
FREE = Price(Decimal(0), Decimal(0), "our own machine", date(2026, 1, 1))


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (Usage(fresh=1), 3_000),
        (Usage(cached=1), 300),
        (Usage(output=1), 15_000),
        (Usage(reasoning=1), 15_000),
        (Usage(fresh=1_000_000, output=1_000_000), 18_000_000_000),
        # 262,960 prompt tokens of which 257,955 were cached: 5,005 x 3,000 + 257,955 x 300 + 100 x 15,000
        (Usage(fresh=5_005, cached=257_955, output=100), 93_901_500),
        # 1,944 completion tokens of which 1,360 were thinking: charged 1,944 times, not 3,304
        (Usage(output=584, reasoning=1_360), 29_160_000),
        (Usage(), 0),
    ],
)
def test_every_token_is_charged_once_in_its_lane(usage: Usage, expected: int) -> None:
    assert nano_usd(usage, K3) == expected


def test_cached_tokens_without_a_price_of_their_own_cost_what_fresh_ones_cost() -> None:
    assert nano_usd(Usage(fresh=10, cached=90), replace(K3, cached=None)) == 100 * 3_000


def test_thinking_has_its_own_price_where_the_pack_gives_one() -> None:
    assert nano_usd(Usage(output=10, reasoning=10), replace(K3, reasoning=Decimal("20"))) == 350_000


@pytest.mark.parametrize(("tokens", "expected"), [(1, 0), (2, 1), (3, 2), (5, 2), (7, 4)])
def test_half_a_nano_dollar_goes_to_the_even_neighbour(tokens: int, expected: int) -> None:
    assert nano_usd(Usage(fresh=tokens), TINY) == expected


def test_lanes_are_summed_before_they_are_rounded() -> None:
    assert nano_usd(Usage(fresh=1, cached=1, output=1, reasoning=1), TINY) == 2


def test_an_explicit_zero_price_costs_nothing() -> None:
    assert nano_usd(Usage(fresh=10**9, output=10**9), FREE) == 0


def test_a_price_in_another_currency_is_refused() -> None:
    with pytest.raises(ValueError, match="no exchange rate"):
        nano_usd(Usage(fresh=1), replace(K3, currency="EUR"))


@pytest.mark.parametrize("usage", [Usage(fresh=-1), Usage(5, cached=-1), Usage(output=-1), Usage(reasoning=-1)])
def test_negative_tokens_are_refused(usage: Usage) -> None:
    with pytest.raises(ValueError, match="never negative"):
        nano_usd(usage, K3)


def test_a_price_that_is_no_decimal_is_an_error_not_a_rounded_cost() -> None:
    imprecise = replace(K3, input=0.1)  # type: ignore[arg-type]  # the mistake under test

    with pytest.raises(TypeError):
        nano_usd(Usage(fresh=3, output=1), imprecise)


def test_an_estimate_takes_the_dearest_lanes_and_is_flagged() -> None:
    dear_thinking = replace(K3, reasoning=Decimal("20"))

    assert estimate(100, 10, K3) == Usage(fresh=100, output=10, estimated=True)
    assert estimate(100, 10, dear_thinking) == Usage(fresh=100, reasoning=10, estimated=True)


@pytest.mark.parametrize(
    ("nano", "text"),
    [(0, "0"), (1, "0.000000001"), (1_500, "0.0000015"), (1_000_000_000, "1"), (-2_500_000_000, "-2.5")],
)
def test_nano_dollars_are_shown_with_every_digit(nano: int, text: str) -> None:
    assert as_usd(nano) == text


SONNET = replace(K3, cache_write_5m=Decimal("3.75"), cache_write_1h=Decimal(6))
BRL = ExchangeRate(Decimal("5.50"), date(2026, 11, 28), "central bank")


@pytest.mark.parametrize("lane", LANES)
def test_each_lane_is_charged_at_its_own_price(lane: str) -> None:
    """Prices that differ in every lane: the lane with the n-th price costs just that."""
    names = {"fresh": "input"}
    amounts = {names.get(name, name): Decimal(place) for place, name in enumerate(LANES, 1)}
    price = Price(source="made up", as_of=date(2026, 1, 1), **amounts)  # type: ignore[arg-type]

    found = charge(Usage(**{lane: 7}, estimated=False), price, NOON)

    assert found.nano_usd == 7 * (LANES.index(lane) + 1) * 1000
    assert found.assumed is False


@pytest.mark.parametrize(
    ("lane", "expected"),
    [
        ("cached", 3_000),
        ("cache_write_5m", 3_000),
        ("cache_write_1h", 3_000),
        ("image_input", 3_000),
        ("audio_input", 3_000),
        ("image_output", 15_000),
        ("audio_output", 15_000),
    ],
)
def test_a_lane_without_a_price_is_charged_at_another_one_s_and_flagged(lane: str, expected: int) -> None:
    bare = replace(K3, cached=None)

    assert charge(Usage(**{lane: 1}, estimated=False), bare, NOON) == Charge(expected, assumed=True)


@pytest.mark.parametrize(("lane", "expected"), [("reasoning", 15_000), ("embedding", 3_000), ("rerank", 3_000)])
def test_what_every_list_means_by_its_input_and_output_is_not_assumed(lane: str, expected: int) -> None:
    assert charge(Usage(**{lane: 1}, estimated=False), K3, NOON) == Charge(expected)


def test_an_hour_s_cache_write_without_a_price_costs_at_least_what_five_minutes_do() -> None:
    assert charge(Usage(cache_write_1h=1), replace(SONNET, cache_write_1h=None), NOON) == Charge(3_750, assumed=True)


def test_what_is_stated_to_be_free_is_not_assumed_to_be() -> None:
    assert charge(Usage(cached=9, audio_input=9, image_output=9), FREE, NOON) == Charge(0)


def test_searches_are_never_charged_at_a_price_of_tokens() -> None:
    with pytest.raises(UnpricedLaneError, match="searches"):
        charge(Usage(searches=1), K3, NOON)

    assert charge(Usage(searches=3), replace(K3, searches=Decimal(2000)), NOON) == Charge(6_000_000)


def test_the_cache_s_saving_is_told_beside_the_cost() -> None:
    found = charge(Usage(fresh=5_005, cached=257_955, output=100), K3, NOON)

    assert found == Charge(93_901_500, saved_nano_usd=257_955 * 2_700)


def test_the_agent_s_task_costs_what_its_provider_and_its_reseller_take() -> None:
    """47,993 fresh, 2,204,160 cached, 45,392 out: 1.486107 dollars at Moonshot, 0.6 of that at a reseller."""
    usage = Usage(fresh=47_993, cached=2_204_160, output=45_392)

    assert nano_usd(usage, K3) == 1_486_107_000
    assert nano_usd(usage, replace(K3, multiplier=Decimal("0.60"))) == 891_664_200


LONG = replace(
    K3,
    tiers=(
        Tier(200_000, Change(Rates(Decimal(6), Decimal("22.5"), cached=Decimal("0.6")))),
        Tier(500_000, Change(factor=Decimal(3))),
    ),
)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (Usage(fresh=200_000, output=1), 200_000 * 3_000 + 15_000),
        (Usage(fresh=200_001, output=1), 200_001 * 6_000 + 22_500),
        # what was cached counts for the size of the prompt
        (Usage(fresh=1, cached=200_000, output=1), 6_000 + 200_000 * 600 + 22_500),
        # an answer does not
        (Usage(fresh=199_999, output=2), 199_999 * 3_000 + 30_000),
        (Usage(fresh=500_001, output=1), 500_001 * 9_000 + 45_000),
    ],
)
def test_beyond_its_size_the_whole_request_has_other_rates(usage: Usage, expected: int) -> None:
    assert charge(usage, LONG, NOON).nano_usd == expected


def test_a_lane_that_a_tier_does_not_name_is_charged_at_the_tier_s_input_and_flagged() -> None:
    assert charge(Usage(cache_write_5m=200_001), replace(LONG, cache_write_5m=Decimal(4)), NOON) == Charge(
        200_001 * 6_000, assumed=True
    )


SERVED = replace(
    LONG,
    service_tiers=(
        ServiceTier("flex", Change(factor=Decimal("0.5"))),
        ServiceTier("priority", Change(Rates(Decimal(6), Decimal(30), cached=Decimal("0.6")))),
        ServiceTier("batch", Change(Rates(Decimal(1), Decimal(5))), (Tier(10, Change(factor=Decimal(2))),)),
    ),
)


@pytest.mark.parametrize(
    ("service_tier", "usage", "expected"),
    [
        (None, Usage(fresh=10), 30_000),
        ("default", Usage(fresh=10), 30_000),
        ("standard", Usage(fresh=10), 30_000),
        ("flex", Usage(fresh=10), 15_000),
        ("flex", Usage(fresh=200_001), 200_001 * 3_000),
        ("priority", Usage(fresh=10), 60_000),
        ("priority", Usage(fresh=200_001), 200_001 * 6_000),
        ("batch", Usage(fresh=10), 10_000),
        ("batch", Usage(fresh=11), 22_000),
    ],
)
def test_what_was_served_otherwise_costs_otherwise(service_tier: str | None, usage: Usage, expected: int) -> None:
    assert charge(usage, SERVED, NOON, service_tier) == Charge(expected)


def test_a_service_tier_that_nobody_priced_costs_the_usual_and_is_flagged() -> None:
    assert charge(Usage(fresh=10), K3, NOON, "priority") == Charge(30_000, assumed=True)
    assert charge(Usage(fresh=10), FREE, NOON, "priority") == Charge(0)


NIGHT = Hours(ZoneInfo("America/Sao_Paulo"), time(22), time(6), Change(factor=Decimal("0.5")))


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (datetime(2026, 11, 2, 0, 59, tzinfo=UTC), 3_000),
        (datetime(2026, 11, 2, 1, 0, tzinfo=UTC), 1_500),
        (datetime(2026, 11, 2, 8, 59, 59, tzinfo=UTC), 1_500),
        (datetime(2026, 11, 2, 9, 0, tzinfo=UTC), 3_000),
    ],
)
def test_the_hours_are_those_of_their_own_time_zone_over_midnight_too(moment: datetime, expected: int) -> None:
    assert charge(Usage(fresh=1), replace(K3, hours=(NIGHT,)), moment).nano_usd == expected


def test_hours_may_be_of_some_weekdays_and_the_first_that_fit_hold() -> None:
    weekend = Hours(ZoneInfo("UTC"), time(0), time(0), Change(factor=Decimal("0.1")), frozenset({5, 6}))
    price = replace(K3, hours=(weekend, replace(NIGHT, zone=ZoneInfo("UTC"))))

    saturday, monday = datetime(2026, 11, 7, 23, tzinfo=UTC), datetime(2026, 11, 9, 23, tzinfo=UTC)
    assert [charge(Usage(fresh=1), price, at).nano_usd for at in (saturday, monday)] == [300, 1_500]


def test_a_service_tier_s_factor_comes_on_top_of_the_hour_s() -> None:
    assert charge(
        Usage(fresh=1), replace(SERVED, hours=(NIGHT,)), datetime(2026, 11, 2, 3, tzinfo=UTC), "flex"
    ) == Charge(750)


@pytest.mark.parametrize(
    ("on", "expected"),
    # 5.5 % of 103.5 % are 5.6925 %; added to the price they are 5.5 %
    [("total", 30_000_000 * 1.035 * 1.055), ("price", 30_000_000 * (1 + 0.035 + 0.055))],
)
def test_surcharges_are_added_or_reckoned_on_the_total_as_the_owner_says(on: str, expected: float) -> None:
    price = replace(
        K3,
        surcharges=(
            Surcharge("IOF", Decimal("3.5")),
            Surcharge("top-up fee", Decimal("5.5"), on),  # type: ignore[arg-type]
        ),
    )

    found = charge(Usage(fresh=10_000), price, NOON)

    assert found.nano_usd == round(expected)
    assert found.surcharge_nano_usd == found.nano_usd - 30_000_000


def test_the_provider_s_own_part_is_what_its_bill_says() -> None:
    """Rounded for itself, whatever the surcharges come to: half a nano-dollar and a third of it."""
    price = replace(TINY, surcharges=(Surcharge("tax", Decimal(100)),))

    found = charge(Usage(fresh=3), price, NOON)

    assert (found.nano_usd, found.surcharge_nano_usd) == (3, 1)
    assert found.nano_usd - found.surcharge_nano_usd == nano_usd(Usage(fresh=3), TINY)


def test_a_price_in_reais_is_charged_at_the_owner_s_rate() -> None:
    """R$ 5,50 a million at 5.50 to the dollar are a dollar."""
    price = Price(Decimal("5.50"), Decimal(11), "list", date(2026, 11, 1), currency="BRL", exchange_rate=BRL)

    assert nano_usd(Usage(fresh=1_000_000, output=1_000_000), price) == 3_000_000_000


def test_a_price_holds_on_its_days_in_universal_time() -> None:
    until_then = replace(K3, ends_on=date(2026, 11, 30))
    afterwards = replace(K3, input=Decimal(2), starts_on=date(2026, 12, 1))
    price = replace(until_then, dated=(until_then, afterwards))

    assert charge(Usage(fresh=1), price, datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC)) == Charge(3_000)
    assert charge(Usage(fresh=1), price, datetime(2026, 12, 1, tzinfo=UTC)) == Charge(2_000)
    # half past nine in São Paulo is the next day in universal time
    evening = datetime(2026, 11, 30, 21, 30, tzinfo=ZoneInfo("America/Sao_Paulo"))
    assert charge(Usage(fresh=1), price, evening) == Charge(2_000)


def test_a_price_that_goes_on_for_want_of_another_is_flagged() -> None:
    assert charge(Usage(fresh=1), replace(K3, lapsed=True), NOON) == Charge(3_000, assumed=True)


def test_an_estimate_is_of_the_dearest_lanes_that_the_request_may_meet() -> None:
    price = replace(SONNET, audio_input=Decimal(40), audio_output=Decimal(80))

    assert estimate(10, 5, price) == Usage(audio_input=10, audio_output=5, estimated=True)
    assert estimate(10, 5, price, lanes=("fresh", "cached", "cache_write_1h", "output")) == Usage(
        cache_write_1h=10, output=5, estimated=True
    )


def test_an_estimate_counts_searches_only_where_they_have_a_price() -> None:
    assert estimate(10, 0, K3, searches=2) == Usage(fresh=10, estimated=True)
    assert estimate(10, 0, replace(K3, searches=Decimal(2000)), searches=2).searches == 2


def test_the_most_that_a_request_may_come_to_covers_tiers_services_and_hours() -> None:
    noon = Hours(ZoneInfo("UTC"), time(12), time(13), Change(factor=Decimal(7)))

    assert most_nano_usd(Usage(fresh=10), K3) == nano_usd(Usage(fresh=10), K3)
    assert most_nano_usd(Usage(fresh=10), SERVED) == 60_000
    assert most_nano_usd(Usage(fresh=10), replace(K3, hours=(noon,))) == 210_000
    # a prompt that turns out smaller than it was thought is in the usual tier, which may be the dearer one
    cheap_when_long = replace(K3, tiers=(Tier(100, Change(factor=Decimal("0.5"))),))
    assert most_nano_usd(Usage(fresh=101), cheap_when_long) == 101 * 3_000
