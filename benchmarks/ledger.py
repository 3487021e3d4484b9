"""How long a durable hold takes, and how many attempts a second the ledger bears: `python -m benchmarks.ledger`."""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from statistics import quantiles
from time import perf_counter, process_time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from gateway.catalog.deployments import Deployment, Price
from gateway.ledger.entries import Account, Hold, Settlement
from gateway.ledger.owners import this_process
from gateway.ledger.writer import open_writer
from gateway.wire.lanes import Usage
from migrations import upgrade
from policies.labels import Level, Sensitivity
from policies.zones import Addresses, Zone

if TYPE_CHECKING:
    from gateway.db.journal import Durability
    from gateway.ledger.writer import Writer

_PRICE = Price(Decimal("3.00"), Decimal("15.00"), "benchmark", date(2026, 1, 1), cached=Decimal("0.30"))
_ZONE = Zone("hosted", Sensitivity(Level.INTERNAL), Addresses(frozenset({"public"})))
_DEPLOYMENT = Deployment("k3", "kimi-k3", "moonshot", "https://api.example/v1", "kimi-k3", _ZONE, _PRICE)
_ESTIMATE = Usage(fresh=1000, output=500, estimated=True)
_SETTLED = Usage(fresh=200, cached=800, output=100, reasoning=50)


@dataclass(frozen=True)
class Load:
    """So many tasks, each making so many attempts, thinking up to so long before each entry."""

    name: str
    tasks: int
    attempts: int
    think_seconds: float = 0.0


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
]


def main() -> None:
    """Run every load with both durabilities and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where to make the ledger; the disk decides the figures")
    folder = parser.parse_args().folder
    table = Table(*_HEADINGS, title="holds and settlements")
    durabilities: tuple[Durability, ...] = ("power", "process")
    for durability in durabilities:
        for load in LOADS:
            with tempfile.TemporaryDirectory(dir=folder) as place:
                result = asyncio.run(measure(Path(place) / "ledger.db", durability, load))
            table.add_row(durability, load.name, *_figures(result))
    Console().print(table)


async def measure(path: Path, durability: Durability, load: Load) -> Result:
    """Put the load on a new ledger."""
    await asyncio.to_thread(upgrade, "ledger", f"sqlite:///{path}")
    result = Result()
    async with open_writer(path, this_process("benchmark", datetime.now(UTC)), durability) as writer:
        wall, cpu = perf_counter(), process_time()
        async with asyncio.TaskGroup() as tasks:
            for number in range(load.tasks):
                tasks.create_task(_attempts(writer, load, f"att-{number}", result))
        result.wall, result.cpu = perf_counter() - wall, process_time() - cpu
    return result


async def _attempts(writer: Writer, load: Load, name: str, result: Result) -> None:
    for number in range(load.attempts):
        hold = _hold(f"{name}-{number}")
        await asyncio.sleep(random.uniform(0, load.think_seconds))
        start = perf_counter()
        await writer.hold(hold)
        result.holds.append(perf_counter() - start)
        await asyncio.sleep(random.uniform(0, load.think_seconds))
        start = perf_counter()
        await writer.settle(_settlement(hold))
        result.settlements.append(perf_counter() - start)


def _hold(name: str) -> Hold:
    return Hold(name, "dec", "req", 1, Account("ana"), _DEPLOYMENT, _ESTIMATE, datetime.now(UTC))


def _settlement(hold: Hold) -> Settlement:
    return Settlement(hold.id, _SETTLED, 2_700_000, "ok", None, 10, 100, datetime.now(UTC), 1000)


_HEADINGS = ("durability", "load", "hold p50 ms", "p99 ms", "settle p50 ms", "p99 ms", "entries/s", "CPU us/entry")


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
