"""Prices: each token once, in its lane, exact to the last digit."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from gateway.catalog.deployments import Price
from gateway.ledger.price import as_usd, estimate, nano_usd
from gateway.wire.lanes import Usage
from tests.gateway.ledger.samples import K3

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
