"""Orders deployments by their state and by what the decision prefers; ties keep the pack's order."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

from gateway.ledger.price import charge
from gateway.wire.lanes import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.catalog.deployments import Deployment
    from gateway.routing.demand import Demand
    from policies.decide import Decision
    from policies.fields import Prefer

_EXPECTED_OUTPUT = 500
"""Tokens an answer is expected to have where the client set no limit below it."""


class Fleet(Protocol):
    """What is known now of the deployments."""

    def is_up(self, deployment: Deployment) -> bool:
        """False while it rests after failures, or was found down: it is tried last."""
        ...

    def waiting(self, deployment: Deployment) -> int:
        """Requests that wait for it, here and there."""
        ...

    def context(self, deployment: Deployment) -> int | None:
        """The tokens it takes; None if nobody said."""
        ...

    def is_blind(self, deployment: Deployment) -> bool:
        """True if it said itself that it sees no pictures."""
        ...


def ordered(deployments: Iterable[Deployment], decision: Decision, demand: Demand, fleet: Fleet) -> list[Deployment]:
    """Return the deployments best first.

    What the house itself adds comes last: `quotes` only repeats what it was given, and the embedder is there for houses
    that have connected none. Before it comes what is down, and what has more requests waiting than the rule bears
    (`spill`). Machines that are alike, of one model in one zone at one rank, share the load; where that is equal, a
    conversation stays with the machine that knows its beginning.
    """
    able = list(deployments)
    alike = {deployment.name: _group(able, deployment) for deployment in able}

    def key(deployment: Deployment) -> tuple[bool, bool, bool, int, int, int, bytes]:
        waiting = fleet.waiting(deployment)
        return (
            deployment.builtin,
            not fleet.is_up(deployment),
            decision.spill_above is not None and waiting > decision.spill_above,
            _rank(deployment, decision.prefer, demand),
            alike[deployment.name],
            waiting.bit_length(),
            _affinity(demand.affinity, deployment),
        )

    return sorted(able, key=key)


def _group(able: list[Deployment], deployment: Deployment) -> int:
    """The place in the pack of the first deployment that is like this one."""
    return next(
        position
        for position, other in enumerate(able)
        if (other.model, other.zone.name) == (deployment.model, deployment.zone.name)
    )


def _affinity(conversation: bytes, deployment: Deployment) -> bytes:
    """Rendezvous hashing: each conversation has an order of its own, which hardly changes as machines come and go."""
    if not conversation:
        return b""
    return hashlib.blake2b(deployment.name.encode(), key=conversation, digest_size=8).digest()


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
    return charge(Usage(fresh=demand.prompt_tokens, output=output), deployment.price, demand.at).nano_usd
