"""Quotas: what rate limits count (requests, tokens, calls at once), for each subject that a limit names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol
from urllib.parse import quote

from gateway.ledger import subjects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gateway.ledger.entries import Account
    from policies.budgets import Budgets, Rate, RateLimit

Counted = Literal["requests", "tokens", "calls"]

SLICES = 60
"""A period is counted in so many parts: what is counted falls out with its part, never before its period is over."""
_PREFIX = "soleira:{limits}:"
"""The braces keep all of them on one node of a cluster, as one script reads them together."""


@dataclass(frozen=True, slots=True)
class Quota:
    """One count against one limit. The same count has the same key in every process, whatever its limit is."""

    key: str
    whose: str
    """In words: `key 'ana'`."""
    counts: Counted
    limit: int
    period_ms: int
    """0 for calls at once."""
    amount: int
    """What the request adds."""

    @property
    def width_ms(self) -> int:
        """How long one part of the period is."""
        return max(-(-self.period_ms // SLICES), 1)

    def falls_out_ms(self, part: int) -> int:
        """The moment at which what was counted in this part no longer counts."""
        return (part + 1) * self.width_ms + self.period_ms


@dataclass(frozen=True, slots=True)
class Reading:
    """How a quota stands: what is used, the request included if it was let in."""

    used: int
    wait_ms: int
    """Until there is room; 0: there is; below 0: nobody knows, or never."""
    reset_ms: int
    """Until all of it is free again."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a request was let in, and how each of its quotas stands."""

    admitted: bool
    at_ms: int
    readings: tuple[Reading, ...]


class Counts(Protocol):
    """Where quotas are kept; a request is counted on all of its quotas or on none."""

    async def take(self, lease: str, quotas: Sequence[Quota]) -> Verdict: ...

    async def give_back(self, lease: str, quotas: Sequence[Quota], unused: int, at_ms: int) -> None:
        """End the calls of a lease, and take back the tokens (below 0: add some) that were counted at that moment."""
        ...


def quotas_of(budgets: Budgets, own: Iterable[RateLimit], account: Account, tokens: int) -> tuple[Quota, ...]:
    """The quotas that a request is counted on; where two limits count the same thing, the lower one's."""
    lowest: dict[str, Quota] = {}
    for limit in (*budgets.limits, *own):
        for name in subjects.of_request(limit.of, account):
            for quota in _quotas(limit, name, tokens):
                if quota.key not in lowest or quota.limit < lowest[quota.key].limit:
                    lowest[quota.key] = quota
    return tuple(lowest.values())


def most_tokens(budgets: Budgets, own: Iterable[RateLimit], account: Account) -> int | None:
    """How many tokens a single request can have at all; None: no limit says."""
    quotas = quotas_of(budgets, own, account, 0)
    return min((quota.limit for quota in quotas if quota.counts == "tokens"), default=None)


def _quotas(limit: RateLimit, name: str, tokens: int) -> Iterator[Quota]:
    if limit.requests is not None:
        yield _rated(limit, name, "requests", limit.requests, 1)
    if limit.tokens is not None:
        yield _rated(limit, name, "tokens", limit.tokens, tokens)
    if limit.concurrency is not None:
        yield Quota(_key(limit, name, "calls", 0), _whose(limit, name), "calls", limit.concurrency, 0, 1)


def _rated(limit: RateLimit, name: str, counts: Counted, rate: Rate, amount: int) -> Quota:
    return Quota(
        key=_key(limit, name, counts, rate.seconds),
        whose=_whose(limit, name),
        counts=counts,
        limit=rate.count,
        period_ms=rate.seconds * 1000,
        amount=amount,
    )


def _key(limit: RateLimit, name: str, counts: Counted, seconds: int) -> str:
    return f"{_PREFIX}{limit.of.kind}:{quote(name, safe='')}:{counts}:{seconds}"


def _whose(limit: RateLimit, name: str) -> str:
    return "the house" if limit.of.kind == "house" else f"{limit.of.kind} {name!r}"
