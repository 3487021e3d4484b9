"""How long the cost page takes on a ledger of a million attempts: `python -m benchmarks.costs`."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import re
import socket
import sqlite3
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import TYPE_CHECKING

import aiohttp
import uvicorn
from rich.console import Console
from rich.table import Table

from gateway.api.app import create_app
from gateway.dashboard import pages
from gateway.db.tables import BUCKET, DIMENSIONS, MEASURES, attempts, microseconds, rollups
from gateway.main import open_runtime
from gateway.settings import Settings
from gateway.wire.lanes import LANES
from migrations import upgrade
from retrieval.client import CollectionInfo, RetrievalClient, Scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from retrieval.client import Passage, Sentence

ADMIN_KEY = "sk-benchmark"
FIRST = (
    ("at once after the start", "/dashboard/costs"),
    ("at once, compared with before", "/dashboard/costs?compare=1"),
    ("at once, 12 months", "/dashboard/costs?range=12m"),
)
"""What is asked for by whoever is there before the ledger was read for the first time."""
PAGES = (
    ("the front page", "/dashboard"),
    ("the page", "/dashboard/costs"),
    ("7 days", "/dashboard/costs?range=7d"),
    ("12 months", "/dashboard/costs?range=12m"),
    ("12 months, compared with before", "/dashboard/costs?range=12m&compare=1"),
    ("compared with before", "/dashboard/costs?compare=1"),
    ("by model, of one key", "/dashboard/costs?by=model&key=key-3"),
    ("by documents", "/dashboard/costs?by=collection"),
    ("calls of 30 days", "/dashboard/costs/rows?range=30d"),
    ("estimated calls of a person", "/dashboard/costs/rows?range=30d&flag=estimated&person=person-2"),
    ("calls that a cache saved on", "/dashboard/costs/rows?range=30d&flag=saved&label=private"),
    ("statement of a month", "/dashboard/costs/statement"),
    ("CSV of the picture", "/dashboard/costs/days.csv"),
)
_TOKEN = re.compile(r'name="token" value="([0-9a-f]+)"')
_RULES = {
    "default_label": "internal",
    "zones": {
        "device": {"clearance": "secret", "addresses": "loopback"},
        "lan": {"clearance": "secret", "addresses": "private"},
        "cluster": {"clearance": "private", "addresses": ["fd00:20::/64"]},
        "hosted": {"clearance": "internal", "addresses": "public"},
    },
    "rules": [{"name": "all is cheap", "route": {"prefer": "cheapest"}}],
}
_PRICES = {"currency": "BRL", "per_usd": 5.50, "as_of": "2026-11-28", "source": "benchmark"}
_BUDGETS = {
    "time_zone": "America/Sao_Paulo",
    "holidays": ["BR"],
    "currency": "BRL",
    "tags": ["triage", "reports"],
    "budgets": [{"name": "the house", "of": {"house": "any"}, "limit": {"usd": 100}, "per": "month"}],
}


@dataclass(frozen=True)
class Place:
    """A deployment, and what a million tokens of it cost, in nano-dollars a token: in, cached, out."""

    deployment: str
    model: str
    zone: str
    nano: tuple[int, int, int]


PLACES = (
    Place("desk-small", "qwen3-4b", "device", (0, 0, 0)),
    Place("office-glm", "glm-4-air", "lan", (120, 30, 400)),
    Place("our-k3", "kimi-k3", "cluster", (450, 90, 1800)),
    Place("moonshot-k3", "kimi-k3", "hosted", (3000, 300, 15000)),
    Place("cheap-embed", "embed-3", "hosted", (20, 20, 20)),
)


def main() -> None:
    """Fill a ledger, ask for each page often, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=1_000_000)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--times", type=int, default=40, help="how often each page is asked for")
    parser.add_argument("--folder", type=Path, help="where to make the ledger; the disk decides the figures")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        settings = house(Path(folder))
        kept = fill(settings.ledger_path, chosen.attempts, chosen.days, datetime.now(UTC))
        title = f"{chosen.attempts:,} attempts over {chosen.days} days, {kept:,} rollups, SQLite"
        table = Table("page", "p50 ms", "p95 ms", "kB", title=title)
        for row in asyncio.run(measure(settings, chosen.times)):
            table.add_row(*row)
        Console().print(table)


