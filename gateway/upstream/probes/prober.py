"""Keeps the observations of a house's own deployments fresh; hosted ones are looked at only when somebody says so."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

import structlog

from gateway.upstream.guard import Target
from gateway.upstream.probes import look as looking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.catalog.deployments import Deployment
    from gateway.catalog.observed import Observation, Observed
    from gateway.catalog.packs import Loaded
    from gateway.upstream.guard import Guard

log = structlog.get_logger()

_SELF_HOSTED = frozenset({"vllm", "sglang", "tokenspeed", "llama_server", "ollama"})
_JITTER = (0.8, 1.2)


def now() -> datetime:
    return datetime.now(UTC)


class InForce(Protocol):
    """What holds the pack in force."""

    current: Loaded


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between two looks, each a little longer or shorter, so that several gateways do not look at once."""

    whole: float = 30.0
    """At all that a deployment says."""
    down: float = 10.0
    """The same of one that was not up: nobody is sent to it until it is seen again."""
    load: float = 5.0
    """At the load of one that had requests since, or that had many waiting, and at what changed in the pack."""


class Prober:
    """Looks at the deployments of the pack in force."""

    def __init__(
        self,
        guard: Guard,
        observed: Observed,
        packs: InForce,
        *,
        busy: Callable[[str], bool] = lambda _name: False,
        pace: Pace | None = None,
    ) -> None:
        self.observed = observed
        self.packs = packs
        self._guard = guard
        self._busy = busy
        """Whether a deployment, by its name, has requests of this process, or had some since this was last asked."""
        self._pace = pace or Pace()
        self._due: dict[str, float] = {}
        self._known: dict[str, Deployment] = {}

    async def run(self) -> None:
        """Look until cancelled: at once, and then at the pace."""
        while True:
            await self.round()
            await asyncio.sleep(_about(self._pace.load))

    async def round(self) -> None:
        """Look at each deployment of our own that is due."""
        deployments = self.packs.current.catalog.deployments
        self._forget_what_changed(deployments)
        await asyncio.gather(*(self._visit(deployment) for deployment in deployments if is_own(deployment)))

    async def probe(self, deployment: Deployment) -> Observation:
        """Look at all that a deployment says, wherever it is."""
        before = self.observed.of(deployment.name)
        seen = await looking.look(self._guard, deployment, now())
        _tell(deployment, before, seen)
        self._due[deployment.name] = time.monotonic() + _about(self._pace.whole if seen.up else self._pace.down)
        return self.observed.note(deployment.name, seen)

    async def _visit(self, deployment: Deployment) -> None:
        try:
            await self._look_if_due(deployment)
        except Exception as failure:  # the border of a task: one server's oddity must not end the looks at the others
            log.error("probe_failed", deployment=deployment.name, failure=failure)

    async def _look_if_due(self, deployment: Deployment) -> None:
        seen = self.observed.of(deployment.name)
        if seen is None or time.monotonic() >= self._due.get(deployment.name, 0.0):
            await self.probe(deployment)
        elif seen.up and (self._busy(deployment.name) or seen.waiting):  # who spills sends nothing to where many wait
            loaded = await looking.load(self._guard, deployment, seen, now())
            self.observed.note(deployment.name, loaded)

    def _forget_what_changed(self, deployments: Sequence[Deployment]) -> None:
        """A deployment that leads elsewhere than before has not been seen yet, though its name is the same."""
        present = {deployment.name: deployment for deployment in deployments}
        self.observed.forget(
            [name for name, known in self._known.items() if _place(known) != _place(present.get(name))]
        )
        self._due = {name: due for name, due in self._due.items() if self.observed.of(name) is not None}
        self._known = present


def is_own(deployment: Deployment) -> bool:
    """True if it may be looked at unasked: no host outside of the house's and the cluster's networks is ever called."""
    addresses = deployment.zone.addresses
    if addresses.classes & {"public", "any"} or Target.of(deployment) is None:
        return False
    return deployment.engine in _SELF_HOSTED or all(network.is_private for network in addresses.networks)


def _place(deployment: Deployment | None) -> tuple[object, ...] | None:
    if deployment is None:
        return None
    return deployment.base_url, deployment.engine, deployment.upstream_model, deployment.zone


def _about(seconds: float) -> float:
    return seconds * random.uniform(*_JITTER)  # noqa: S311 - spreads looks, protects nothing


def _tell(deployment: Deployment, before: Observation | None, seen: Observation) -> None:
    if before is None or (before.up, before.note) != (seen.up, seen.note):
        log.info("deployment_seen", deployment=deployment.name, up=seen.up, local=seen.local, note=seen.note)
