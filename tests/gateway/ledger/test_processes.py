"""Several processes over one ledger: a budget is never passed, and nothing stays held, whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from gateway.ledger.owners import this_process
from gateway.ledger.recover import recover

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.ext.asyncio import AsyncEngine

    from tests.db.stores import Store

COST = 10_500_000
"""Of one estimate."""
ROOM = 7
CALLER = """
import asyncio, sys
from datetime import UTC, datetime, timedelta
from dataclasses import replace
from gateway.errors import BudgetExceeded
from gateway.ledger.attempt import attempt
from gateway.ledger.entries import Window
from gateway.ledger.owners import this_process
from gateway.ledger.writer import open_writer
from tests.gateway.ledger.samples import ESTIMATE, a_hold

url, name, calls, limits = sys.argv[1], sys.argv[2], int(sys.argv[3]), [int(limit) for limit in sys.argv[4:]]
now = datetime.now(UTC)
windows = tuple(
    Window(f"w{number}", "b", "ana", now, datetime(2100, 1, 1, tzinfo=UTC), limit, None, True)
    for number, limit in enumerate(limits)
)

async def call(writer, number):
    hold = replace(a_hold(f"{name}-{number}"), windows=windows, started_at=now)
    try:
        async with attempt(writer, hold) as record:
            await asyncio.sleep(0.001 * (number % 5))
            record.usage = ESTIMATE
    except BudgetExceeded:
        return 0
    print("called", flush=True)
    return 1

async def main():
    async with open_writer(url, this_process(name, now)) as writer:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await asyncio.gather(*(call(writer, number) for number in range(calls)))
    print("done", flush=True)

asyncio.run(main())
"""


class Caller:
    """A process that makes calls when it is told to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        """Kill it, and leave it dead as long as its parent has not asked for it."""
        os.kill(self.process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)

    def called(self) -> int:
        """How many calls were made; the process has ended."""
        told, _ = self.process.communicate(timeout=60)
        return told.splitlines().count("called")


@contextmanager
def calling(store: Store, calls: int, *limits: int, names: tuple[str, ...] = ("one", "two")) -> Iterator[list[Caller]]:
    """Processes that are ready to make so many calls each, at once."""
    command = [sys.executable, "-c", CALLER, store.url]
    processes = [
        subprocess.Popen(
            [*command, name, str(calls), *map(str, limits)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in names
    ]
    try:
        callers = [Caller(process) for process in processes]
        assert [caller.said() for caller in callers] == ["ready"] * len(callers)
        for caller in callers:
            caller.go()
        yield callers
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def books(store: Store) -> list[tuple[int, ...]]:
    """What rows, rollups and each window say was spent, and what is held."""
    spent = store.row(
        "SELECT coalesce(sum(cost_nano_usd), 0) AS cost, coalesce(sum(fresh + output), 0) AS tokens, "
        "coalesce(sum(CASE WHEN state = 'held' THEN 1 ELSE 0 END), 0) AS held FROM attempts"
    )
    rolled = store.row(
        "SELECT coalesce(sum(cost_nano_usd), 0) AS cost, coalesce(sum(fresh + output), 0) AS tokens, 0 AS held "
        "FROM rollups"
    )
    windows = store.rows(
        "SELECT spent_nano_usd, spent_tokens, held_nano_usd + held_tokens AS held FROM budget_windows ORDER BY id"
    )
    return [tuple(row.values()) for row in (spent, rolled, *windows)]


async def test_fifty_calls_of_two_processes_make_exactly_as_many_as_there_is_room_for(store: Store) -> None:
    with calling(store, 25, ROOM * COST, 1000 * COST) as callers:
        made = sum(caller.called() for caller in callers)

    assert made == ROOM
    assert books(store) == [(ROOM * COST, ROOM * 1500, 0)] * 4


async def test_windows_that_each_process_names_in_another_order_block_nobody(store: Store) -> None:
    with calling(store, 150, 10**15, 10**15, 10**15, 10**15) as callers:
        made = sum(caller.called() for caller in callers)

    assert made == 300
    assert books(store) == [(300 * COST, 300 * 1500, 0)] * 6


@pytest.mark.parametrize("after", [1, 40])
async def test_nothing_stays_held_when_a_process_is_killed_in_the_middle(
    store: Store, opened: AsyncEngine, after: int
) -> None:
    with calling(store, 400, 600 * COST, 10**15) as callers:
        killed, living = callers
        for _ in range(after):
            killed.said()
        killed.kill()
        living.called()
    recovered = await recover(opened, this_process("me", datetime.now(UTC)))

    rows, rolled, *windows = books(store)
    assert rows[2] == 0
    assert rolled == rows
    assert windows == [rows, rows]
    assert rows[0] <= 600 * COST
    assert rows[0] % COST == 0
    unknown = store.row("SELECT count(*) AS unknown FROM attempts WHERE outcome = 'unknown'")
    assert unknown == {"unknown": recovered}
