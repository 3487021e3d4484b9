"""What hosts were paid, by lane: divided exactly where a price says how, and never made up where none does."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.prices import ExchangeRate, Price
from gateway.db.rollups import Summed
from gateway.db.tables import MEASURES
from gateway.ledger.chat_lanes import FOLDED, LANES
from gateway.ledger.paid import Paid, paid

DAY = datetime(2026, 11, 2, 3, tzinfo=UTC)
K3 = Price(Decimal(3), Decimal(15), "page", date(2026, 10, 24), cached=Decimal("0.30"))
NANO = 10**9


def day(deployment: str = "k3", at: datetime | None = DAY, **measures: int) -> Summed:
    return Summed({"deployment": deployment}, at, {**dict.fromkeys(MEASURES, 0), **measures})


def test_nothing_was_paid_for_nothing() -> None:
    assert paid([], {}) == Paid()
    assert Paid().usd_per_million is None


def test_a_cost_is_divided_as_the_price_of_that_day_divides_it() -> None:
    """Half the price from December on: 3,000 and 1,500 micro-dollars for a thousand tokens."""
    later = Price(Decimal("1.50"), Decimal("7.50"), "page", None, starts_on=date(2026, 12, 1))
    dated = Price(Decimal(3), Decimal(15), "page", None, dated=(K3, later))
    december = datetime(2026, 11, 30, 23, tzinfo=UTC)  # midnight in Berlin
    groups = [day(fresh=1000, cost_nano_usd=3_000_000), day(at=december, fresh=1000, cost_nano_usd=1_500_000)]

    found = paid(groups, {"k3": dated})

    assert found.by_lane == {"fresh": Fraction("2.25")}
    assert (found.usd, found.tokens, found.undivided_tokens) == (Fraction("0.0045"), 2000, 0)


def test_taxes_raise_every_lane_alike() -> None:
    found = paid([day(fresh=1000, output=1000, reasoning=1000, cost_nano_usd=66_000_000)], {"k3": K3})

    assert found.by_lane == {"fresh": 6, "output": 30}


def test_a_price_in_another_currency_divides_by_its_rate_and_without_one_not_at_all() -> None:
    groups = [day(fresh=1000, output=100, cost_nano_usd=4_500_000)]
    brl = Price(Decimal(15), Decimal(75), "page", None, currency="BRL")
    known = Price(
        Decimal(15),
        Decimal(75),
        "page",
        None,
        currency="BRL",
        exchange_rate=ExchangeRate(Decimal(5), date(2026, 11, 1)),
    )

    assert paid(groups, {"k3": known}).by_lane == {"fresh": 3, "output": 15}
    assert paid(groups, {"k3": brl}).undivided_tokens == 1100


def test_what_no_price_explains_is_not_divided_but_counts() -> None:
    free = Price(Decimal(0), Decimal(0), "page", None)
    for prices in ({}, {"k3": free}):
        found = paid([day(fresh=1000, cost_nano_usd=5_000_000)], prices)

        assert (found.tokens, found.usd, dict(found.by_lane)) == (1000, Fraction("0.005"), {})
        assert found.undivided_tokens == 1000
    without_a_day = paid([day(at=None, fresh=1000, cost_nano_usd=5_000_000)], {"k3": K3})
    assert without_a_day.undivided_tokens == 1000


def test_what_is_free_costs_nothing_in_every_lane() -> None:
    found = paid([day(fresh=1000, output=10)], {"k3": Price(Decimal(0), Decimal(0), "page", None)})

    assert found.by_lane == {"fresh": 0, "output": 0}
    assert found.usd_per_million == 0


def test_searches_and_embeddings_are_paid_apart() -> None:
    """665 embedded at 3.00 cost what 133 written at 15.00 do."""
    both = day(output=133, embedding=665, cost_nano_usd=3_990_000)
    with_searches = day(output=133, searches=1, cost_nano_usd=3_990_000)

    assert paid([both], {"k3": K3}).usd == Fraction("0.001995")
    # Nobody knows the price of a search any more: by tokens all is the chat's, half of it where others have as many.
    assert paid([with_searches], {"k3": K3}).usd == Fraction("0.00399")
    assert paid([day(output=100, embedding=100, cost_nano_usd=4_000_000)], {}).usd == Fraction("0.002")
    assert paid([day(searches=3, cost_nano_usd=4_000_000)], {}).usd == 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["k3", "gone"]),
            st.dictionaries(st.sampled_from(sorted(FOLDED)), st.integers(0, 10**9)),
            st.integers(0, 10**13),
        ),
        max_size=8,
    )
)
def test_the_lanes_come_to_what_was_paid_to_the_last_digit(
    made: list[tuple[str, dict[str, int], int]],
) -> None:
    groups = [day(name, DAY, cost_nano_usd=cost if sum(lanes.values()) else 0, **lanes) for name, lanes, cost in made]
    known = [group for group in groups if group.names["deployment"] == "k3"]

    found, divided = paid(groups, {"k3": K3}), paid(known, {"k3": K3})

    assert found.usd == Fraction(sum(group.measures["cost_nano_usd"] for group in groups), NANO)
    assert found.by_lane == divided.by_lane
    assert divided.undivided_tokens == 0
    if divided.mix is not None:
        counts = {lane: getattr(divided.mix, lane) * divided.tokens for lane in LANES}
        assert sum(counts[lane] * price for lane, price in divided.by_lane.items()) == divided.usd * 10**6
        assert sum(getattr(divided.mix, lane) for lane in LANES) == 1
