"""A ledger of known sums: calls of two people over two months, entered through the writer as all calls are."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from gateway.ledger import budgets
from gateway.ledger.entries import Account, Hold, Settlement
from gateway.wire.lanes import Usage
from tests.gateway.house import RULES, deployment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateway.ledger.entries import Outcome
    from gateway.runtime import Runtime

SAO_PAULO = ZoneInfo("America/Sao_Paulo")
NOW = datetime(2026, 11, 25, 18, 10, tzinfo=UTC)
"""A Wednesday, ten past three in the afternoon in São Paulo."""

ZONES: dict[str, Any] = {
    **RULES,
    "zones": {
        "device": {"clearance": "secret", "addresses": "loopback"},
        "cluster": {"clearance": "private", "addresses": "any"},
        "hosted": {"clearance": "internal", "addresses": "any"},
    },
}
_LOOKED_UP = {"source": "test", "as_of": "2026-11-01"}
FILES: dict[str, Any] = {
    "prices.yaml": {
        "exchange_rates": [{"currency": "BRL", "per_usd": "5.40", "as_of": "2026-11-20", "source": "test"}],
    },
    "break_even.yaml": {
        "machines": {
            "k3-node": {
                "marginal": {"currency": "USD", "per_million": {"input": 0.03, "output": 0.12}, **_LOOKED_UP},
                "slots": 8,
                "rent": {"per_hour": "0.11", "currency": "USD", "from": "2026-11-01"},
            },
        },
    },
    "budgets.yaml": {
        "time_zone": "America/Sao_Paulo",
        "holidays": ["BR"],
        "currency": "BRL",
        "tags": ["reports"],
        "budgets": [{"name": "whole house", "of": {"house": "any"}, "limit": {"usd": 50}, "per": "month"}],
    },
}


def deployments(url: str = "http://127.0.0.1:9") -> list[dict[str, Any]]:
    """A small model on this machine, K3 on the cluster, K3 at a provider whose price is old."""
    old = {"currency": "USD", "per_million": {"input": 3, "output": 15}, "source": "test", "as_of": "2026-01-15"}
    free = {**old, "per_million": {"input": 0, "output": 0}, "as_of": "2026-11-01"}
    return [
        deployment("desk", url, model="small", zone="device", price=free),
        deployment("our-k3", url, model="kimi-k3", zone="cluster", price={"owned": "k3-node"}),
        deployment("moonshot", url, model="kimi-k3", price=old),
    ]


@dataclass(frozen=True)
class Entry:
    """One call: when, who, where, what it used and cost, how it ended."""

    at: datetime
    account: Account
    deployment: str
    usage: Usage
    nano_usd: int
    outcome: Outcome = "ok"
    more: dict[str, Any] = field(default_factory=dict)


def entries() -> Iterator[Entry]:
    """Two months of calls, each at a price that ends in digits of its own."""
    ana = Account("ana-laptop", "ana", collections=("papers",), label="private")
    bruno = Account("bruno-bot", "bruno", tag="reports", label="internal")
    for day in range(-55, 1):
        noon = (NOW.astimezone(SAO_PAULO) + timedelta(days=day)).replace(hour=12, minute=0).astimezone(UTC)
        odd = 55 + day
        yield Entry(noon, ana, "desk", Usage(fresh=900 + odd, output=80), 0, more={"privacy_nano_usd": 0})
        yield Entry(
            noon + timedelta(minutes=20),
            ana,
            "our-k3",
            Usage(fresh=400, cached=1200, output=150, reasoning=70),
            90_000_000 + 13 * odd,
            more={"saved_nano_usd": 3_240_000, "privacy_nano_usd": 1_001 + odd, "routing_nano_usd": 7_654_321},
        )
        if day % 7:
            yield Entry(noon + timedelta(hours=2), bruno, "moonshot", Usage(fresh=5000, output=900), 610_000_007 + odd)
    night = datetime(2026, 11, 25, 2, 59, 59, tzinfo=UTC)  # still the 24th in São Paulo
    yield Entry(night, bruno, "moonshot", Usage(fresh=10, output=1, estimated=True), 1)
    yield Entry(night + timedelta(seconds=1), bruno, "moonshot", Usage(fresh=10), 30, "failed", {"bearer": "house"})


async def enter(runtime: Runtime) -> None:
    """Hold and settle them all; one more is only held."""
    found = {each.name: each for each in runtime.packs.current.catalog.deployments}
    for number, entry in enumerate(entries()):
        decision = f"dec_{number:04}"
        estimate = Usage(fresh=entry.usage.prompt, output=entry.usage.completion, estimated=True)
        hold = Hold(
            f"att_{number:04}",
            decision,
            f"req_{number:04}",
            1,
            entry.account,
            found[entry.deployment],
            estimate,
            entry.at,
        )
        await runtime.writer.hold(hold)
        settled = entry.at + timedelta(seconds=3)
        await runtime.writer.settle(
            Settlement(hold.id, entry.usage, entry.nano_usd, entry.outcome, None, 200, 3000, settled, 0, **entry.more)
        )
    held = Usage(fresh=1000, output=100, estimated=True)
    account = Account("ana-laptop", "ana")
    await runtime.writer.hold(Hold("att_held", "dec_held", "req_held", 1, account, found["moonshot"], held, NOW))


async def enter_one(runtime: Runtime, *, windows: bool = False) -> None:
    """A ledger of one call, of 12,345 nano-dollars; with `windows` it counts in the budgets of the pack."""
    hold = _hold(runtime, "att_one", windows)
    await runtime.writer.hold(hold)
    usage = Usage(fresh=30, output=9)
    await runtime.writer.settle(Settlement(hold.id, usage, 12_345, "ok", None, 200, 900, NOW, 0))


async def hold_one(runtime: Runtime, *, windows: bool = False) -> int:
    """One call more, under way; what it holds."""
    hold = _hold(runtime, "att_more", windows)
    await runtime.writer.hold(hold)
    return hold.nano_usd


def _hold(runtime: Runtime, name: str, windows: bool) -> Hold:
    loaded, account = runtime.packs.current, Account("ana-laptop", "ana")
    found = next(each for each in loaded.catalog.deployments if each.name == "moonshot")
    counted = budgets.windows(loaded.pack, (), account, found, NOW) if windows else ()
    estimate = Usage(fresh=1000, output=100, estimated=True)
    return Hold(name, f"dec_{name}", "req", 1, account, found, estimate, NOW - timedelta(minutes=1), counted)


def total(ledger: Path, where: str = "1", measure: str = "cost_nano_usd") -> int:
    """What the rows themselves come to; `where` is SQL over attempts."""
    with sqlite3.connect(ledger) as connection:
        return int(connection.execute(f"SELECT coalesce(sum({measure}), 0) FROM attempts WHERE {where}").fetchone()[0])


def within(first: str, last: str) -> str:
    """SQL: begun on these days of São Paulo, the last one included."""
    start, end = (datetime.fromisoformat(day).replace(tzinfo=SAO_PAULO) for day in (first, last))
    span = [int(moment.timestamp()) * 1_000_000 for moment in (start, end + timedelta(days=1))]
    return f"started_at >= {span[0]} AND started_at < {span[1]}"
