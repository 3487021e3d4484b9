"""The ledger as FOCUS rows (FinOps Open Cost and Usage Specification, 1.2): one for each lane of an hour's usage.

Costs are in dollars and exact: BilledCost adds up to the ledger's sum to the last nano-dollar. What the owner's cost
lines add stands in rows of its own. Where it is not known any more by which price something was charged, one row says
the cost and the tokens, and nothing of a unit price.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from gateway.economics.calendar import window
from gateway.ledger.exports import attempts
from gateway.ledger.exports.focus_columns import COLUMNS
from gateway.ledger.exports.lanes import lane_costs, usage_of
from gateway.ledger.exports.offers import offer_of
from gateway.ledger.exports.sheets import usd

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.attempts import AttemptRow
    from gateway.economics.calendar import Stretch
    from gateway.ledger.exports.lanes import LaneCost
    from gateway.ledger.exports.offers import Offer
    from gateway.ledger.exports.sheets import Cell, Row
    from gateway.ledger.usage import Span

_METERS = {
    "fresh": "Input Tokens",
    "cached": "Cached Input Tokens",
    "cache_write_5m": "Cache Write Tokens (5 Minutes)",
    "cache_write_1h": "Cache Write Tokens (1 Hour)",
    "output": "Output Tokens",
    "reasoning": "Reasoning Tokens",
    "image_input": "Image Input Tokens",
    "image_output": "Image Output Tokens",
    "audio_input": "Audio Input Tokens",
    "audio_output": "Audio Output Tokens",
    "embedding": "Embedding Tokens",
    "rerank": "Rerank Tokens",
    "searches": "Search Units",
}
_ALL = "all"
"""The lane of a row whose price is not known any more."""
_SURCHARGE = "surcharge"
_MILLION = 6
_DIGITS = 60
"""Enough for a product of an exact price and a count."""
_SCALE = Decimal(1).scaleb(-18)
"""Unit prices in a currency that dollars do not divide are cut here; ListCost is the product with what is shown."""


@dataclass(frozen=True, slots=True)
class Account:
    """Whose bill the rows are, in the words of the one who reads it."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class _Charge:
    """What a row is told apart by."""

    hour: Stretch
    deployment: str
    model: str
    upstream_model: str
    zone: str
    principal: str
    person: str
    tag: str
    label: str
    collections: tuple[str, ...]
    bearer: str
    currency: str
    per_usd: str | None
    origin: str | None
    as_of: str | None
    service_tier: str | None
    estimated: bool
    assumed: bool
    from_cache: bool
    generative: bool


class _Meter(NamedTuple):
    """Which of its lanes a row is of, and at which price."""

    lane: str
    rate: Fraction | None = None
    """Nano-dollars for one; None: not known."""
    above: int | None = None
    """The size of prompts from which on it holds."""

    @property
    def name(self) -> str:
        return _METERS.get(self.lane, "Tokens of All Kinds")


@dataclass(frozen=True, slots=True)
class _Total:
    count: int = 0
    nano_usd: int = 0
    calls: int = 0


_Totals = dict[_Charge, dict[_Meter, _Total]]
_NOTHING = _Total()


async def rows(engine: AsyncEngine, span: Span, offers: Mapping[str, Offer], account: Account) -> AsyncIterator[Row]:
    """The rows of a span, the newest hour first; held in memory is one hour at a time."""
    hour: Stretch | None = None
    totals: _Totals = {}
    async for attempt in attempts.each(engine, span):
        if attempt.cost_nano_usd is None:
            continue
        if hour is None or not hour[0] <= attempt.started_at < hour[1]:
            for row in _written(totals, span, offers, account):
                yield row
            hour, totals = window(attempt.started_at, "hour", span.zone), {}
        _add(totals, attempt, hour, offers)
    for row in _written(totals, span, offers, account):
        yield row


