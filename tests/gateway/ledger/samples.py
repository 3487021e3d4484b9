"""A small ledger for tests: a file made by the migrations, a deployment with prices, holds on it."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.catalog.deployments import Deployment, Price
from gateway.db.boots import Boot
from gateway.ledger.entries import Account, Hold, Outcome, Settlement
from gateway.ledger.price import nano_usd
from gateway.wire.lanes import Usage
from migrations import upgrade
from policies.labels import Level, Sensitivity
from policies.zones import Addresses, Zone

if TYPE_CHECKING:
    from collections.abc import Mapping

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
BOOT = Boot("boot-1", "house", 1, "kernel/1", NOON)
K3 = Price(Decimal("3.00"), Decimal("15.00"), "price page", date(2026, 10, 24), cached=Decimal("0.30"))
HOSTED = Zone("hosted", Sensitivity(Level.INTERNAL), Addresses(frozenset({"public"})))
ESTIMATE = Usage(fresh=1000, output=500, estimated=True)
"""At K3's prices 10,500,000 nano-dollars."""


@cache
def _schema() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        upgrade("ledger", url_of(path))
        return path.read_bytes()


def fresh_ledger(folder: Path) -> Path:
    """An empty ledger, as the migrations make it."""
    path = folder / "ledger.db"
    path.write_bytes(_schema())
    return path


def url_of(path: Path) -> str:
    return f"sqlite+aiosqlite:///{path}"


def deployment(name: str = "moonshot-k3", price: Price = K3, zone: Zone = HOSTED, model: str = "kimi-k3") -> Deployment:
    return Deployment(name, model, "moonshot", "https://api.example/v1", "k3-0905", zone, price)


def a_hold(attempt_id: str = "att-1", on: Deployment | None = None, estimate: Usage = ESTIMATE) -> Hold:
    return Hold(attempt_id, f"dec-{attempt_id}", "req-1", 1, Account("ana"), on or deployment(), estimate, NOON)


def a_settlement(hold: Hold, usage: Usage = ESTIMATE, outcome: Outcome = "ok") -> Settlement:
    cost = nano_usd(usage, hold.deployment.price)
    return Settlement(hold.id, usage, cost, outcome, None, 12, 345, NOON, 678)


def rows(path: Path, query: str = "SELECT * FROM attempts ORDER BY id") -> list[Mapping[str, Any]]:
    """What is in the file, read by a connection of its own."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


def execute(path: Path, statement: str) -> None:
    """Change the file behind everybody's back."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
