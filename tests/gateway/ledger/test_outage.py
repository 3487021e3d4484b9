"""The database goes away during traffic and comes back: refusals say so, and what was spent is booked once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog

from gateway.db import keys
from gateway.db.engine import open_engine
from gateway.errors import Unavailable
from gateway.ledger.attempt import attempt
from gateway.ledger.entries import Window
from gateway.ledger.writer import open_writer
from gateway.settings import ROOT
from gateway.wire.lanes import Usage
from tests.db.postgres import Postgres, running
from tests.db.stores import Store
from tests.gateway.ledger.samples import BOOT, NOON, a_hold, a_settlement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from gateway.ledger.entries import Hold

SPENT = "SELECT spent_nano_usd, held_nano_usd, spent_tokens, held_tokens FROM budget_windows"
ROLLED = "SELECT attempts, cost_nano_usd FROM rollups"


@pytest.fixture
def server() -> Iterator[Postgres]:
    """A server that a test may stop."""
    with running() as made:
        yield made


def held(attempt_id: str = "att-1") -> Hold:
    window = Window("w", "b", "ana", NOON, NOON + timedelta(days=900), 10**12, None, True)
    return replace(a_hold(attempt_id), windows=(window,))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.05)


async def test_a_settlement_during_an_outage_is_booked_once_when_the_database_is_back(server: Postgres) -> None:
    store = Store(server.new_ledger(), None)
    async with store.writer(heartbeat_seconds=0.1) as writer:
        async with attempt(writer, held()) as record:
            record.usage = Usage(fresh=2)
            server.stop()
        with pytest.raises(Unavailable) as told:
            await writer.hold(held("att-2"))
        server.start()
        await until(lambda: store.row("SELECT state FROM attempts")["state"] == "settled")
        await writer.hold(held("att-3"))

        assert [(row["id"], row["state"], row["cost_nano_usd"]) for row in store.rows()] == [
            ("att-1", "settled", 6_000),
            ("att-3", "held", None),
        ]
        assert tuple(store.row(SPENT).values()) == (6_000, 10_500_000, 2, 1500)
        assert store.row(ROLLED) == {"attempts": 1, "cost_nano_usd": 6_000}
    assert (told.value.status, told.value.retry_after) == (503, "5")
    assert "/" not in str(told.value)


async def test_a_key_is_not_unknown_because_the_database_is_away(server: Postgres) -> None:
    engine = open_engine(server.new_ledger())
    digest = keys.digest_of(await keys.create(engine, keys.KeySpec("ana")))
    server.stop()

    with pytest.raises(Unavailable) as told:
        await keys.find(engine, digest)
    server.start()

    assert await keys.find(engine, digest) is not None
    assert (told.value.status, told.value.retry_after) == (503, "5")
    await engine.dispose()


async def test_the_writer_of_a_database_that_is_away_says_so_and_opens_when_it_is_back(server: Postgres) -> None:
    store = Store(server.new_ledger(), None)
    server.stop()

    with pytest.raises(Unavailable):
        async with store.writer():
            pytest.fail("opened")
    server.start()

    async with store.writer() as writer:
        await writer.hold(held())


async def test_a_connection_that_broke_while_nobody_used_it_is_made_anew_without_a_word(postgres_url: str) -> None:
    store = Store(postgres_url, None)
    mine = "application_name = 'soleira' AND datname = current_database()"
    async with store.writer() as writer:
        await writer.hold(held())
        store.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {mine}")
        await writer.settle(a_settlement(held()))

    assert store.row()["state"] == "settled"


class Line:
    """A line to the server that can break just when a commit was passed on, before word of it comes back."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self.breaks = False
        self.ended = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.ended.clear()
        answers, questions = await asyncio.open_unix_connection(self._socket)
        committed = asyncio.Event()
        answering = asyncio.create_task(self._answer(answers, writer, committed))
        while data := await reader.read(65536):
            if self.breaks and b"COMMIT" in data:
                committed.set()
            questions.write(data)
        questions.close()
        await asyncio.gather(answering, questions.wait_closed())
        self.ended.set()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, committed: asyncio.Event
    ) -> None:
        while data := await reader.read(65536):
            if committed.is_set():  # the server has done it
                self.breaks = False
                break
            writer.write(data)
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def breakable(url: str, folder: Path) -> AsyncIterator[tuple[str, Line]]:
    """The same database over such a line."""
    address, _, place = url.partition("?host=")
    line = Line(f"{place}/.s.PGSQL.5432")
    async with await asyncio.start_unix_server(line.serve, folder / ".s.PGSQL.5432") as server:
        yield f"{address}?host={folder}", line
        server.close()
        await line.ended.wait()