def _add(totals: _Totals, attempt: AttemptRow, hour: Stretch, offers: Mapping[str, Offer]) -> None:
    """Count an attempt's lanes, and what is on top of them, into the hour."""
    lanes = lane_costs(attempt, offer_of(offers, attempt.deployment, attempt.price_origin).prices)
    meters = totals.setdefault(_charge_of(attempt, hour), {})
    for meter, count, nano_usd in _unpriced(attempt) if lanes is None else _priced_lanes(lanes):
        _count(meters, meter, count, nano_usd)
    if attempt.surcharge_nano_usd:
        _count(meters, _Meter(_SURCHARGE), 0, attempt.surcharge_nano_usd)


def _count(meters: dict[_Meter, _Total], meter: _Meter, count: int, nano_usd: int) -> None:
    before = meters.get(meter, _NOTHING)
    meters[meter] = _Total(before.count + count, before.nano_usd + nano_usd, before.calls + 1)


def _priced_lanes(lanes: Iterable[LaneCost]) -> Iterator[tuple[_Meter, int, int]]:
    for each in lanes:
        yield _Meter(each.lane, each.rate, each.above), each.count, each.nano_usd


def _unpriced(attempt: AttemptRow) -> Iterator[tuple[_Meter, int, int]]:
    """All lanes at once: nobody knows any more what each of them cost."""
    tokens = usage_of(attempt).tokens
    own = (attempt.cost_nano_usd or 0) - attempt.surcharge_nano_usd
    if tokens or own:
        yield _Meter(_ALL), tokens, own
    elif attempt.searches:
        yield _Meter("searches"), attempt.searches, 0


def _charge_of(attempt: AttemptRow, hour: Stretch) -> _Charge:
    return _Charge(
        hour=hour,
        deployment=attempt.deployment,
        model=attempt.model,
        upstream_model=attempt.upstream_model,
        zone=attempt.zone,
        principal=attempt.principal,
        person=attempt.person,
        tag=attempt.tag,
        label=attempt.label,
        collections=attempt.collections,
        bearer=attempt.bearer,
        currency=attempt.currency,
        per_usd=attempt.per_usd,
        origin=attempt.price_origin,
        as_of=attempt.price_as_of,
        service_tier=attempt.service_tier,
        estimated=attempt.estimated,
        assumed=attempt.assumed,
        from_cache=attempt.from_cache,
        generative=not (attempt.embedding or attempt.rerank or attempt.searches),
    )


def _written(totals: _Totals, span: Span, offers: Mapping[str, Offer], account: Account) -> Iterator[Row]:
    for charge, meters in totals.items():
        offer = offer_of(offers, charge.deployment, charge.origin)
        common = _common(charge, span, offer, account)
        for meter, total in meters.items():
            cells = {**common, **_of_meter(charge, meter, total), **_priced(charge, meter, total, offer)}
            yield tuple(cells[name] for name in COLUMNS)


def _common(charge: _Charge, span: Span, offer: Offer, account: Account) -> dict[str, Cell]:
    """What all rows of a charge say."""
    begins, ends = charge.hour
    billing = window(begins, "month", span.zone)
    return {
        "BillingAccountId": account.id,
        "BillingAccountName": account.name,
        "BillingAccountType": "House",
        "BillingCurrency": "USD",
        "BillingPeriodEnd": billing[1],
        "BillingPeriodStart": billing[0],
        "ChargeClass": None,
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodEnd": ends,
        "ChargePeriodStart": begins,
        "InvoiceId": None,
        "InvoiceIssuerName": offer.provider,
        "PricingCurrency": "USD" if charge.per_usd is None else charge.currency,
        "ProviderName": offer.provider,
        "PublisherName": offer.provider,
        "ResourceId": charge.deployment,
        "ResourceName": None,
        "ResourceType": "Model Deployment",
        "ServiceCategory": "AI and Machine Learning",
        "ServiceName": charge.model,
        "ServiceSubcategory": "Generative AI" if charge.generative else "Machine Learning",
        "SubAccountId": charge.principal,
        "SubAccountName": charge.principal,
        "SubAccountType": "API Key",
        "Tags": json.dumps({"tag": charge.tag}, ensure_ascii=False) if charge.tag else None,
        "x_Assumed": charge.assumed,
        "x_Bearer": charge.bearer,
        "x_Collections": ", ".join(charge.collections) or None,
        "x_Deployment": charge.deployment,
        "x_Estimated": charge.estimated,
        "x_FromCache": charge.from_cache,
        "x_Label": charge.label or None,
        "x_Model": charge.model,
        "x_Person": charge.person or charge.principal,
        "x_PriceAsOf": charge.as_of,
        "x_PriceOrigin": charge.origin,
        "x_UpstreamModel": charge.upstream_model,
        "x_Zone": charge.zone,
    }


