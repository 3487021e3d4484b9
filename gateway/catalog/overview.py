"""Says of each deployment what the pack declares and what was seen of it, for people and programs."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from decimal import Decimal

    from gateway.catalog.deployments import Deployment, Price
    from gateway.catalog.observed import Observation, Observed
    from policies.schema import DeploymentSpec

_RETIRING = timedelta(days=60)
_OLD_PRICE = timedelta(days=180)


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
        "price": _price(deployment.price),
        "operator": spec.operator.model_dump() if spec and spec.operator else None,
        "weights": spec.weights if spec else None,
        "as_of": _iso(spec.as_of) if spec else None,
        "retires_on": _iso(spec.retires_on) if spec else None,
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


def _price(price: Price) -> dict[str, str | None]:
    return {
        "currency": price.currency,
        "input": _amount(price.input),
        "cached": _amount(price.cached),
        "output": _amount(price.output),
        "source": price.source,
        "as_of": _iso(price.as_of),
    }


def _amount(amount: Decimal | None) -> str | None:
    return None if amount is None else format(amount, "f")


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _warnings(
    deployment: Deployment, spec: DeploymentSpec | None, seen: Observation | None, today: date
) -> Iterator[str]:
    if spec is not None and spec.retires_on is not None and spec.retires_on - today <= _RETIRING:
        yield f"its operator {'took' if spec.retires_on <= today else 'takes'} the model away on {spec.retires_on}"
    price = deployment.price
    if price.as_of is not None and today - price.as_of > _OLD_PRICE and (price.input or price.output):
        yield f"its price was looked up on {price.as_of}: look again"
    if seen is None or not seen.up:
        return
    if deployment.context is not None and seen.context is not None and seen.context < deployment.context:
        yield f"the pack states a context of {deployment.context} tokens, it takes {seen.context}"
    if seen.vision is False and "vision" in (deployment.capabilities or ()):
        yield "the pack states vision, but it does not see: images would be ignored or refused"
