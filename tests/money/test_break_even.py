"""A real gateway's traffic, as `soleira break-even --from-ledger` takes it, is what its rows come to by hand."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from tests.money.books import query
from tests.money.gateways import ADMIN, Fleet, body_of, gateways
from tests.money.upstream import counting_upstream
from tests.wire.valkey import valkey

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

HALF_HOUR = 30 * 60 * 1_000_000
A_DAY = 48 * HALF_HOUR
EAST = timedelta(hours=-3)
"""Of Greenwich is São Paulo, all year."""
USD = {"input": 3, "cached": 0.5, "output": 15}
USD_BY_LANE = {"fresh": 3, "cached": 0.5, "output": 15}
RULES = {
    "default_label": "internal",
    "zones": {
        "device": {"clearance": "secret", "addresses": "loopback"},
        "hosted": {"clearance": "internal", "addresses": "any"},
    },
    "rules": [{"name": "anywhere", "route": {"zones": ["device", "hosted"]}}],
}
SCENARIO = {
    "hardware": {"gpu": "b300", "count": 8, "usd_per_gpu_hour": 0.01},
    "hosted": {"currency": "USD", "per_million": USD, "source": "test", "as_of": "2026-11-01"},
    "traffic": {"from_ledger": "30d", "models": "all", "mix": {"input": 9, "output": 1}},
    "capacity": "none",
}


@dataclass(frozen=True)
class House:
    fleet: Fleet
    ledger: str

    async def command(self, *words: str) -> dict[str, Any]:
        """What `soleira break-even --json` says while the gateway runs."""
        command = [sys.executable, "-P", "-m", "gateway.cli", "break-even", "--json", *words]
        folder = self.fleet.folder / "data-0"
        asked = [*command, "--data", str(folder), "--pack", str(self.fleet.pack)]
        done = await asyncio.to_thread(
            subprocess.run, asked, env=self.fleet.environment, capture_output=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture(params=["sqlite", "postgresql"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], AbstractAsyncContextManager[House]]:
    """A gateway with a model of its own and a hosted one, and a scenario."""
    database_url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None

    @asynccontextmanager
    async def opened() -> AsyncIterator[House]:
        socket = tmp_path / "valkey.sock"
        ledger = database_url or f"sqlite+aiosqlite:///{tmp_path / 'ledger.db'}"
        async with (
            counting_upstream() as (url, _),
            valkey(socket),
            gateways(tmp_path, url, 1, store=f"unix://{socket}", database_url=database_url, more=_pack(url)) as fleet,
        ):
            yield House(fleet, ledger)

    return opened


def _pack(url: str) -> dict[str, Any]:
    price = {"currency": "USD", "per_million": USD, "source": "test", "as_of": "2026-11-01"}
    base = {"engine": "openai", "base_url": url, "max_output": 16, "price": price}
    deployments = [{**base, "name": f"{zone}-m", "model": zone, "zone": zone} for zone in ("device", "hosted")]
    return {
        "rules.yaml": RULES,
        "rules_test.yaml": [],
        "deployments.yaml": {"deployments": deployments},
        "break_even.yaml": {"scenarios": {"own": SCENARIO}},
        "budgets.yaml": {"time_zone": "America/Sao_Paulo"},
    }


async def test_the_command_equals_the_rows_added_up_by_hand(
    house: Callable[[], AbstractAsyncContextManager[House]],
) -> None:
    async with house() as opened, aiohttp.ClientSession() as http:
        gateway = opened.fleet.gateways[0]
        # Each day's calls are made now, and what is in the ledger is then moved back in time.
        for model, label, said, days in (
            ("hosted", "internal", "ok 1000 100 10 5", 9),
            ("hosted", "internal", "ok 800 300 90 10", 1),
            ("device", "private", "ok 500 0 40 0", 2),
            ("device", "internal", "ok 300 100 20 20", 0),
        ):
            await _ask(http, gateway.url, model, label, said)
            await _move_back(opened.ledger, days)
        await _move_back(opened.ledger, 2)

        found = await _within_one_hour(opened)
        rows = await query(opened.ledger, "SELECT * FROM attempts ORDER BY started_at")

    by_hand = _by_hand(rows, datetime.fromisoformat(found["on"]))
    figures = {figure["name"]: figure for figure in found["figures"]}
    assert len(rows) == 4
    for name, value in by_hand.items():
        assert figures[name]["value"] == pytest.approx(float(value), rel=1e-9), name
        assert figures[name]["origin"] == "ledger"
    written, cached = by_hand["traffic.output_share"], by_hand["traffic.cached_share"]
    blended = written * 15 + (1 - written) * (cached / 2 + (1 - cached) * 3)
    assert found["hosted_per_million_usd"] == pytest.approx(float(blended), rel=1e-9)
    assert found["today"]["hosted_usd"] == pytest.approx(float(by_hand["traffic.tokens_per_month"] * blended / 10**6))
    assert found["verdict"] == "not_yet"
    hosted = [row for row in rows[1:] if row["zone"] == "hosted"]
    assert found["ledger"]["paid"]["usd"] == sum(row["cost_nano_usd"] for row in hosted) / 10**9 > 0
    assert found["ledger"]["paid"]["usd_per_million_by_lane"] == pytest.approx(USD_BY_LANE)
    assert [note["code"] for note in found["notes"]].count("paid_hosts") == 1
    told = [note["text"] for note in found["notes"] if note["code"] == "not_measured"]
    assert len(told) == 1
    assert "soleira measure device-m" in told[0]


async def _ask(http: aiohttp.ClientSession, url: str, model: str, label: str, said: str) -> None:
    headers = {"authorization": f"Bearer {ADMIN}", "soleira-label": label}
    body = body_of(said, model=model)
    async with http.post(f"{url}/v1/chat/completions", json=body, headers=headers) as answer:
        assert answer.status == 200, await answer.text()


async def _move_back(ledger: str, days: int) -> None:
    """As if all that was ever asked had been asked so many days before."""
    await _settled(ledger)
    await query(ledger, f"UPDATE attempts SET started_at = started_at - {days * A_DAY} RETURNING id")
    await query(ledger, f"UPDATE rollups SET bucket = bucket - {days * A_DAY} RETURNING bucket")


async def _settled(ledger: str) -> None:
    for _ in range(200):
        if not await query(ledger, "SELECT id FROM attempts WHERE state = 'held'"):
            return
        await asyncio.sleep(0.05)
    raise AssertionError("an attempt is still held")


async def _within_one_hour(house: House) -> dict[str, Any]:
    """The command's answer, asked again if an hour ended meanwhile."""
    while True:
        began = _hour()
        found = await house.command("--scenario", "own", "--from-ledger", "30d")
        if _hour() == began:
            return found


