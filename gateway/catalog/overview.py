"""Says of each deployment what the pack declares and what was seen of it, for people and programs."""

from __future__ import annotations

from dataclasses import asdict, fields
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, get_args

from policies.prices import Weekday

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateway.catalog.deployments import Deployment, Price
    from gateway.catalog.observed import Observation, Observed
    from gateway.catalog.rates import Change, Hours, ServiceTier
    from policies.schema import DeploymentSpec

_WEEKDAYS: tuple[str, ...] = get_args(Weekday)
_RETIRING = timedelta(days=60)
_OLD_PRICE = timedelta(days=180)
_OLD_RATE = timedelta(days=45)
_WRITE_CACHES = frozenset({"anthropic"})
"""Engines that charge more for input that they keep in their prefix cache."""


def rows(
    deployments: Sequence[Deployment], specs: Sequence[DeploymentSpec], observed: Observed, today: date
) -> list[dict[str, Any]]:
    """One row a deployment that has an address, in their order."""
    written = {spec.name: spec for spec in specs}
    return [row(d, written.get(d.name), observed, today) for d in deployments if d.base_url]


def row(deployment: Deployment, spec: DeploymentSpec | None, observed: Observed, today: date) -> dict[str, Any]:
    """One deployment; None is what nobody knows."""
    seen = observed.of(deployment.name)
    return {
        "name": deployment.name,
        "model": deployment.model,
        "engine": deployment.engine,
        "zone": deployment.zone.name,
        "state": _state(deployment, seen),
        "up": seen.up if seen else None,
        "local": seen.local if seen else None,
        "context": observed.context(deployment),
        "vision": _vision(deployment, seen),
        "slots": observed.slots(deployment),
        **_load(seen),
        "price": priced(deployment.price.at(_noon(today))),
        "operator": spec.operator.model_dump() if spec and spec.operator else None,
        "weights": spec.weights if spec else None,
        "as_of": _iso(spec.as_of) if spec else None,
        "retires_on": _iso(_gone(deployment, spec)),
        "note": seen.note if seen else None,
        "warnings": list(_warnings(deployment, spec, seen, today)),
    }


def _state(deployment: Deployment, seen: Observation | None) -> str:
    if seen is None:
        return "unknown"
    if not seen.local:
        return "not local"
    if seen.up:
        return "up"
    return "asleep" if deployment.wake else "down"


def _vision(deployment: Deployment, seen: Observation | None) -> bool | None:
    """What it says itself; else what the pack states, where it states anything."""
    if seen is not None and seen.vision is not None:
        return seen.vision
    return None if deployment.capabilities is None else "vision" in deployment.capabilities


def _load(seen: Observation | None) -> Mapping[str, Any]:
    names = ("running", "waiting", "cache_use", "prefix_hits", "reports_cached", "version")
    facts = {name: getattr(seen, name, None) for name in names}
    return {**facts, "models": list(seen.models) if seen else [], "seen_at": seen.at.isoformat() if seen else None}


def priced(price: Price) -> dict[str, Any]:
    """A price as it is paid, every digit of it, without what comes on top; lanes that it does not name are None."""
    rate, share = price.exchange_rate, price.multiplier
    return {
        "currency": price.currency,
        **{field.name: _amount(getattr(price.rates, field.name), share) for field in fields(price.rates)},
        "tiers": [{"above": tier.above, **_changed(tier.change, share)} for tier in price.tiers],
        "service_tiers": {tier.name: _service(tier, share) for tier in price.service_tiers},
        "hours": [_hours(hours, share) for hours in price.hours],
        "multiplier": _amount(share),
        "surcharges": [{**asdict(each), "percent": _amount(each.percent)} for each in price.surcharges],
        "per_usd": _amount(rate.per_usd) if rate else None,
        "per_usd_as_of": _iso(rate.as_of) if rate else None,
        "source": price.source,
        "as_of": _iso(price.as_of),
        "origin": price.origin,
        "from": _iso(price.starts_on),
        "until": _iso(price.ends_on),
    }


def _changed(change: Change, share: Decimal) -> dict[str, Any]:
    if change.rates is None:
        return {"factor": _amount(change.factor)}
    return {lane: _amount(amount, share) for lane, amount in change.rates.amounts.items()}


def _service(service: ServiceTier, share: Decimal) -> dict[str, Any]:
    tiers = [{"above": tier.above, **_changed(tier.change, share)} for tier in service.tiers or ()]
    return {**_changed(service.change, share), **({"tiers": tiers} if tiers else {})}


def _hours(hours: Hours, share: Decimal) -> dict[str, Any]:
    begin, end = (each.isoformat("minutes") for each in (hours.start, hours.end))
    days = [_WEEKDAYS[day] for day in sorted(hours.weekdays)]
    return {"from": begin, "to": end, "time_zone": hours.zone.key, "weekdays": days, **_changed(hours.change, share)}


def _amount(amount: Decimal | None, share: Decimal = Decimal(1)) -> str | None:
    if amount is None:
        return None
    return format(amount if share == 1 else (amount * share).normalize(), "f")


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _warnings(
    deployment: Deployment, spec: DeploymentSpec | None, seen: Observation | None, today: date
) -> Iterator[str]:
    yield from retiring(_gone(deployment, spec), today)
    yield from price_warnings(deployment.price, deployment.engine, today)
    if seen is None or not seen.up:
        return
    if deployment.context is not None and seen.context is not None and seen.context < deployment.context:
        yield f"the pack states a context of {deployment.context} tokens, it takes {seen.context}"
    if seen.vision is False and "vision" in (deployment.capabilities or ()):
        yield "the pack states vision, but it does not see: images would be ignored or refused"


def _gone(deployment: Deployment, spec: DeploymentSpec | None) -> date | None:
    return (spec.retires_on if spec else None) or deployment.price.retires_on


def retiring(gone: date | None, today: date) -> Iterator[str]:
    if gone is not None and gone - today <= _RETIRING:
        yield f"its operator {'took' if gone <= today else 'takes'} the model away on {gone}"


def price_warnings(whole: Price, engine: str, today: date) -> Iterator[str]:
    """What of a deployment's price is to be looked at again."""
    price = whole.at(_noon(today))
    if price.is_free:
        return
    if price.lapsed:
        yield _lapsed(price)
    elif price.ends_on is not None and price.ends_on - today <= _RETIRING and not _goes_on(whole, price):
        yield f"its price holds until {price.ends_on}, and nothing says what comes then: add it to prices.yaml"
    if price.as_of is not None and today - price.as_of > _OLD_PRICE:
        yield f"its price was looked up on {price.as_of}: look again"
    rate = price.exchange_rate
    if rate is not None and today - rate.as_of > _OLD_RATE:
        yield f"the exchange rate of {price.currency} is of {rate.as_of}: add today's to prices.yaml"
    if engine in _WRITE_CACHES and price.cache_write_5m is None:
        yield "its price names no cache_write_5m: what is written into the cache is charged as input, and flagged"


def _lapsed(price: Price) -> str:
    if price.ends_on is not None:
        return f"its price ended on {price.ends_on}, and is charged on for want of another: add the next one"
    return "no price holds today: the first that begins is charged, and flagged"


def _goes_on(whole: Price, price: Price) -> bool:
    """True if another price follows this one."""
    last = price.ends_on
    return last is not None and not whole.at(_noon(last + timedelta(days=1))).lapsed


def _noon(day: date) -> datetime:
    return datetime.combine(day, time(12), tzinfo=UTC)
