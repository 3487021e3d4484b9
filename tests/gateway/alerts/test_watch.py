"""The watch: each thing is told once at each place, over all processes, and what fails is told later."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING

import pytest
from tenacity import wait_none

from gateway.alerts import notices
from gateway.alerts.watch import Watch, watching
from gateway.db.engine import open_engine
from gateway.ledger import budgets
from gateway.ledger.entries import Account
from gateway.ledger.usage import Sums
from gateway.ledger.writer import open_writer
from gateway.wire.lanes import Usage
from policies.load import load_pack
from tests.gateway.alerts.sinks import HttpSink, http_sink
from tests.gateway.ledger.exports.ledgers import Call, write
from tests.gateway.ledger.exports.packs import BUDGETS, write_pack
from tests.gateway.ledger.samples import BOOT, NOON, a_hold, a_settlement, fresh_ledger, url_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from policies.pack import Pack

LIMITS = f"""{BUDGETS}
budgets:
  - {{name: house, of: house, limit: {{usd: 5}}, per: month, warn_at: [50, 80, 100]}}
  - {{name: each key, of: {{key: any}}, limit: {{tokens: 1000}}, per: day, hard: false}}
"""
_NUMBERS = count()
MILLION = Usage(fresh=1_000_000)
"""Three dollars."""


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return fresh_ledger(tmp_path)


@pytest.fixture
async def engine(ledger: Path) -> AsyncIterator[AsyncEngine]:
    engine = open_engine(url_of(ledger))
    yield engine
    await engine.dispose()


def a_pack(folder: Path, *alerts: str, text: str = LIMITS) -> Pack:
    listed = "".join(f"  - {alert}\n" for alert in alerts)
    return load_pack(write_pack(folder, f"{text}\nalerts:\n{listed}" if alerts else text))


async def spend(ledger: Path, pack: Pack, usage: Usage = MILLION, key: str = "ana") -> None:
    """Settle a call against the pack's budgets."""
    number = next(_NUMBERS)
    hold = replace(a_hold(f"att-{number}"), account=Account(key), estimate=Usage(fresh=1))
    hold = replace(hold, windows=budgets.windows(pack, (), hold.account, hold.deployment, hold.started_at))
    async with open_writer(ledger, replace(BOOT, boot_id=f"boot-{number}")) as writer:
        await writer.hold(hold)
        await writer.settle(a_settlement(hold, usage))


async def gone(engine: AsyncEngine) -> None:
    """Dispose of an engine that never connected: the driver's threads still speak to the loop when they end."""
    await engine.dispose()
    for thread in threading.enumerate():
        if "_connection_worker_thread" in thread.name:
            await asyncio.to_thread(thread.join, 10)


def a_watch(engine: AsyncEngine, pack: Pack, now: datetime = NOON) -> Watch:
    return Watch(engine, lambda: pack, {}, lambda: now, wait_none())


def texts(sink: HttpSink) -> list[str]:
    return [json.loads(posted.body)["text"] for posted in sink.posted]


async def test_the_highest_threshold_is_told_once_and_lower_ones_never_after_it(
    ledger: Path, engine: AsyncEngine, tmp_path: Path
) -> None:
    async with http_sink() as sink:
        pack = a_pack(tmp_path / "pack", f"{{webhook: {sink.url}, on: budgets}}")
        watch = a_watch(engine, pack)
        await watch.look()
        await spend(ledger, pack, Usage(fresh=900_000))
        await watch.look()
        await watch.look()
        await spend(ledger, pack)
        await watch.look()
        raised = replace(
            pack, budgets=replace(pack.budgets, budgets=(replace(pack.budgets.budgets[0], warn_at=(50,)),))
        )
        await a_watch(engine, raised).look()

    first, second = texts(sink)
    assert first.splitlines()[0] == "Budget 'house' has spent 54%: US$ 2.7 of US$ 5, until 2026-12-01 00:00."
    assert second == (
        "Budget 'house' has spent 114%: US$ 5.7 of US$ 5, until 2026-12-01 00:00. What it counts is refused until then."
    )


async def test_each_subject_of_a_budget_is_told_of_by_name(ledger: Path, engine: AsyncEngine, tmp_path: Path) -> None:
    async with http_sink() as sink:
        pack = a_pack(tmp_path / "pack", f"{{webhook: {sink.url}, language: pt}}")
        await spend(ledger, pack, Usage(fresh=800), "ana")
        await spend(ledger, pack, Usage(fresh=799), "rui")
        await a_watch(engine, pack).look()

    assert texts(sink) == ["O orçamento 'each key' (ana) gastou 80%: 800 de 1000 tokens, até 02/11/2026 00:00."]


async def test_of_many_processes_one_tells(ledger: Path, tmp_path: Path) -> None:
    async with http_sink() as sink:
        pack = a_pack(tmp_path / "pack", f"{{webhook: {sink.url}}}")
        await spend(ledger, pack)
        engines = [open_engine(url_of(ledger)) for _ in range(6)]

        await asyncio.gather(*(a_watch(engine, pack).look() for engine in engines))
        for engine in engines:
            await engine.dispose()

    assert len([line for text in texts(sink) for line in text.splitlines() if "'house'" in line]) == 1


async def test_places_are_told_each_by_itself(ledger: Path, engine: AsyncEngine, tmp_path: Path) -> None:
    async with http_sink(404) as broken, http_sink() as sound:
        pack = a_pack(tmp_path / "pack", f"{{webhook: {broken.url}}}", f"{{ntfy: {sound.url}/topic}}")
        await spend(ledger, pack)
        watch = a_watch(engine, pack)
        await watch.look()
        await watch.look()

    assert (len(broken.posted), len(sound.posted)) == (1, 1)


