"""What a host charges, of a scenario's own prices or of a deployment of the pack."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.catalog.price_lists import price_of
from gateway.economics.scenario import MILLION, Hosted, LanePrice, VolumeTier
from gateway.errors import BadRequest
from gateway.owning.told import Origin
from gateway.wire.lanes import LANES
from policies.problems import closest

if TYPE_CHECKING:
    from gateway.catalog.meters import Meter
    from gateway.catalog.prices import Price
    from gateway.owning.inputs.exchange import Exchange
    from gateway.owning.told import Told
    from policies.pack import Pack
    from policies.scenarios import HostedEntry, HostedLanes, ScenarioEntry

_UNIT = "USD/M tokens"
_NANO = 10**9
_HALF_AN_HOUR = timedelta(minutes=30)
_HALVES_A_WEEK = 2 * 24 * 7


def hosted(entry: ScenarioEntry, exchange: Exchange, pack: Pack | None, told: Told) -> Hosted:
    """The host's prices in dollars, with the owner's taxes."""
    terms = entry.hosted
    stated = told.stated(terms)
    listed = _price(terms, exchange, pack, told)
    price = _taxed(listed.price, entry, told)
    for name, share in (("retry_overhead", terms.retry_overhead), ("privacy_premium", terms.privacy_premium)):
        if share:
            told.figure(f"hosted.{name}", share, "share", stated)
    for tier in terms.tiers:
        above = tier.above_million_tokens
        told.figure(f"hosted.above_{float(above):g}_million", Fraction(tier.factor), "x", stated)
    least = terms.minimum_per_month
    minimum = Fraction(0) if least is None else exchange.usd(least.amount, least.currency)
    if minimum:
        told.figure("hosted.minimum_per_month", minimum, "USD/month", stated)
    return Hosted(
        price=_chosen(replace(listed, price=price), told),
        tiers=tuple(VolumeTier(tier.above_million_tokens * MILLION, Fraction(tier.factor)) for tier in terms.tiers),
        decline_per_year=_decline(terms, told),
        retry_overhead=terms.retry_overhead,
        privacy_premium=terms.privacy_premium,
        minimum_usd=minimum,
    )


def _decline(terms: HostedEntry, told: Told) -> Fraction:
    known = "decline_per_year" in terms.model_fields_set
    if known or "decline_per_year" in told.overrides:
        return told.chosen("decline_per_year", terms.decline_per_year, "share", told.stated(terms))
    told.figure("hosted.decline_per_year", Fraction(0), "share", Origin("default", "nobody stated it: prices stay"))
    return Fraction(0)


@dataclass(frozen=True, slots=True)
class _Listed:
    """Prices with where they come from."""

    price: LanePrice
    origin: Origin
    cached_is_stated: bool
    """False: nobody says what cached input costs, and it counts as input does."""


def _price(terms: HostedEntry, exchange: Exchange, pack: Pack | None, told: Told) -> _Listed:
    if terms.per_million is not None and terms.currency is not None:
        return _stated(terms, terms.per_million, terms.currency, exchange, told)
    return _of_deployment(terms.deployment or "", pack, told)


def _stated(terms: HostedEntry, lanes: HostedLanes, currency: str, exchange: Exchange, told: Told) -> _Listed:
    source = told.stated(terms).source
    if currency != "USD":
        rate = exchange.rate(currency)
        source += "" if rate is None else f", in {currency} at {rate.per_usd} for a dollar ({rate.as_of})"
    if terms.multiplier != 1:
        source += f", times {terms.multiplier}"
    writes = lanes.input if lanes.cache_write_5m is None else lanes.cache_write_5m

    def usd(amount: Decimal) -> Fraction:
        return exchange.usd(amount * terms.multiplier, currency)

    price = LanePrice(
        fresh=usd(lanes.input),
        output=usd(lanes.output),
        cached=usd(lanes.input if lanes.cached is None else lanes.cached),
        cache_write_5m=usd(writes),
        cache_write_1h=usd(writes if lanes.cache_write_1h is None else lanes.cache_write_1h),
    )
    return _Listed(price, Origin("stated", source, terms.as_of), lanes.cached is not None)


def _of_deployment(name: str, pack: Pack | None, told: Told) -> _Listed:
    spec = None if pack is None else next((spec for spec in pack.deployments if spec.name == name), None)
    if pack is None or spec is None:
        meant = None if pack is None else closest(name, [spec.name for spec in pack.deployments])
        hint = f"; did you mean {meant!r}?" if meant else ": name one of the pack, or state per_million"
        raise BadRequest(f"hosted.deployment {name!r} is no deployment{hint}", param="hosted.deployment")
    noon = datetime.combine(told.at, time(12), tzinfo=UTC)
    price = price_of(spec, pack, told.at).at(noon)
    if price.is_free or spec.owned:
        raise BadRequest(
            f"hosted.deployment {name!r} costs what a machine of the house does: name one that somebody else charges",
            param="hosted.deployment",
        )
    return _metered(name, price, noon, told)


def _metered(name: str, price: Price, noon: datetime, told: Told) -> _Listed:
    """The price of a standard request, over a week's average where it hangs on the hour; long prompts' is told."""
    moments = [noon + half * _HALF_AN_HOUR for half in range(_HALVES_A_WEEK)] if price.hours else [noon]
    schedule = price.meters.services(noon).standard
    if schedule.above:
        told.note("prices_by_prompt", deployment=name, prompt_tokens=schedule.above[0])
    if price.hours:
        told.note("prices_by_hour", deployment=name)
    times = Counter(price.meters.services(moment).standard.meters[0] for moment in moments)

    def usd(lane: str) -> Fraction:
        amounts = (_per_million(meter, lane) * number for meter, number in times.items())
        return sum(amounts, Fraction(0)) / len(moments)

    lanes = LanePrice(usd("fresh"), usd("output"), usd("cached"), usd("cache_write_5m"), usd("cache_write_1h"))
    is_stated = not schedule.meters[0].assumed[LANES.index("cached")]
    return _Listed(lanes, Origin("stated", _read_where(name, price), price.as_of), is_stated)


def _per_million(meter: Meter, lane: str) -> Fraction:
    """In dollars, surcharges included."""
    numerator = meter.numerators[LANES.index(lane)]
    assert numerator is not None  # noqa: S101 - a price states input and output, and of them the others are made
    return Fraction(numerator, meter.per) * Fraction(*meter.on_top) * MILLION / _NANO


def _read_where(name: str, price: Price) -> str:
    where = f"price of deployment {name!r}"
    return f"{where}: {price.source}" if price.source else where


def _taxed(price: LanePrice, entry: ScenarioEntry, told: Told) -> LanePrice:
    factor = Fraction(entry.taxes.get("hosted", Decimal(1)))
    if factor == 1:
        return price
    told.figure("taxes.hosted", factor, "x", told.stated())
    lanes = (price.fresh, price.output, price.cached, price.cache_write_5m, price.cache_write_1h)
    return LanePrice(*(lane * factor for lane in lanes))


def _chosen(listed: _Listed, told: Told) -> LanePrice:
    price, origin = listed.price, listed.origin
    writes = (price.cache_write_5m, price.cache_write_1h)
    fresh = told.chosen("input", price.fresh, _UNIT, origin)
    if listed.cached_is_stated:
        cached = told.chosen("cached", price.cached, _UNIT, origin)
    else:
        if "cached" not in told.overrides:
            told.note("no_cached_price")
        cached = told.chosen("cached", fresh, _UNIT, Origin("default", "nobody stated it: the price of input"))
    output = told.chosen("output", price.output, _UNIT, origin)
    for name, amount in zip(("cache_write_5m", "cache_write_1h"), writes, strict=True):
        if amount != price.fresh:
            told.figure(f"hosted.{name}", amount, _UNIT, origin)
    five, hour = (fresh if amount == price.fresh else amount for amount in writes)
    return LanePrice(fresh=fresh, output=output, cached=cached, cache_write_5m=five, cache_write_1h=hour)
