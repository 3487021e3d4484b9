"""FOCUS rows: they keep to the specification, and add up to the ledger to the last nano-dollar."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.prices import ExchangeRate, Price, Surcharge
from gateway.catalog.rates import Change, Rates, ServiceTier, Tier
from gateway.db.attempts import AttemptRow
from gateway.ledger.entries import Account
from gateway.ledger.exports import focus, focus_columns
from gateway.ledger.exports.lanes import lane_costs
from gateway.ledger.exports.offers import OWN_MACHINES, Offer
from gateway.ledger.exports.sheets import for_programs, written
from gateway.ledger.price import charge
from gateway.ledger.usage import Span
from gateway.wire.lanes import LANES, Usage
from tests.gateway.ledger.exports.focus_rules import MANDATORY, RECOMMENDED, violations
from tests.gateway.ledger.exports.ledgers import K3_OFFER, OWN, Call, gathered, hours, priced, write
from tests.gateway.ledger.samples import K3, NOON, rows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

NOVEMBER = Span(
    datetime(2026, 11, 1, 3, tzinfo=UTC), datetime(2026, 12, 1, 3, tzinfo=UTC), ZoneInfo("America/Sao_Paulo")
)
HOUSE = focus.Account("acme", "Acme")
REAIS = replace(
    K3,
    currency="BRL",
    exchange_rate=ExchangeRate(Decimal("5.43"), date(2026, 11, 1)),
    surcharges=(Surcharge("IOF", Decimal("3.5")),),
)
TIERED = replace(
    K3,
    tiers=(Tier(100, Change(rates=Rates(Decimal(6), Decimal(30)))),),
    service_tiers=(ServiceTier("flex", Change(factor=Decimal("0.5"))),),
)
FRACTIONAL = replace(K3, input=Decimal("0.0001234567"), output=Decimal("0.00098765"))
COUNTS = st.fixed_dictionaries({lane: st.integers(0, 10**9) for lane in LANES if lane != "searches"})
OFFERS = {
    "moonshot-k3": K3_OFFER,
    "reais": Offer("Revenda Ltda", "openai", (REAIS,)),
    "tiered": Offer("Moonshot AI", "moonshot", (TIERED,)),
    "our-k3": Offer(OWN_MACHINES, "vllm", (OWN,)),
}
CALLS = [
    Call(Usage(fresh=1000, cached=333, output=77, reasoning=5)),
    Call(Usage(fresh=1001, cached=3, output=7), NOON + hours(0)),
    Call(
        Usage(fresh=1), NOON + hours(1), Account("=rui", tag="tax", collections=("papers", "recipes"), label="private")
    ),
    Call(Usage(fresh=7, output=3), on=priced(REAIS, "reais")),
    Call(Usage(fresh=70, output=3), on=priced(TIERED, "tiered"), service_tier="flex"),
    Call(Usage(fresh=700, output=3), on=priced(TIERED, "tiered")),
    Call(Usage(fresh=700, output=30), on=priced(OWN, "our-k3")),
    Call(Usage(embedding=123456), NOON + hours(2)),
    Call(Usage(fresh=5, output=1, estimated=True), NOON + hours(3), outcome="unknown", bearer="house"),
    Call(Usage(fresh=5, output=1), NOON + hours(4), from_cache=True),
    Call(Usage(fresh=11, output=1), NOON + hours(4), on=priced(replace(K3, input=Decimal(99)), "left-the-pack")),
    Call(Usage(), NOON + hours(5), outcome="failed"),
    Call(Usage(fresh=5), NOON + hours(6), settled=False),
]


async def exported(
    engine: AsyncEngine, offers: Mapping[str, Offer] = OFFERS, span: Span = NOVEMBER
) -> list[dict[str, str]]:
    """The file as somebody else reads it."""
    rows = focus.rows(engine, span, offers, HOUSE)
    pieces = await gathered(written(for_programs(), tuple(focus_columns.COLUMNS), rows))
    return list(csv.DictReader(io.StringIO("".join(pieces), newline="")))


async def test_every_row_keeps_to_the_specification(ledger: Path, engine: AsyncEngine) -> None:
    await write(ledger, CALLS)

    found = await exported(engine)

    assert len(found) > len(CALLS)
    assert [(row["x_Lane"], wrong) for row in found for wrong in violations(row, focus_columns.COLUMNS)] == []


async def test_billed_cost_is_the_ledgers_sum(ledger: Path, engine: AsyncEngine) -> None:
    await write(ledger, CALLS)

    found = await exported(engine)

    whole = sum(row["cost_nano_usd"] or 0 for row in rows(ledger))
    assert sum(Decimal(row["BilledCost"]) for row in found) == Decimal(whole).scaleb(-9)
    tokens = sum(call.usage.tokens for call in CALLS if call.settled)
    assert sum(int(row["ConsumedQuantity"] or 0) for row in found) == tokens


async def test_an_hours_calls_at_one_price_are_one_row_for_each_lane(ledger: Path, engine: AsyncEngine) -> None:
    await write(ledger, CALLS[:2])

    found = {row["x_Lane"]: row for row in await exported(engine)}

    assert {lane: (row["ConsumedQuantity"], row["x_Calls"]) for lane, row in found.items()} == {
        "fresh": ("2001", "2"),
        "cached": ("336", "2"),
        "output": ("84", "2"),
        "reasoning": ("5", "1"),
    }
    fresh = found["fresh"]
    assert (fresh["ListUnitPrice"], fresh["PricingUnit"]) == ("3", "1000000 Tokens")
    assert (fresh["PricingQuantity"], fresh["ListCost"]) == ("0.002001", "0.006003")
    assert (fresh["ProviderName"], fresh["SkuMeter"]) == ("Moonshot AI", "Input Tokens")
    assert (fresh["ChargePeriodStart"], fresh["BillingPeriodStart"]) == ("2026-11-01T12:00:00Z", "2026-11-01T03:00:00Z")


async def test_another_currency_stands_in_its_own_columns_and_taxes_in_rows_of_their_own(
    ledger: Path, engine: AsyncEngine
) -> None:
    await write(ledger, [CALLS[3]])

    found = {row["x_Lane"]: row for row in await exported(engine)}

    fresh, tax = found["fresh"], found["surcharge"]
    assert (fresh["PricingCurrency"], fresh["PricingCurrencyListUnitPrice"]) == ("BRL", "3")
    assert fresh["ListUnitPrice"] == "0.552486187845303867"
    assert (tax["ChargeCategory"], tax["ListUnitPrice"], tax["PricingQuantity"]) == ("Adjustment", "", "")
    assert Decimal(tax["BilledCost"]) > 0


async def test_a_price_that_is_not_known_any_more_is_null_and_not_invented(ledger: Path, engine: AsyncEngine) -> None:
    await write(ledger, [CALLS[0]])

    [row] = await exported(engine, {"moonshot-k3": replace(K3_OFFER, prices=(replace(K3, input=Decimal(4)),))})

    assert row["x_PriceKnown"] == "false"
    assert (row["ListUnitPrice"], row["PricingQuantity"], row["SkuId"]) == ("", "", "")
    assert (row["ConsumedQuantity"], row["BilledCost"]) == ("1415", "0.0043299")


async def test_tiers_are_prices_of_their_own(ledger: Path, engine: AsyncEngine) -> None:
    await write(ledger, CALLS[4:6])

    found = {row["SkuPriceId"]: row["ListUnitPrice"] for row in await exported(engine) if row["x_Lane"] == "fresh"}

    assert found == {"tiered/k3-0905/fresh/flex": "1.5", "tiered/k3-0905/fresh/100": "6"}


async def test_own_machines_are_their_own_provider_and_embeddings_no_generation(
    ledger: Path, engine: AsyncEngine
) -> None:
    await write(ledger, CALLS[6:8])

    found = {row["x_Lane"]: row for row in await exported(engine)}

    assert found["output"]["ProviderName"] == OWN_MACHINES
    assert found["embedding"]["ServiceSubcategory"] == "Machine Learning"


async def test_names_in_a_file_are_harmless(ledger: Path, engine: AsyncEngine) -> None:
    await write(ledger, [CALLS[2]])

    [row] = await exported(engine)

    assert row["SubAccountId"] == "'=rui"
    assert row["Tags"] == '{"tag": "tax"}'


async def test_an_hour_is_the_owners_where_clocks_stand_at_half_past(ledger: Path, engine: AsyncEngine) -> None:
    kolkata = ZoneInfo("Asia/Kolkata")
    before, after = (datetime(2026, 11, 30, 18, minute, tzinfo=UTC) for minute in (29, 31))
    await write(ledger, [Call(Usage(fresh=1), before), Call(Usage(fresh=1), after)])
    span = Span(datetime(2026, 11, 30, 18, tzinfo=UTC), datetime(2026, 11, 30, 19, tzinfo=UTC), kolkata)

    december, november = await exported(engine, span=span)

    assert november["ChargePeriodEnd"] == december["ChargePeriodStart"] == "2026-11-30T18:30:00Z"
    assert [*violations(november, focus_columns.COLUMNS), *violations(december, focus_columns.COLUMNS)] == []


def test_the_metadata_names_the_version_and_every_column() -> None:
    said = focus_columns.metadata(NOON)["Schema"]

    assert isinstance(said, dict)
    assert (said["FocusVersion"], said["CreationDate"]) == ("1.2", "2026-11-01T12:00:00Z")
    assert [column["ColumnName"] for column in said["ColumnDefinition"]] == list(focus_columns.COLUMNS)


def test_columns_are_those_of_the_specification_or_our_own() -> None:
    assert focus_columns.COLUMNS.keys() >= MANDATORY | RECOMMENDED
    assert list(focus_columns.COLUMNS) == sorted(focus_columns.COLUMNS, key=lambda name: (name.startswith("x_"), name))


@given(COUNTS, st.sampled_from([REAIS, FRACTIONAL]))
def test_lanes_add_up_exactly_and_each_is_within_a_nano_dollar_of_its_price(
    counts: dict[str, Any], price: Price
) -> None:
    usage = Usage(**counts)
    charged = charge(usage, price, NOON)
    row = _row(usage, charged.nano_usd, charged.surcharge_nano_usd)

    lanes = lane_costs(row, (K3, price))

    assert lanes is not None
    assert sum(lane.nano_usd for lane in lanes) == charged.nano_usd - charged.surcharge_nano_usd
    assert all(abs(lane.nano_usd - lane.count * lane.rate) <= 1 for lane in lanes)
    assert all(isinstance(lane.rate, Fraction) for lane in lanes)


def _row(usage: Usage, cost: int, surcharge: int) -> AttemptRow:
    counts: dict[str, Any] = usage.lanes
    return AttemptRow(
        id="a", decision_id="d", request_id="r", ordinal=1, principal="ana", deployment="x", model="m",
        upstream_model="u", zone="hosted", owner="b", state="settled", held_nano_usd=0, cost_nano_usd=cost,
        currency="USD", estimated=False, outcome="ok", error_code=None, started_at=NOON, first_byte_ms=1, total_ms=2,
        settled_at=NOON, bytes_out=3, answered_model=None, surcharge_nano_usd=surcharge, **counts,
    )  # fmt: skip
