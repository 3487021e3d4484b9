"""Small ledgers for tests of exports: settled attempts, written by the real writer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar

from gateway.catalog.prices import Price
from gateway.ledger.entries import Account, Bearer, Hold, Outcome, Settlement
from gateway.ledger.exports.offers import Offer
from gateway.ledger.price import charge
from gateway.ledger.writer import open_writer
from gateway.wire.lanes import Usage
from tests.gateway.ledger.samples import BOOT, ESTIMATE, K3, NOON, deployment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from gateway.catalog.deployments import Deployment

_T = TypeVar("_T")

K3_OFFER = Offer("Moonshot AI", "moonshot", (K3,))
OWN = Price(Decimal("0.05"), Decimal("0.40"), "our meter", date(2026, 11, 1), origin="machine")

_ANA = Account("ana", person="Ana")
_MOONSHOT = deployment()


@dataclass(frozen=True)
class Call:
    """One call that was made and settled."""

    usage: Usage
    at: datetime = NOON
    account: Account = _ANA
    on: Deployment = _MOONSHOT
    outcome: Outcome = "ok"
    bearer: Bearer = "principal"
    service_tier: str | None = None
    answered_model: str | None = None
    from_cache: bool = False
    settled: bool = True

    @property
    def nano_usd(self) -> int:
        """What it costs."""
        return 0 if self.from_cache else charge(self.usage, self.on.price, self.at, self.service_tier).nano_usd


async def write(where: Path | str, calls: Sequence[Call]) -> None:
    """Enter the calls in their order."""
    async with open_writer(where, BOOT) as writer:
        for number, call in enumerate(calls):
            hold = Hold(
                f"att-{number:04}", f"dec-{number}", f"req-{number}", 1, call.account, call.on, ESTIMATE, call.at
            )
            await writer.hold(hold)
            if call.settled:
                await writer.settle(_settlement(hold.id, call))


async def gathered(each: AsyncIterator[_T]) -> list[_T]:
    return [item async for item in each]


def hours(count: int) -> timedelta:
    return timedelta(hours=count)


def priced(price: Price, name: str = "moonshot-k3") -> Deployment:
    return replace(deployment(name), price=price)


def _settlement(attempt_id: str, call: Call) -> Settlement:
    charged = charge(call.usage, call.on.price, call.at, call.service_tier)
    return Settlement(
        attempt_id,
        call.usage,
        call.nano_usd,
        call.outcome,
        None,
        12,
        345,
        call.at,
        678,
        answered_model=call.answered_model,
        surcharge_nano_usd=0 if call.from_cache else charged.surcharge_nano_usd,
        service_tier=call.service_tier,
        assumed=charged.assumed,
        from_cache=call.from_cache,
        bearer=call.bearer,
    )
