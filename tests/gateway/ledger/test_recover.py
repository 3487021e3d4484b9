"""Recovery: what the dead held is settled once; the living are left alone."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from gateway.db import attempts, boots
from gateway.db.engine import open_engine
from gateway.ledger.owners import process_start, this_process
from gateway.ledger.recover import keep_recovering, recover
from gateway.ledger.spend import spend
from gateway.wire.lanes import Usage
from tests.gateway.ledger.samples import NOON, a_hold, a_settlement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.boots import Boot
    from tests.db.stores import Store

HELD = 10_500_000
ME = this_process("me", NOON)
HOLDER = """
import asyncio, sys
from datetime import UTC, datetime
from gateway.ledger.attempt import attempt
from gateway.ledger.owners import this_process
from gateway.ledger.writer import open_writer
from tests.gateway.ledger.samples import a_hold

async def main():
    async with open_writer(sys.argv[1], this_process("holder", datetime.now(UTC))) as writer:
        async with attempt(writer, a_hold()):
            print("held", flush=True)
            await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.fixture
def holder(store: Store) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of an attempt."""
    command = [sys.executable, "-c", HOLDER, store.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def end(process: subprocess.Popen[str]) -> None:
    """Kill it, and leave it dead as long as its parent has not asked for it."""
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


async def held_by(store: Store, boot: Boot, attempt_id: str = "att-1") -> None:
    async with store.writer(boot) as writer:
        await writer.hold(a_hold(attempt_id))


async def test_a_process_killed_in_the_middle_is_settled_at_its_estimate(
    store: Store, opened: AsyncEngine, holder: subprocess.Popen[str]
) -> None:
    late = datetime.now(UTC) + timedelta(hours=1)
    while_it_lives = await recover(opened, ME, late)
    end(holder)

    recovered = await recover(opened, ME)

    again = await recover(opened, ME)
    row = store.row()
    assert (while_it_lives, recovered, again) == (0, 1, 0)
    assert (row["state"], row["outcome"], row["estimated"]) == ("recovered", "unknown", 1)
    assert row["cost_nano_usd"] == HELD == (await spend(opened)).total_nano_usd


async def test_a_process_never_recovers_what_it_holds_itself(store: Store, opened: AsyncEngine) -> None:
    me = replace(ME, process_started_at="")  # so that its heart, silent for a day, would decide
    await held_by(store, me)

    assert await recover(opened, me, NOON + timedelta(days=1)) == 0
    assert store.rows()[0]["state"] == "held"


async def test_a_number_that_another_process_took_over_is_no_sign_of_life(store: Store, opened: AsyncEngine) -> None:
    await held_by(store, replace(ME, boot_id="earlier", process_started_at="another-kernel/1"))

    assert await recover(opened, ME, NOON) == 1


@pytest.mark.parametrize(("silence", "recovered"), [(timedelta(seconds=30), 0), (timedelta(seconds=31), 1)])
async def test_an_owner_elsewhere_is_dead_when_its_heart_was_silent_too_long(
    store: Store, opened: AsyncEngine, silence: timedelta, recovered: int
) -> None:
    await held_by(store, replace(ME, boot_id="other", host="another house"))

    assert await recover(opened, ME, NOON + silence) == recovered


async def test_where_the_system_does_not_tell_the_start_the_heart_decides(store: Store, opened: AsyncEngine) -> None:
    await held_by(store, replace(ME, boot_id="other", process_started_at=""))

    assert await recover(opened, ME, NOON + timedelta(seconds=30)) == 0
    assert await recover(opened, ME, NOON + timedelta(seconds=31)) == 1


async def test_settled_attempts_of_the_dead_keep_their_cost(store: Store, opened: AsyncEngine) -> None:
    hold = a_hold()
    async with store.writer(replace(ME, boot_id="other", host="another house")) as writer:
        await writer.hold(hold)
        await writer.settle(a_settlement(hold, Usage(fresh=1)))

    assert await recover(opened, ME, NOON + timedelta(days=1)) == 0
    assert store.rows()[0]["cost_nano_usd"] == 3_000


async def test_many_recoverers_settle_each_attempt_once(store: Store) -> None:
    async with store.writer(replace(ME, boot_id="other", host="another house")) as writer:
        await asyncio.gather(*(writer.hold(a_hold(f"att-{number}")) for number in range(20)))
    engines = [open_engine(store.url) for _ in range(6)]

    counts = await asyncio.gather(*(recover(engine, ME, NOON + timedelta(days=1)) for engine in engines))

    total = await spend(engines[0])
    for engine in engines:
        await engine.dispose()
    assert sum(counts) == 20
    assert (total.total_nano_usd, total.attempts, total.held) == (20 * HELD, 20, 0)


async def test_an_owner_that_is_heard_of_at_the_last_moment_is_spared(store: Store, opened: AsyncEngine) -> None:
    await held_by(store, replace(ME, boot_id="other", host="another house"))
    [thought_dead] = await boots.owners(opened)
    store.execute("UPDATE boots SET heartbeat_at = heartbeat_at + 1")

    assert await attempts.recover(opened, thought_dead, NOON) == 0
    assert store.rows()[0]["state"] == "held"


async def test_an_owner_taken_for_dead_puts_the_true_cost_in_place_of_the_estimate(
    store: Store, opened: AsyncEngine
) -> None:
    hold = a_hold()
    async with store.writer(replace(ME, boot_id="sleeper", host="another house")) as sleeper:
        await sleeper.hold(hold)
        assert await recover(opened, ME, NOON + timedelta(days=1)) == 1

        await sleeper.settle(a_settlement(hold, Usage(fresh=1)))

    row = store.row()
    assert (row["state"], row["cost_nano_usd"], row["outcome"]) == ("settled", 3_000, "ok")


async def test_recovery_goes_on_when_the_ledger_cannot_be_read(store: Store, opened: AsyncEngine) -> None:
    store.execute("ALTER TABLE attempts RENAME TO hidden")

    recovering = asyncio.create_task(keep_recovering(opened, ME))
    await asyncio.wait([recovering], timeout=0.3)

    assert not recovering.done()
    recovering.cancel()
    with suppress(asyncio.CancelledError):
        await recovering


def test_a_system_without_process_files_tells_no_start(tmp_path: Path) -> None:
    assert process_start(os.getpid(), tmp_path) is None


def test_a_start_tells_a_process_from_another(holder: subprocess.Popen[str]) -> None:
    mine, theirs = process_start(os.getpid()), process_start(holder.pid)

    assert mine
    assert theirs
    assert mine != theirs
    assert mine == process_start(os.getpid())
