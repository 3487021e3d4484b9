"""Ledgers made up by chance, written as a gateway writes them, and what their rows come to when added up by hand."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from gateway.catalog.deployments import Price
from gateway.db import attempts, boots
from gateway.db.tables import MEASURES
from gateway.ledger.entries import Account, Hold, Settlement
from gateway.wire.lanes import LANES, Usage
from policies.zones import Addresses
from tests.gateway.ledger.samples import BOOT, HOSTED, deployment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.boots import Boot
    from gateway.ledger.entries import Bearer, Outcome
    from tests.db.stores import Store

Row = Mapping[str, Any]

START = datetime(2026, 10, 23, tzinfo=UTC)
MINUTES = 10 * 24 * 60
"""Ten days, over the end of a month, of weeks, and of summer time in Berlin."""
DEVICE = replace(HOSTED, name="device", addresses=Addresses(frozenset({"loopback"})))
CLUSTER = replace(HOSTED, name="cluster")
DEPLOYMENTS = (
    deployment("moonshot-k3", Price(Decimal("3.33"), Decimal("14.99"), "page", None, cached=Decimal("0.333333"))),
    deployment("our-k3", zone=CLUSTER),
    deployment("small-here", zone=DEVICE, model="qwen"),
)
ACCOUNTS = (
    Account("ana", person="Ana", tag="school", collections=("papers", "recipes"), label="private"),
    Account("ana", person="Ana", collections=("papers",), label="private"),
    Account("ana-phone", person="Ana", label="internal"),
    Account("rui", tag="work", collections=("recipes", "travel", "papers"), label="internal"),
    Account("rui", label="public"),
)
OUTCOMES: tuple[Outcome, ...] = ("ok", "ok", "ok", "aborted", "failed", "refused")


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt as it is going to be written; without a settlement it stays held."""

    hold: Hold
    settlement: Settlement | None


def calls(seed: int, count: int) -> list[Call]:
    """Some calls by chance: all outcomes, all lanes, several collections; one in ten is still held."""
    chance = random.Random(seed)
    return [_call(chance, number) for number in range(count)]


async def write(store: Store, made: Sequence[Call], boot: Boot = BOOT) -> None:
    """Write them as a gateway does."""
    async with store.writer(boot) as writer:
        await asyncio.gather(*(writer.hold(call.hold) for call in made))
        await asyncio.gather(*(writer.settle(call.settlement) for call in made if call.settlement is not None))


async def recover(engine: AsyncEngine) -> int:
    """Settle what is held, as if its owner had died; how many there were."""
    return sum([await attempts.recover(engine, owner, START) for owner in await boots.owners(engine)])


def added_up(found: Iterable[Row], holds: Callable[[Row], bool] = lambda row: True) -> dict[str, int]:
    """Each measure over the settled rows for which it holds, added one by one."""
    total = dict.fromkeys(MEASURES, 0)
    for row in found:
        if row["state"] != "held" and holds(row):
            for name, amount in _measures(row).items():
                total[name] += amount
    return total


def _measures(row: Row) -> dict[str, int]:
    return {
        "attempts": 1,
        "estimated": int(row["estimated"]),
        "assumed": int(row["assumed"]),
        "failed": int(row["outcome"] in ("failed", "unknown")),
        "aborted": int(row["outcome"] == "aborted"),
        "from_cache": int(row["from_cache"]),
        "house_nano_usd": row["cost_nano_usd"] if row["bearer"] == "house" else 0,
        "busy_ms": row["total_ms"] or 0,
        **{name: row[name] for name in MEASURES if name.endswith("_nano_usd") and name != "house_nano_usd"},
        **{lane: row[lane] for lane in LANES},
    }


def _call(chance: random.Random, number: int) -> Call:
    started_at = START + timedelta(minutes=chance.randrange(MINUTES), microseconds=chance.choice((0, 1, 999_999)))
    estimate = Usage(fresh=chance.randrange(5000), output=chance.randrange(5000), estimated=True)
    hold = Hold(
        id=f"att-{number}",
        decision_id=f"dec-{number}",
        request_id=f"req-{number}",
        ordinal=1,
        account=chance.choice(ACCOUNTS),
        deployment=chance.choice(DEPLOYMENTS),
        estimate=estimate,
        started_at=started_at,
    )
    return Call(hold, None if chance.random() < 0.1 else _settlement(chance, hold))


def _settlement(chance: random.Random, hold: Hold) -> Settlement:
    lanes = {lane: chance.choice((0, 0, chance.randrange(1_000_000))) for lane in LANES}
    bearer: Bearer = chance.choice(("principal", "house"))
    return Settlement(
        attempt_id=hold.id,
        usage=Usage(**lanes, estimated=chance.random() < 0.2),
        cost_nano_usd=chance.choice((0, 1, chance.randrange(10**15))),
        outcome=chance.choice(OUTCOMES),
        error_code=None,
        first_byte_ms=12,
        total_ms=chance.randrange(60_000),
        settled_at=hold.started_at + timedelta(minutes=40),
        bytes_out=1,
        surcharge_nano_usd=chance.randrange(10**9),
        saved_nano_usd=chance.randrange(10**9),
        privacy_nano_usd=chance.randrange(10**9),
        routing_nano_usd=chance.randrange(-(10**9), 10**9),
        assumed=chance.random() < 0.2,
        from_cache=chance.random() < 0.2,
        bearer=bearer,
    )
