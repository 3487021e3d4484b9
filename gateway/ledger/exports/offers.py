"""What a pack says of each deployment that a bill should say: who provides it, and what it may have cost."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gateway.catalog.price_lists import price_of, price_of_others
from gateway.catalog.prices import Price

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from policies.pack import Pack
    from policies.schema import DeploymentSpec

OWN_MACHINES = "Own machines"
"""The provider of what runs on machines of the house."""
OWN = frozenset({"machine", "house"})
"""Where the price of such a deployment comes from."""
_FREE = Price(Decimal(0), Decimal(0), source=None, as_of=None, origin="house")


@dataclass(frozen=True, slots=True)
class Offer:
    """One deployment as its pack has it now."""

    provider: str
    engine: str
    prices: tuple[Price, ...] = ()
    """Its price, and that of replies by another model."""


Offers = dict[str, Offer]
"""By deployment; one that has left the pack is not there any more."""


def offers_of(pack: Pack, today: date) -> Offers:
    """All of the pack's, with what they cost over time."""
    return {spec.name: _offer(spec, pack, today) for spec in pack.deployments}


def offer_of(offers: Mapping[str, Offer], deployment: str, origin: str | None) -> Offer:
    """A deployment's, as far as it is known. `origin` says where its price stood when it was called."""
    found = offers.get(deployment)
    if found is not None:
        return found
    if origin == "house":
        return Offer(OWN_MACHINES, "soleira", (_FREE,))
    return Offer(OWN_MACHINES if origin in OWN else deployment, deployment)


def _offer(spec: DeploymentSpec, pack: Pack, today: date) -> Offer:
    price, others = price_of(spec, pack, today), price_of_others(spec, pack, today)
    return Offer(_provider(spec, price), spec.engine, (price,) if others is None else (price, others))


def _provider(spec: DeploymentSpec, price: Price) -> str:
    """The operator that the pack names, else the host that is called; the house's machines are its own."""
    if spec.operator is not None:
        return spec.operator.name
    if price.origin in OWN:
        return OWN_MACHINES
    return urlsplit(spec.base_url).hostname or OWN_MACHINES
