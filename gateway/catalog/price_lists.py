"""Turns what a pack says of prices into prices, each in force from a day on."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, get_args

from gateway.catalog.prices import ExchangeRate, Price, Surcharge
from gateway.catalog.rates import Change, Hours, Rates, ServiceTier, Tier
from policies.prices import Weekday, rate_on
from policies.pricing import PriceRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from policies.pack import Pack
    from policies.prices import HoursEntry, Origin, PerMillion, ServiceTierEntry, TierEntry, TokenPrice, Variation
    from policies.schema import DeploymentSpec

_DAY = timedelta(days=1)
_WEEKDAYS: tuple[str, ...] = get_args(Weekday)


def price_of(spec: DeploymentSpec, pack: Pack, today: date) -> Price:
    """What a deployment costs today, and all that it costs over time."""
    found = pack.priced.get(spec.name)
    rows = (PriceRow(spec.price, "deployment"),) if found is None else found.rows
    return _over_time(spec, pack, today, rows, None if found is None else found.otherwise)


def price_of_others(spec: DeploymentSpec, pack: Pack, today: date) -> Price | None:
    """What a reply by another model than the one that was asked costs; None: what the deployment costs."""
    if spec.replies.price is None:
        return None
    return _over_time(spec, pack, today, (PriceRow(spec.replies.price, "deployment"),), None)


def _over_time(
    spec: DeploymentSpec, pack: Pack, today: date, rows: Sequence[PriceRow], otherwise: PriceRow | None
) -> Price:
    prices: list[Price] = []
    for day in sorted(_changes(spec, pack, rows)):
        price = _on(day, spec, pack, rows, otherwise)
        if not prices or replace(price, starts_on=prices[-1].starts_on) != prices[-1]:
            prices.append(price)
    if len(prices) == 1:
        return prices[0]
    starts = [price.starts_on or date.min for price in prices]
    return replace(prices[bisect_right(starts, today) - 1], dated=tuple(prices))


def _changes(spec: DeploymentSpec, pack: Pack, rows: Sequence[PriceRow]) -> set[date]:
    """The days on which something about the price may change."""
    currencies = {row.price.currency for row in rows}
    days = {date.min, *(rate.as_of for rate in pack.exchange_rates if rate.currency in currencies)}
    paid = [each for each in pack.surcharges if each.concerns(spec.engine, spec.zone, spec.name)]
    stretches = [(row.starts_on, row.ends_on) for row in rows]
    for first, last in (*stretches, *((each.from_, each.until) for each in paid)):
        days |= {day for day in (first, last and last + _DAY) if day is not None}
    return days


def _on(day: date, spec: DeploymentSpec, pack: Pack, rows: Sequence[PriceRow], otherwise: PriceRow | None) -> Price:
    row, lapsed = in_force(day, rows, otherwise)
    rate = rate_on(pack.exchange_rates, row.price.currency, day)
    price = written_price(row.price, row.origin)
    return replace(
        price,
        multiplier=price.multiplier * row.multiplier,
        surcharges=tuple(_surcharges(day, spec, pack)),
        exchange_rate=None if rate is None else ExchangeRate(rate.per_usd, rate.as_of, rate.source),
        starts_on=None if day == date.min else day,
        ends_on=row.ends_on,
        lapsed=lapsed,
        retires_on=spec.retires_on or row.retires_on,
    )


def written_price(price: TokenPrice, origin: Origin) -> Price:
    """A price as it was written, without days, rates of exchange and surcharges."""
    rates = _rates(price.per_million, price.per_thousand_searches)
    lanes: dict[str, Any] = dict(rates.amounts)
    return Price(
        **lanes,
        source=price.source,
        as_of=price.as_of,
        currency=price.currency,
        tiers=_tiers(price.tiers),
        service_tiers=tuple(_service(name, entry) for name, entry in price.service_tiers.items()),
        hours=tuple(map(_hours, price.hours)),
        multiplier=price.multiplier,
        origin=origin,
    )


def in_force(day: date, rows: Sequence[PriceRow], otherwise: PriceRow | None) -> tuple[PriceRow, bool]:
    """The newest of the prices that hold, and whether it is only one that goes on for want of another."""
    begun = [row for row in rows if row.starts_on is None or row.starts_on <= day]
    held = [row for row in begun if row.ends_on is None or day <= row.ends_on]
    if held:
        return held[-1], False
    if otherwise is not None:
        return otherwise, False
    return (begun[-1] if begun else rows[0]), True


def _surcharges(day: date, spec: DeploymentSpec, pack: Pack) -> Iterator[Surcharge]:
    for surcharge in pack.surcharges:
        if surcharge.concerns(spec.engine, spec.zone, spec.name) and surcharge.is_paid_on(day):
            yield Surcharge(surcharge.name, surcharge.percent, surcharge.on)


def _rates(per_million: PerMillion, per_thousand_searches: Decimal | None) -> Rates:
    searches = None if per_thousand_searches is None else per_thousand_searches * 1000
    return Rates(**per_million.amounts, searches=searches)


def _change(entry: Variation) -> Change:
    if entry.per_million is None:
        return Change(factor=entry.factor or Decimal(1))
    return Change(_rates(entry.per_million, entry.per_thousand_searches))


def _tiers(entries: Sequence[TierEntry]) -> tuple[Tier, ...]:
    return tuple(Tier(entry.above, _change(entry)) for entry in entries)


def _service(name: str, entry: ServiceTierEntry) -> ServiceTier:
    return ServiceTier(name, _change(entry), None if entry.tiers is None else _tiers(entry.tiers))


def _hours(entry: HoursEntry) -> Hours:
    days = frozenset(_WEEKDAYS.index(day) for day in entry.weekdays or _WEEKDAYS)
    return Hours(entry.time_zone, entry.from_, entry.to, _change(entry), days)
