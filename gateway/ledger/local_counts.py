"""Quotas kept in this process's memory: what holds while no store answers."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from gateway.ledger.quotas import Reading, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.ledger.quotas import Quota

_MOST_QUOTAS = 10_000


class LocalCounts:
    """The counts of one process; its calls end with it, so their leases need no end of their own."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._parts: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._leases: defaultdict[str, set[str]] = defaultdict(set)
        self._ends: dict[str, int] = {}
        """When all that a quota counts has fallen out."""

    async def take(self, lease: str, quotas: Sequence[Quota]) -> Verdict:
        """Count the request on all quotas if each has room."""
        now = self._now_ms()
        readings = [self._read(quota, now) for quota in quotas]
        admitted = not any(reading.wait_ms for reading in readings)
        if admitted:
            readings = self.count(lease, quotas, now)
        return Verdict(admitted, now, tuple(readings))

    def count(self, lease: str, quotas: Sequence[Quota], now: int) -> list[Reading]:
        """Count the request at a moment, whether there is room or not: another place may have let it in."""
        self._forget(now)
        for quota in quotas:
            if not quota.period_ms:
                self._leases[quota.key].add(lease)
                continue
            part = now // quota.width_ms
            parts = self._parts[quota.key]
            parts[part] = parts.get(part, 0) + quota.amount
            self._ends[quota.key] = quota.falls_out_ms(part)
        return [self._read(quota, now, counted=True) for quota in quotas]

    async def give_back(self, lease: str, quotas: Sequence[Quota], unused: int, at_ms: int) -> None:
        """End the lease, and take unused tokens back out of the part that they were counted in."""
        for quota in quotas:
            if quota.counts == "calls":
                self._leases[quota.key].discard(lease)
            elif quota.counts == "tokens":
                part, parts = at_ms // quota.width_ms, self._parts[quota.key]
                if part in parts:
                    parts[part] -= unused

    def leases(self) -> list[tuple[str, str]]:
        """The keys of quotas of calls, each with a lease that this process holds on it."""
        return [(key, lease) for key, leases in self._leases.items() for lease in leases]

    def holds(self, key: str, lease: str) -> bool:
        return lease in self._leases[key]

    def _read(self, quota: Quota, now: int, *, counted: bool = False) -> Reading:
        amount = 0 if counted else quota.amount
        if not quota.period_ms:
            used = len(self._leases[quota.key])
            return Reading(used, -1 if used + amount > quota.limit else 0, 0)
        parts = self._parts[quota.key]
        for part in [part for part in parts if quota.falls_out_ms(part) <= now]:
            del parts[part]
        used, reset = sum(parts.values()), quota.falls_out_ms(max(parts)) - now if parts else 0
        return Reading(used, 0 if counted else _wait(quota, parts, now), reset)

    def _forget(self, now: int) -> None:
        """Let go of quotas that count nothing any more, once there are many."""
        if len(self._ends) + len(self._leases) < _MOST_QUOTAS:
            return
        for key in [key for key, end in self._ends.items() if end <= now]:
            del self._ends[key]
            self._parts.pop(key, None)
        for key in [key for key, leases in self._leases.items() if not leases]:
            del self._leases[key]

    def _now_ms(self) -> int:
        return int(self._now() * 1000)


def _wait(quota: Quota, parts: dict[int, int], now: int) -> int:
    """Until enough of what is counted has fallen out."""
    if quota.amount > quota.limit:
        return -1
    too_many = sum(parts.values()) + quota.amount - quota.limit
    for part in sorted(parts):
        if too_many <= 0:
            return 0
        too_many -= parts[part]
        if too_many <= 0:
            return quota.falls_out_ms(part) - now
    return 0 if too_many <= 0 else -1
