"""Hand-made parts for tests: the zones and deployments of a small house, a ledger in memory, a resolver."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from gateway.catalog.deployments import Deployment, Limits, Price
from gateway.errors import BudgetExceeded
from gateway.ledger.attempt import attempt
from gateway.ledger.entries import Account, Hold
from gateway.wire.lanes import Usage
from policies.labels import Level, Sensitivity
from policies.zones import Addresses, Zone

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from gateway.db.decisions import DecisionRecord
    from gateway.ledger.attempt import Attempt
    from gateway.ledger.entries import Settlement
    from policies.labels import Label

DEVICE = Zone("device", Sensitivity(Level.SECRET), Addresses(frozenset({"loopback"})))
LAN = Zone("lan", Sensitivity(Level.SECRET), Addresses(frozenset({"private"})))
HOSTED = Zone("hosted", Sensitivity(Level.INTERNAL), Addresses(frozenset({"public"})))
NEAR_HOSTED = Zone("hosted", Sensitivity(Level.INTERNAL), Addresses(frozenset({"loopback"})))
"""A hosted zone whose hosts stand on loopback, where a test can reach them."""

_PRICE = Price(Decimal(2), Decimal(8), source="test", as_of=date(2026, 11, 1))
ESTIMATE = Usage(fresh=100, output=50, estimated=True)


def deployment(
    url: str, zone: Zone = DEVICE, *, name: str = "near", limits: Limits | None = None, api_key: str | None = None
) -> Deployment:
    """A deployment at a URL."""
    return Deployment(
        name=name,
        model="small",
        engine="openai",
        base_url=url,
        upstream_model="small",
        zone=zone,
        price=_PRICE,
        api_key=api_key,
        limits=limits or Limits(connect=5.0, first_byte=5.0, idle=5.0),
    )


@dataclass
class Ledger:
    """A ledger in memory: what was held and what was settled, in order."""

    held: list[Hold] = field(default_factory=list)
    settled: list[Settlement] = field(default_factory=list)
    too_dear: frozenset[str] = frozenset()
    """Deployments that the budget has no room for."""

    async def hold(self, hold: Hold) -> None:
        if hold.deployment.name in self.too_dear:
            raise BudgetExceeded("the budget is spent", retry_after="60")
        self.held.append(hold)

    async def settle(self, settlement: Settlement) -> None:
        self.settled.append(settlement)

    async def record(self, decision: DecisionRecord) -> None:
        raise NotImplementedError(decision)

    async def mark(self, digest: str, label: Label) -> None:
        raise NotImplementedError(digest)

    def attempt(self, at: Deployment, ordinal: int) -> AbstractAsyncContextManager[Attempt]:
        """Open an attempt as the chat path does."""
        now = datetime(2026, 11, 1, tzinfo=UTC)
        return attempt(self, Hold(f"att_{ordinal}", "dec_1", "req_1", ordinal, Account("ana"), at, ESTIMATE, now))


@dataclass
class Names:
    """A resolver whose names lead where the test says; the last answer of a name repeats."""

    answers: Mapping[str, Sequence[Sequence[str]]]
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str, _port: int) -> Sequence[str]:
        count = self.asked.count(host)
        self.asked.append(host)
        answers = self.answers[host]
        return answers[min(count, len(answers) - 1)]
