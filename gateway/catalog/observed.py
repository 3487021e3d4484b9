"""What was last seen of each deployment, by probes and by the traffic that passed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from gateway.catalog.deployments import is_model_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from gateway.catalog.deployments import Deployment
    from gateway.wire.lanes import Usage

_REMEMBERED_NAMES = 16
_SAME_MOMENT = timedelta(seconds=10)
"""Traffic within it renews nothing: answers come far more often than anybody looks."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A deployment as it was seen at one time; None is what it did not say."""

    at: datetime
    up: bool
    """True if a call would have been answered."""
    local: bool = True
    """False if it answers from outside of its zone, whatever its address is."""
    models: tuple[str, ...] = ()
    context: int | None = None
    vision: bool | None = None
    slots: int | None = None
    running: int | None = None
    waiting: int | None = None
    cache_use: float | None = None
    """Share of its key-value cache in use, 0 to 1."""
    prefix_hits: float | None = None
    """Share of prompt tokens that it found in its prefix cache, 0 to 1."""
    reports_cached: bool | None = None
    """True if its answers have told of cached tokens."""
    version: str | None = None
    note: str | None = None
    """What a person should know of it."""


class Observed:
    """The latest observation of each deployment of one process."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._latest: dict[str, Observation] = {}

    def of(self, name: str) -> Observation | None:
        """What was last seen of a deployment; None if nothing was."""
        return self._latest.get(name)

    def context(self, deployment: Deployment) -> int | None:
        """The tokens it takes: what the pack states or what it says itself, the smaller where both do."""
        seen = self.of(deployment.name)
        known = [size for size in (deployment.context, seen.context if seen else None) if size is not None]
        return min(known, default=None)

    def slots(self, deployment: Deployment) -> int | None:
        """The requests it answers at once: what the pack states, else what it says itself."""
        if deployment.queue.slots is not None:
            return deployment.queue.slots
        seen = self.of(deployment.name)
        return seen.slots if seen else None

    def note(self, name: str, seen: Observation) -> Observation:
        """Take in what a probe saw; what only answers tell is kept from before."""
        before = self.of(name)
        if before is not None and seen.reports_cached is None:
            seen = replace(seen, reports_cached=before.reports_cached)
        self._latest[name] = seen
        return seen

    def note_traffic(self, name: str, usage: Usage, model: str | None) -> None:
        """Take in an answer that came: all that is ever learnt of hosted deployments unless somebody asks."""
        at = self._now()
        before = self.of(name)
        model = model if model is not None and is_model_name(model) else None
        if before is None:
            before = Observation(at, up=True)
        elif _says_nothing_new(before, at, usage, model):
            return
        reports = True if usage.cached else before.reports_cached
        models = before.models if model is None or model in before.models else (*before.models, model)
        if before.up:
            seen = replace(before, at=at, reports_cached=reports, models=models[:_REMEMBERED_NAMES])
        else:
            seen = Observation(at, up=True, reports_cached=reports, models=models[:_REMEMBERED_NAMES])
        self._latest[name] = seen

    def forget(self, names: Collection[str]) -> None:
        """Forget deployments that are gone or became others."""
        for name in names:
            self._latest.pop(name, None)


def _says_nothing_new(before: Observation, at: datetime, usage: Usage, model: str | None) -> bool:
    told = before.reports_cached or not usage.cached
    known = model is None or model in before.models or len(before.models) >= _REMEMBERED_NAMES
    return bool(before.up and told and known and at - before.at < _SAME_MOMENT)