async def test_a_server_that_is_busy_is_tried_again_with_the_same_message(
    ledger: Path, engine: AsyncEngine, tmp_path: Path
) -> None:
    async with http_sink(503, 429) as sink:
        pack = a_pack(tmp_path / "pack", f"{{webhook: {sink.url}}}")
        await spend(ledger, pack)
        await a_watch(engine, pack).look()

    assert len(sink.posted) == 3
    assert len({posted.headers["webhook-id"] for posted in sink.posted}) == 1


async def test_what_was_not_taken_is_told_later_after_a_pause_that_grows(
    ledger: Path, engine: AsyncEngine, tmp_path: Path
) -> None:
    clock = [NOON]
    async with http_sink(404, 404) as sink:
        pack = a_pack(tmp_path / "pack", f"{{webhook: {sink.url}, on: budgets}}")
        await spend(ledger, pack)
        watch = Watch(engine, lambda: pack, {}, lambda: clock[0], wait_none())
        tried = []
        for minutes in (0, 0.9, 0.1, 1.9, 0.1, 60):
            clock[0] += timedelta(minutes=minutes)
            await watch.look()
            tried.append(len(sink.posted))

    assert tried == [1, 1, 2, 2, 3, 3]


async def test_a_missing_secret_is_no_end_of_the_watch(ledger: Path, engine: AsyncEngine, tmp_path: Path) -> None:
    async with http_sink() as sink:
        pack = a_pack(tmp_path / "pack", "{webhook: {env: NOWHERE}}", f"{{webhook: {sink.url}}}")
        await spend(ledger, pack)
        await a_watch(engine, pack).look()

    assert len(sink.posted) == 1


async def test_without_alerts_the_ledger_is_not_even_asked(tmp_path: Path) -> None:
    pack = a_pack(tmp_path / "pack")
    nowhere = open_engine(url_of(tmp_path / "missing" / "ledger.db"))

    await a_watch(nowhere, pack).look()
    await gone(nowhere)


async def test_the_watch_goes_on_while_the_ledger_is_away_and_ends_with_its_context(tmp_path: Path) -> None:
    asked = asyncio.Event()
    pack = a_pack(tmp_path / "pack", "{webhook: http://127.0.0.1:9/}")
    nowhere = open_engine(url_of(tmp_path / "missing" / "ledger.db"))

    def in_force() -> Pack:
        if rounds.pop():
            asked.set()
        return pack

    rounds = [True, False]
    watch = Watch(nowhere, in_force, {}, lambda: NOON, wait_none())
    async with watching(watch, seconds=0.01):
        await asyncio.wait_for(asked.wait(), 20)
    await gone(nowhere)


async def test_a_message_under_way_is_given_back_when_the_watch_ends(
    ledger: Path, engine: AsyncEngine, tmp_path: Path
) -> None:
    async with http_sink(503, 503, 503, 503) as sink:
        pack = a_pack(tmp_path / "pack", f"{{webhook: {sink.url}, on: budgets}}")
        await spend(ledger, pack)
        async with watching(Watch(engine, lambda: pack, {}, lambda: NOON), seconds=60):
            while not sink.posted:
                await asyncio.sleep(0.01)
        sink.statuses.clear()
        await a_watch(engine, pack).look()

    assert len(sink.posted) == 2


def test_a_days_estimates_are_told_above_the_share_and_not_of_a_handful() -> None:
    day = date(2026, 11, 1)

    told = list(notices.of_estimates(Sums(attempts=100, estimated=6), day, 5))

    assert [notice.id for notice in told] == ["estimates/2026-11-01"]
    assert told[0].en.startswith("On 2026-11-01, 6 of 100 calls (6%) were charged at an estimate")
    assert list(notices.of_estimates(Sums(attempts=100, estimated=5), day, 5)) == []
    assert list(notices.of_estimates(Sums(attempts=19, estimated=19), day, 5)) == []
    assert list(notices.of_estimates(Sums(), day, 0)) == []


async def test_estimates_of_today_are_told(ledger: Path, engine: AsyncEngine, tmp_path: Path) -> None:
    calls = [Call(Usage(fresh=1, estimated=number < 3)) for number in range(20)]
    await write(ledger, calls)
    async with http_sink() as sink:
        pack = a_pack(tmp_path / "pack", f"{{webhook: {sink.url}, on: estimates}}", text=BUDGETS)
        await a_watch(engine, pack).look()
        await a_watch(engine, pack, NOON + timedelta(days=1)).look()

    [text] = texts(sink)
    assert "3 of 20 calls (15%)" in text


def test_old_prices_are_told_by_the_day_they_were_looked_up(tmp_path: Path) -> None:
    pack = load_pack(write_pack(tmp_path / "pack"))

    young = list(notices.of_prices(pack, date(2026, 11, 20), 90))
    old = list(notices.of_prices(pack, date(2027, 2, 20), 90))

    assert young == []
    assert [notice.id for notice in old] == ["prices/our-k3/as of 2026-11-01"]


@pytest.mark.parametrize("percent", [0, 79])
async def test_below_every_threshold_there_is_nothing_to_tell(
    ledger: Path, engine: AsyncEngine, tmp_path: Path, percent: int
) -> None:
    pack = a_pack(tmp_path / "pack")
    await spend(ledger, pack, Usage(fresh=percent * 10))

    standings = await budgets.state(engine, pack, datetime(2026, 11, 1, 13, tzinfo=UTC))

    assert list(notices.of_budgets(standings, pack.budgets)) == []