def _hour() -> datetime:
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def _by_hand(rows: list[Mapping[str, Any]], today: datetime) -> dict[str, Fraction]:
    """From the midnight after the first call until the last whole hour; all else is a sum over rows."""
    moments = [datetime(1970, 1, 1) + EAST + timedelta(microseconds=row["started_at"]) for row in rows]  # noqa: DTZ001
    start = moments[0].replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    end = _hour().replace(tzinfo=None) + EAST
    hours = (end - start) // timedelta(hours=1)
    assert today.date() - end.date() in (timedelta(0), timedelta(1))
    counted: dict[datetime, int] = {}
    total = cached = output = forced = 0
    for moment, row in zip(moments, rows, strict=True):
        if not start <= moment < end:
            continue
        hour = moment.replace(minute=0, second=0, microsecond=0)
        tokens = row["fresh"] + row["cached"] + row["output"] + row["reasoning"]
        counted[hour] = counted.get(hour, 0) + tokens
        total += tokens
        cached += row["cached"]
        output += row["output"] + row["reasoning"]
        forced += tokens * (row["label"] == "private")
    assert total == 890 + 540 + 320  # cached input is part of the prompt, thoughts of what comes out
    return {
        "traffic.tokens_per_month": Fraction(total * 730, hours),
        "traffic.output_share": Fraction(output, total),
        "traffic.cached_share": Fraction(cached, total - output),
        "traffic.peak_to_mean": Fraction(max(counted.values()) * hours, total),
        "traffic.forced_share": Fraction(forced, total),
    }