def house(folder: Path) -> Settings:
    """A pack, a secret and an empty ledger."""
    settings = Settings.from_environment(folder, None, {})
    settings.pack.mkdir(parents=True)
    files = {
        "rules": _RULES,
        "deployments": {"deployments": [_deployment(place) for place in PLACES]},
        "prices": {"exchange_rates": [_PRICES]},
        "budgets": _BUDGETS,
    }
    for name, content in files.items():
        (settings.pack / f"{name}.yaml").write_text(json.dumps(content))
    settings.secret.write_bytes(b"s" * 32)
    settings.admin_digest_path.write_text(hashlib.sha256(ADMIN_KEY.encode()).hexdigest())
    upgrade("ledger", settings.ledger_url)
    return settings


def _deployment(place: Place) -> dict[str, object]:
    hosts = {"device": "127.0.0.1:1", "lan": "[fd00:10::1]:1", "cluster": "[fd00:20::1]:1", "hosted": "k3.example"}
    price = {name: nano / 1000 for name, nano in zip(("input", "cached", "output"), place.nano, strict=True)}
    return {
        "name": place.deployment,
        "model": place.model,
        "engine": "openai",
        "base_url": f"http://{hosts[place.zone]}/v1",
        "zone": place.zone,
        "price": {"currency": "USD", "per_million": price, "source": "benchmark", "as_of": "2026-11-01"},
    }


