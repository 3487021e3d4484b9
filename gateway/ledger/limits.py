"""Lets requests in as often, as large and as many at once as their limits allow, over all processes."""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import structlog
from redis.exceptions import RedisError

from gateway.errors import RateLimitExceeded
from gateway.ledger.local_counts import LocalCounts
from gateway.ledger.quotas import Verdict, quotas_of
from gateway.ledger.shared_counts import SharedCounts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from redis.asyncio import Redis

    from gateway.ledger.entries import Account
    from gateway.ledger.quotas import Quota, Reading
    from policies.budgets import RateLimit
    from policies.pack import Pack

log = structlog.get_logger()

_LEASE_SECONDS = 30.0
"""So long the calls of a process that died count as under way."""
_RENEWALS = 6
"""In the time of one lease."""
_STORE_SECONDS = 1.0
_AWAY_SECONDS = 5.0
"""So long a store that did not answer is not asked again."""
_CALLS_HINT = "1"
_FREE = Verdict(admitted=True, at_ms=0, readings=())


class Limits:
    """The rate limits of one process over the store that all share.

    While the store is away each process counts for itself, which is said once; what it let in before is not forgotten.
    """

    def __init__(
        self,
        store: Redis | None = None,
        *,
        lease_seconds: float = _LEASE_SECONDS,
        store_seconds: float = _STORE_SECONDS,
        away_seconds: float = _AWAY_SECONDS,
        now: Callable[[], float] | None = None,
    ) -> None:
        """`now` None: the store's own clock, and this machine's while the store is away."""
        self._shared = None if store is None else SharedCounts(store, lease_seconds, now)
        self._here = LocalCounts(now or time.time)
        self._renew_seconds = lease_seconds / _RENEWALS
        self._store_seconds = store_seconds
        self._away_seconds = away_seconds
        self._away_until: float | None = None
        """By the loop's clock; None: the store answers."""
        self._leaving: set[asyncio.Future[None]] = set()

    @asynccontextmanager
    async def enter(
        self, pack: Pack, own: Iterable[RateLimit], account: Account, tokens: int
    ) -> AsyncGenerator[Grant, None]:
        """Count a request that may use so many tokens, and hold its place until the context is left.

        RateLimitExceeded if one of the pack's limits or of the key's own has no room; then nothing is counted.
        """
        quotas = quotas_of(pack.budgets, own, account, tokens)
        if not quotas:
            yield Grant()
            return
        lease = secrets.token_hex(8)
        taking = asyncio.ensure_future(self._take(lease, quotas))
        try:
            grant = await asyncio.shield(taking)
            if not grant.admitted:
                raise _refusal(grant)
            yield grant
        finally:
            leaving = asyncio.ensure_future(self._leave(lease, taking))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
            await asyncio.shield(leaving)

    async def keep(self) -> None:
        """Renew the leases of the calls under way, until cancelled."""
        while True:
            await asyncio.sleep(self._renew_seconds)
            await self.renew()

    async def renew(self) -> None:
        """Renew them once; one that ended meanwhile stays ended."""
        leases = self._here.leases()
        shared = self._reachable()
        if shared is None or not leases or not await self._heard(asyncio.ensure_future(shared.renew(leases))):
            return
        ended = [(key, lease) for key, lease in leases if not self._here.holds(key, lease)]
        if ended:
            await self._heard(asyncio.ensure_future(shared.end(ended)))

    async def _take(self, lease: str, quotas: tuple[Quota, ...]) -> Grant:
        shared = self._reachable()
        if shared is not None:
            asking = asyncio.ensure_future(shared.take(lease, quotas))
            if await self._heard(asking):
                verdict = asking.result()
                if verdict.admitted:
                    self._here.count(lease, quotas, verdict.at_ms)
                return Grant(quotas, verdict, shared=True)
        return Grant(quotas, await self._here.take(lease, quotas))

    async def _leave(self, lease: str, taking: asyncio.Future[Grant]) -> None:
        """Give back what was taken; who was cut off while it was being taken may have been let in."""
        grant = await taking
        if not grant.admitted:
            return
        at_ms, unused = grant.verdict.at_ms, grant.unused
        await self._here.give_back(lease, grant.quotas, unused, at_ms)
        if (shared := self._reachable()) is not None:
            unused = unused if grant.shared else 0
            await self._heard(asyncio.ensure_future(shared.give_back(lease, grant.quotas, unused, at_ms)))

    def _reachable(self) -> SharedCounts | None:
        """The store's counts, unless it did not answer a moment ago."""
        away = self._away_until is not None and asyncio.get_running_loop().time() < self._away_until
        return None if away else self._shared

    async def _heard(self, asking: asyncio.Future[Any]) -> bool:
        """True if the store answered in time; that it does not, or does again, is said once.

        What is asked is never cancelled from outside: a connection that is being made swallows that.
        """
        await asyncio.wait({asking}, timeout=self._store_seconds)
        failure = _failure(asking)
        loop = asyncio.get_running_loop()
        if failure is not None:
            if self._away_until is None:
                log.warning("limits_not_shared", failure=failure)
            self._away_until = loop.time() + self._away_seconds
            return False
        if self._away_until is not None:
            log.info("limits_shared_again")
            self._away_until = None
        return True