@pytest.mark.slow  # the line shares the loop that a closing writer blocks: on a busy machine it can starve
async def test_a_hold_whose_commit_nobody_heard_of_is_taken_back(postgres_url: str, tmp_path: Path) -> None:
    store = Store(postgres_url, None)
    async with (
        breakable(postgres_url, tmp_path) as (url, line),
        open_writer(url, BOOT, heartbeat_seconds=0.1) as writer,
    ):
        await writer.hold(held("before"))
        line.breaks = True
        with pytest.raises(Unavailable):
            await writer.hold(held("lost"))

        await until(lambda: store.rows()[1]["state"] == "settled")

    before, lost = store.rows()
    assert (before["state"], before["cost_nano_usd"]) == ("held", None)
    assert (lost["cost_nano_usd"], lost["outcome"], lost["bearer"]) == (0, "refused", "house")
    assert tuple(store.row(SPENT).values()) == (0, 10_500_000, 0, 1500)


@pytest.mark.slow  # the line shares the loop that a closing writer blocks: on a busy machine it can starve
async def test_a_settlement_whose_commit_nobody_heard_of_is_booked_once(postgres_url: str, tmp_path: Path) -> None:
    store = Store(postgres_url, None)
    async with (
        breakable(postgres_url, tmp_path) as (url, line),
        open_writer(url, BOOT, heartbeat_seconds=0.1) as writer,
    ):
        await writer.hold(held())
        line.breaks = True
        with pytest.raises(Unavailable):
            await writer.settle(a_settlement(held(), Usage(fresh=2)))
        await writer.hold(held("after"))

        assert tuple(store.row(SPENT).values()) == (6_000, 10_500_000, 2, 1500)
        assert store.row(ROLLED) == {"attempts": 1, "cost_nano_usd": 6_000}


SECRET = "canary-password"
CLOSED = f"postgresql://ana:{SECRET}@127.0.0.1:1/ledger"


async def test_neither_logs_nor_errors_show_the_password() -> None:
    engine = open_engine(CLOSED)
    with structlog.testing.capture_logs() as logs:
        with pytest.raises(Unavailable) as read:
            await keys.list_keys(engine)
        with pytest.raises(Unavailable) as written:
            async with open_writer(CLOSED, BOOT):
                pytest.fail("opened")
    await engine.dispose()

    assert len(logs) == 2
    told = [str(logs), repr(logs), repr(engine), repr(engine.url), *(repr(error.value) for error in (read, written))]
    assert [text for text in told if SECRET in text] == []
    assert [text for error in (read, written) for text in ("127.0.0.1", ":1/") if text in str(error.value)] == []


def migrating(data: Path, url: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "gateway.supervisor.migrate", str(data)]
    environment = {**os.environ, "SOLEIRA_DATABASE_URL": url, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def test_a_house_that_starts_before_its_database_waits_for_it(server: Postgres, tmp_path: Path) -> None:
    url = server.empty("late")
    server.stop()

    starting = migrating(tmp_path, url)
    with pytest.raises(subprocess.TimeoutExpired):
        starting.wait(2)
    server.start()
    _, told = starting.communicate(timeout=60)

    assert (starting.returncode, told) == (0, "")
    assert Store(url, None).row("SELECT count(*) AS attempts FROM attempts") == {"attempts": 0}


def test_a_database_that_is_not_there_is_told_at_once_without_the_password(server: Postgres, tmp_path: Path) -> None:
    url = server.url("missing").replace("postgres@", f"postgres:{SECRET}@")

    starting = migrating(tmp_path, url)
    _, told = starting.communicate(timeout=60)

    assert starting.returncode == 1
    assert "'missing'" in told or '"missing"' in told
    assert "does not let us in" in told
    assert SECRET not in told
    assert "Traceback" not in told


async def test_two_houses_that_start_at_once_migrate_once(server: Postgres, tmp_path: Path) -> None:
    url = server.empty("shared")
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()

    both = [migrating(folder, url) for folder in folders]
    told = [process.communicate(timeout=60)[1] for process in both]

    assert ([process.returncode for process in both], told) == ([0, 0], ["", ""])
