"""What an attempt's tokens would have cost on other deployments: estimates for comparing, never facts.

The lanes stay as they are, as if every tokenizer and every prefix cache were alike; but for the thoughts, of which each
model has more or fewer for the same answer (`gateway.ledger.ratios`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gateway.ledger.price import UnpricedLaneError, charge

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from gateway.catalog.deployments import Deployment
    from gateway.ledger.ratios import Ratios
    from gateway.wire.lanes import Usage


@dataclass(frozen=True, slots=True)
class Spent:
    """What one attempt used, and what that cost."""

    deployment: Deployment
    usage: Usage
    nano_usd: int
    at: datetime
    """When it began."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a request was chosen among."""

    all: tuple[Deployment, ...] = ()
    """Every deployment of the pack in force."""
    route: tuple[Deployment, ...] = ()
    """Those that it might go to."""
    withheld: tuple[Deployment, ...] = ()
    """Those that would have answered it and that its label kept it from."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """An attempt against what else could have been."""

    elsewhere: Mapping[str, int] = field(default_factory=dict)
    """Nano-dollars by the name of the other deployment."""
    privacy_nano_usd: int = 0
    """What staying where its label allows cost more than the cheapest deployment that it was kept from; never below 0.

    It counts from the cheapest of the route: what a dearer choice than that costs is no price of privacy.
    """
    routing_nano_usd: int = 0
    """What it cost less than the best-graded deployment of its route would have; below 0: more."""


def weigh(spent: Spent, choice: Choice, ratios: Ratios) -> Weighed:
    """Hold an attempt against all that the request was chosen among."""
    costs = compare(spent.usage, spent.deployment, choice.all, ratios, spent.at)
    known = {**costs, spent.deployment.name: spent.nano_usd}
    return Weighed(costs, _privacy(known, choice, spent), _routing(known, choice, spent))


def compare(
    usage: Usage, deployment: Deployment, others: Iterable[Deployment], ratios: Ratios, at: datetime
) -> dict[str, int]:
    """The same usage on each other deployment that could have had it, in nano-dollars by name."""
    costs: dict[str, int] = {}
    for other in others:
        if other.name == deployment.name or other.builtin or not _could_have(other, usage):
            continue
        try:
            costs[other.name] = charge(_there(usage, deployment, other, ratios), other.price, at).nano_usd
        except UnpricedLaneError:
            continue  # nobody knows what that would have cost there
    return costs


def _could_have(other: Deployment, usage: Usage) -> bool:
    """True if it has that kind of answer, and room for it; what nobody stated is not held against it."""
    if not usage.tokens and not usage.searches:
        return False
    if other.context is not None and usage.tokens > other.context:
        return False
    if usage.image_input and other.capabilities is not None and "vision" not in other.capabilities:
        return False
    return other.offers(_kind(usage))


def _kind(usage: Usage) -> str:
    if usage.rerank or usage.searches:
        return "rerank"
    return "embeddings" if usage.embedding else "chat"


def _there(usage: Usage, here: Deployment, other: Deployment, ratios: Ratios) -> Usage:
    """The usage with as many thoughts as the other has for this much of an answer, where both are known."""
    ratio = ratios.of(other)
    counted_apart = usage.reasoning or ratios.of(here) == 0
    if ratio is None or not usage.output or not counted_apart:
        return usage
    return replace(usage, reasoning=round(usage.output * ratio))


def _privacy(known: Mapping[str, int], choice: Choice, spent: Spent) -> int:
    withheld = [known[other.name] for other in choice.withheld if other.name in known]
    allowed = [known[other.name] for other in choice.route if other.name in known]
    if not withheld:
        return 0
    return max(0, min((*allowed, spent.nano_usd)) - min(withheld))


def _routing(known: Mapping[str, int], choice: Choice, spent: Spent) -> int:
    """Of several that are best, the cheapest counts: a saving is not made to look larger than it is."""
    comparable = [other for other in choice.route if other.name in known]
    if not comparable:
        return 0
    best = max(other.grade for other in comparable)
    return min(known[other.name] for other in comparable if other.grade == best) - spent.nano_usd