def _failure(asking: asyncio.Future[Any]) -> Exception | None:
    """Why the store did not answer; an answer that is too late is let go, and its lease ends by itself."""
    if not asking.done():
        asking.add_done_callback(lambda late: late.cancelled() or late.exception())
        asking.cancel()
        return TimeoutError("it did not answer in time")
    failure = asking.exception()
    if failure is None or isinstance(failure, RedisError | OSError):
        return failure
    raise failure


@dataclass
class Grant:
    """A request that was let in, and how its quotas stand; without a limit there are none."""

    quotas: tuple[Quota, ...] = ()
    verdict: Verdict = _FREE
    shared: bool = False
    """True if the store counted it, too."""
    unused: int = field(default=0, init=False)
    """Tokens that were counted and not used; below 0: used and not counted."""

    @property
    def admitted(self) -> bool:
        return self.verdict.admitted

    @property
    def readings(self) -> tuple[Reading, ...]:
        return self.verdict.readings

    def used(self, tokens: int) -> None:
        """Say how many tokens it came to; the difference is made good when the request ends."""
        counted = next((quota.amount for quota in self.quotas if quota.counts == "tokens"), tokens)
        self.unused = counted - tokens

    def headers(self) -> dict[str, str]:
        """The headers by which OpenAI tells a client its limits: of several the one with the least left."""
        return {**self._headers("requests"), **self._headers("tokens")}

    def _headers(self, counts: Literal["requests", "tokens"]) -> dict[str, str]:
        standing = [
            (max(quota.limit - reading.used, 0), quota.limit, reading.reset_ms)
            for quota, reading in zip(self.quotas, self.readings, strict=True)
            if quota.counts == counts
        ]
        if not standing:
            return {}
        left, limit, reset_ms = min(standing)
        return {
            f"x-ratelimit-limit-{counts}": str(limit),
            f"x-ratelimit-remaining-{counts}": str(left),
            f"x-ratelimit-reset-{counts}": _duration(reset_ms),
        }


def _refusal(grant: Grant) -> RateLimitExceeded:
    """Tell of the quota that has to be waited for longest; one that never has room is not to be waited for."""
    full = [pair for pair in zip(grant.quotas, grant.readings, strict=True) if pair[1].wait_ms]
    never = [quota for quota, _ in full if quota.amount > quota.limit]
    if never:
        return RateLimitExceeded(_too_large(never[0]), headers={**grant.headers(), "x-should-retry": "false"})
    quota, reading = max(full, key=lambda pair: pair[1].wait_ms)
    if quota.counts == "calls":
        message = f"{_may(quota)}, and has them: try again when one has ended"
        return RateLimitExceeded(message, retry_after=_CALLS_HINT, headers=grant.headers())
    seconds = max(math.ceil(reading.wait_ms / 1000), 1)
    left = max(quota.limit - reading.used, 0)
    return RateLimitExceeded(
        f"{_may(quota)}, of which {left} are left{_asked(quota)}: try again in {seconds} s",
        retry_after=str(seconds),
        headers=grant.headers(),
    )


def _may(quota: Quota) -> str:
    if quota.counts == "calls":
        return f"{quota.whose} may have {quota.limit} calls under way at once"
    return f"{quota.whose} may have {quota.limit} {quota.counts} a {_PERIODS[quota.period_ms]}"


def _asked(quota: Quota) -> str:
    return f", and this request may use {quota.amount}" if quota.counts == "tokens" else ""


def _too_large(quota: Quota) -> str:
    return (
        f"{_may(quota)}, and this request alone may use {quota.amount}: "
        "ask for a shorter answer (max_tokens), send less, or have the limit raised"
    )


_PERIODS = {1_000: "second", 60_000: "minute", 3_600_000: "hour", 86_400_000: "day"}


def _duration(milliseconds: int) -> str:
    """As OpenAI writes it: `340ms`, `12s`, `6m0s`; never less than it is."""
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    minutes, seconds = divmod(math.ceil(milliseconds / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{seconds}s" if hours else f"{minutes}m{seconds}s" if minutes else f"{seconds}s"