def _of_meter(charge: _Charge, meter: _Meter, total: _Total) -> dict[str, Cell]:
    """What was charged, whatever for."""
    cost = usd(total.nano_usd)
    return {
        "BilledCost": cost,
        "EffectiveCost": cost,
        "PricingCurrencyEffectiveCost": cost if charge.per_usd is None else _product(cost, Decimal(charge.per_usd)),
        "x_Calls": total.calls,
        "x_Lane": meter.lane,
        "x_PriceKnown": meter.rate is not None,
    }


def _priced(charge: _Charge, meter: _Meter, total: _Total, offer: Offer) -> dict[str, Cell]:
    """What was charged for, and by which price, where that is known."""
    cost = usd(total.nano_usd)
    whole: dict[str, Cell] = {**dict.fromkeys(_OF_A_PRICE), "ListCost": cost, "ContractedCost": cost}
    if meter.lane == _SURCHARGE:
        words = f"taxes and fees on {charge.model} at {charge.deployment}"
        return {**whole, "ChargeCategory": "Adjustment", "ChargeDescription": words}
    unit = "Searches" if meter.lane == "searches" else "Tokens"
    used: dict[str, Cell] = {
        "ChargeCategory": "Usage",
        "ChargeDescription": f"{charge.model} at {charge.deployment}: {meter.name.lower()}",
        "ConsumedQuantity": total.count,
        "ConsumedUnit": unit,
    }
    if meter.rate is None:
        return {**whole, **used}
    per_usd = Fraction(1) if charge.per_usd is None else Fraction(charge.per_usd)
    price, listed = _per_million(meter.rate), _per_million(meter.rate * per_usd)
    quantity = Decimal(total.count).scaleb(-_MILLION)
    of = {"x_ServiceTier": charge.service_tier, "x_PromptAbove": meter.above}
    details = {name: value for name, value in of.items() if value is not None}
    return {
        **used,
        "ListUnitPrice": price,
        "ContractedUnitPrice": price,
        "ListCost": _product(price, quantity),
        "ContractedCost": _product(price, quantity),
        "PricingCategory": "Standard",
        "PricingCurrencyContractedUnitPrice": listed,
        "PricingCurrencyListUnitPrice": listed,
        "PricingQuantity": quantity,
        "PricingUnit": f"1000000 {unit}",
        "SkuId": f"{offer.engine}/{charge.upstream_model}/{meter.lane}",
        "SkuMeter": meter.name,
        "SkuPriceId": "/".join((charge.deployment, charge.upstream_model, meter.lane, *map(str, details.values()))),
        "SkuPriceDetails": json.dumps(details) if details else None,
    }


_OF_A_PRICE = (
    "ConsumedQuantity",
    "ConsumedUnit",
    "ContractedUnitPrice",
    "ListUnitPrice",
    "PricingCategory",
    "PricingCurrencyContractedUnitPrice",
    "PricingCurrencyListUnitPrice",
    "PricingQuantity",
    "PricingUnit",
    "SkuId",
    "SkuMeter",
    "SkuPriceDetails",
    "SkuPriceId",
)


def _per_million(rate: Fraction) -> Decimal:
    """Dollars for a million, of nano-dollars for one: exact, or to eighteen digits behind the point."""
    price = rate / 1000
    with localcontext() as context:
        context.prec = _DIGITS
        found = Decimal(price.numerator) / price.denominator
        return found if Fraction(found) == price else found.quantize(_SCALE)


def _product(one: Decimal, other: Decimal) -> Decimal:
    with localcontext() as context:
        context.prec = _DIGITS
        return one * other
