"""Orders deployments by what the decision prefers; ties keep the pack's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.ledger.price import estimate, nano_usd
from policies.pack import QUOTES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.catalog.deployments import Deployment
    from gateway.routing.demand import Demand
    from policies.schema import Prefer

_EXPECTED_OUTPUT = 500
"""Tokens an answer is expected to have where the client set no limit below it."""


def ordered(deployments: Iterable[Deployment], prefer: Prefer, demand: Demand) -> list[Deployment]:
    """Return the deployments best first; `quotes` always comes last, since it only repeats what it was given."""
    return sorted(deployments, key=lambda d: (d.engine == QUOTES, _rank(d, prefer, demand)))


def _rank(deployment: Deployment, prefer: Prefer, demand: Demand) -> int:
    match prefer:
        case "cheapest":
            return _expected_cost(deployment, demand)
        case "best":
            return -deployment.grade
        case _:  # no speed has been measured yet, so `fastest` and `steady` keep the pack's order
            return 0


def _expected_cost(deployment: Deployment, demand: Demand) -> int:
    output = min(demand.max_output or _EXPECTED_OUTPUT, _EXPECTED_OUTPUT)
    return nano_usd(estimate(demand.prompt_tokens, output, deployment.price), deployment.price)