def fill(path: Path, number: int, days: int, now: datetime) -> int:
    """Write so many attempts and their sums; how many rows of sums there are."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("INSERT INTO boots VALUES ('boot_b', 'benchmark', 1, '', 0, 0)")
    names = list(next(_attempts(1, days, now)))
    holes = ", ".join(f":{name}" for name in names)
    connection.executemany(f"INSERT INTO attempts ({', '.join(names)}) VALUES ({holes})", _attempts(number, days, now))
    connection.execute(_summing())
    kept: int = connection.execute("SELECT count(*) FROM rollups").fetchone()[0]
    connection.execute("ANALYZE")
    connection.commit()
    connection.close()
    return kept


def _attempts(number: int, days: int, now: datetime) -> Iterator[dict[str, object]]:
    """Attempts as a house makes them: more on working days and by day, most of them small."""
    chance = random.Random(4)
    start, span = microseconds(now - timedelta(days=days)), int(timedelta(days=days).total_seconds() * 1_000_000)
    for index in range(number):
        place = chance.choices(PLACES, (30, 15, 25, 20, 10))[0]
        key = chance.randrange(12)
        fresh, cached, output = chance.randrange(4000), chance.randrange(3000), chance.randrange(600)
        reasoning = chance.randrange(400) if place.model == "kimi-k3" else 0
        rate = place.nano
        cost = fresh * rate[0] + cached * rate[1] + (output + reasoning) * rate[2]
        embeds = place.model == "embed-3"
        yield {
            "id": f"att_{index:09}",
            "decision_id": f"dec_{index:09}",
            "request_id": f"req_{index:09}",
            "ordinal": 1,
            "principal": f"key-{key}",
            "person": f"person-{key % 8}",
            "deployment": place.deployment,
            "model": place.model,
            "upstream_model": place.model,
            "zone": place.zone,
            "owner": "boot_b",
            "state": "settled",
            "held_nano_usd": cost,
            "cost_nano_usd": cost,
            "currency": "USD",
            **dict.fromkeys(LANES, 0),
            "fresh": 0 if embeds else fresh,
            "cached": 0 if embeds else cached,
            "output": 0 if embeds else output,
            "reasoning": reasoning,
            "embedding": fresh if embeds else 0,
            "estimated": index % 211 == 0,
            "assumed": 0,
            "outcome": chance.choices(("ok", "failed", "aborted"), (97, 2, 1))[0],
            "started_at": start + int(span * (index + chance.random()) / number),
            "total_ms": chance.randrange(200, 20_000),
            "bytes_out": 0,
            "tag": ("", "triage", "reports")[key % 3],
            "collections": ("[]", '["papers"]', '["papers","samples"]')[key % 3 if index % 4 else 0],
            "label": "internal" if index % 5 else "private",
            "saved_nano_usd": cached * (rate[0] - rate[1]),
            "privacy_nano_usd": 0 if index % 5 else fresh * 200,
            "routing_nano_usd": output * 9000 if place.zone != "hosted" else 0,
            "bearer": "principal",
            "from_cache": 0,
        }


def _summing() -> str:
    """The statement that sums all attempts into rollups, as the writer does one by one."""
    width = microseconds(datetime(1970, 1, 1, tzinfo=UTC) + BUCKET)
    own = {
        "attempts": "count(*)",
        "failed": "sum(outcome IN ('failed', 'unknown'))",
        "aborted": "sum(outcome = 'aborted')",
        "house_nano_usd": "sum(CASE bearer WHEN 'house' THEN cost_nano_usd ELSE 0 END)",
        "busy_ms": "sum(coalesce(total_ms, 0))",
    }
    measures = ", ".join(own.get(name, f"sum({name})") for name in MEASURES)
    dimensions = ", ".join(DIMENSIONS)
    return (
        f"INSERT INTO {rollups.name} (bucket, {dimensions}, {', '.join(MEASURES)}) "
        f"SELECT started_at / {width} * {width} AS slot, {dimensions}, {measures} "
        f"FROM {attempts.name} GROUP BY slot, {dimensions}"
    )


async def measure(settings: Settings, times: int) -> list[tuple[str, ...]]:
    """What each page takes, asked for over a socket by somebody who has signed in."""
    rows: list[tuple[str, ...]] = []
    for name, path in FIRST:
        async with serving(settings) as url, signed_in(url) as reader:
            seconds, size = await asked(reader, path)
        rows.append((name, f"{seconds * 1000:.0f}", "", f"{size / 1000:.0f}"))
    async with serving(settings) as url, signed_in(url) as reader:
        for name, path in PAGES:
            await asked(reader, path)
            taken = []
            for _ in range(times):
                seconds, size = await asked(reader, path)
                taken.append(seconds)
            cuts = quantiles(taken, n=20)
            rows.append((name, f"{cuts[9] * 1000:.0f}", f"{cuts[18] * 1000:.0f}", f"{size / 1000:.0f}"))
    return rows


async def asked(reader: aiohttp.ClientSession, path: str) -> tuple[float, int]:
    """How long a page takes to its last byte, and how many there are."""
    began = perf_counter()
    async with reader.get(path) as response:
        size = len(await response.read())
        response.raise_for_status()
    return perf_counter() - began, size


class Nothing(RetrievalClient):
    """A search without documents."""

    def __init__(self) -> None:
        pass

    async def ready(self) -> bool:
        return True

    async def search(self, query: str, scope: Scope, top: int) -> list[Passage]:
        return []

    async def sentences(self, question: str, passages: Sequence[Passage], top: int) -> list[Sentence]:
        return []

    async def collections(self, scope: Scope) -> list[CollectionInfo]:
        return []

    async def close(self) -> None:
        pass


@asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[str]:
    """A gateway with its pages on a free loopback port."""
    async with open_runtime(settings, Nothing(), loopback_only=True) as runtime:
        app = create_app(runtime)
        pages.add_to(app, runtime)
        config = uvicorn.Config(app, lifespan="off", log_level="warning", access_log=False, timeout_graceful_shutdown=5)
        server, listener = uvicorn.Server(config), socket.create_server(("127.0.0.1", 0))
        running = asyncio.create_task(server.serve([listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await running


@asynccontextmanager
async def signed_in(url: str) -> AsyncIterator[aiohttp.ClientSession]:
    """A browser without a screen."""
    async with aiohttp.ClientSession(url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        async with http.get("/dashboard/login") as response:
            found = _TOKEN.search(await response.text())
        if found is None:
            raise RuntimeError("the sign-in page has no form")
        form = {"token": found[1], "key": ADMIN_KEY}
        signing = http.post("/dashboard/login", data=form, headers={"Origin": url}, allow_redirects=False)
        async with signing as response:
            response.raise_for_status()
        yield http


if __name__ == "__main__":
    main()
