"""The writer: what it has taken is written, once, whatever happens to those who wait."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import pytest

from gateway.db.decisions import DecisionRecord
from gateway.errors import Unavailable
from gateway.ledger.entries import Account
from gateway.ledger.writer import NotHeldError, open_writer
from gateway.wire.lanes import Usage
from tests.gateway.ledger.samples import BOOT, NOON, a_hold, a_settlement, execute, rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HIDE = "ALTER TABLE attempts RENAME TO hidden"
SHOW = "ALTER TABLE hidden RENAME TO attempts"


async def test_a_hold_is_in_the_file_when_it_returns(ledger: Path) -> None:
    async with open_writer(ledger, BOOT) as writer:
        await writer.hold(a_hold())

        [row] = rows(ledger)

    assert (row["state"], row["held_nano_usd"], row["cost_nano_usd"]) == ("held", 10_500_000, None)
    assert (row["owner"], row["zone"], row["currency"], row["estimated"]) == ("boot-1", "hosted", "USD", 1)


async def test_a_settlement_replaces_the_estimate(ledger: Path) -> None:
    hold = a_hold()
    async with open_writer(ledger, BOOT) as writer:
        await writer.hold(hold)
        await writer.settle(a_settlement(hold, Usage(fresh=10, cached=20, output=5, reasoning=7)))

    [row] = rows(ledger)
    assert (row["state"], row["outcome"], row["estimated"]) == ("settled", "ok", 0)
    assert (row["fresh"], row["cached"], row["output"], row["reasoning"]) == (10, 20, 5, 7)
    assert row["cost_nano_usd"] == 10 * 3_000 + 20 * 300 + 12 * 15_000
    assert (row["first_byte_ms"], row["total_ms"], row["bytes_out"]) == (12, 345, 678)


async def test_two_hundred_at_once_are_all_written(ledger: Path) -> None:
    holds = [a_hold(f"att-{number:03}") for number in range(200)]
    async with open_writer(ledger, BOOT) as writer:
        await asyncio.gather(*map(writer.hold, holds))
        await asyncio.gather(*(writer.settle(a_settlement(hold, Usage(fresh=1))) for hold in holds))

    written = rows(ledger)
    assert [row["id"] for row in written] == [hold.id for hold in holds]
    assert {(row["state"], row["cost_nano_usd"]) for row in written} == {("settled", 3_000)}


async def test_a_second_settlement_is_refused_and_changes_nothing(ledger: Path) -> None:
    hold = a_hold()
    async with open_writer(ledger, BOOT) as writer:
        await writer.hold(hold)
        await writer.settle(a_settlement(hold, Usage(fresh=1)))

        with pytest.raises(NotHeldError, match="att-1"):
            await writer.settle(a_settlement(hold, Usage(fresh=999)))

    assert rows(ledger)[0]["cost_nano_usd"] == 3_000


async def test_a_process_cannot_settle_what_another_one_holds(ledger: Path) -> None:
    hold = a_hold()
    async with open_writer(ledger, BOOT) as owner, open_writer(ledger, replace(BOOT, boot_id="boot-2")) as stranger:
        await owner.hold(hold)

        with pytest.raises(NotHeldError):
            await stranger.settle(a_settlement(hold))

        assert rows(ledger)[0]["state"] == "held"


@pytest.mark.parametrize(
    "bad",
    [
        a_hold("att-1"),
        replace(a_hold("att-2"), account=Account("\ud83d")),
        replace(a_hold("att-2"), ordinal=2**64),
    ],
    ids=["known id", "lone surrogate", "too large"],
)
async def test_an_entry_that_cannot_be_kept_fails_alone(ledger: Path, bad: object) -> None:
    async with open_writer(ledger, BOOT) as writer:
        await writer.hold(a_hold("att-1"))
        before, refused, after = await asyncio.gather(
            writer.hold(a_hold("att-3")),
            writer.hold(bad),  # type: ignore[arg-type]  # pytest's parameters have no type
            writer.hold(a_hold("att-4")),
            return_exceptions=True,
        )

    assert (before, after) == (None, None)
    assert isinstance(refused, Exception)
    assert [row["id"] for row in rows(ledger)] == ["att-1", "att-3", "att-4"]


async def test_a_hold_that_cannot_be_written_is_told_and_the_next_one_works(ledger: Path) -> None:
    async with open_writer(ledger, BOOT) as writer:
        execute(ledger, HIDE)
        with pytest.raises(Unavailable) as told:
            await writer.hold(a_hold("att-1"))
        execute(ledger, SHOW)
        await writer.hold(a_hold("att-2"))

    assert told.value.retry_after is not None
    assert str(ledger) not in str(told.value)
    assert [row["id"] for row in rows(ledger)] == ["att-2"]


async def test_a_ledger_that_is_busy_for_a_moment_is_waited_for(ledger: Path) -> None:
    async with open_writer(ledger, BOOT) as writer:
        with closing(sqlite3.connect(ledger, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            holding = asyncio.create_task(writer.hold(a_hold()))
            await asyncio.wait([holding], timeout=0.1)
            waits = not holding.done()
            other.execute("COMMIT")
        await holding

    assert waits
    assert [row["id"] for row in rows(ledger)] == ["att-1"]


async def test_a_settlement_that_cannot_be_written_is_written_once_with_the_next_batch(ledger: Path) -> None:
    hold = a_hold()
    async with open_writer(ledger, BOOT) as writer:
        await writer.hold(hold)
        execute(ledger, HIDE)
        with pytest.raises(Unavailable):
            await writer.settle(a_settlement(hold, Usage(fresh=2)))
        execute(ledger, SHOW)
        await writer.hold(a_hold("att-2"))

        settled, _ = rows(ledger)

        with pytest.raises(NotHeldError):
            await writer.settle(a_settlement(hold, Usage(fresh=3)))
    assert (settled["state"], settled["cost_nano_usd"]) == ("settled", 6_000)


async def test_an_owed_settlement_is_written_without_further_traffic(ledger: Path) -> None:
    hold = a_hold()
    async with open_writer(ledger, BOOT, heartbeat_seconds=0.02) as writer:
        await writer.hold(hold)
        execute(ledger, HIDE)
        with suppress(Unavailable):
            await writer.settle(a_settlement(hold))
        execute(ledger, SHOW)

        await _until(lambda: rows(ledger)[0]["state"] == "settled")


async def test_a_cancelled_caller_does_not_take_its_settlement_back(ledger: Path) -> None:
    hold = a_hold()
    async with open_writer(ledger, BOOT) as writer:
        await writer.hold(hold)
        waiting = asyncio.create_task(writer.settle(a_settlement(hold)))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    assert rows(ledger)[0]["state"] == "settled"


async def test_closing_writes_what_was_taken(ledger: Path) -> None:
    async with open_writer(ledger, BOOT) as writer:
        waiting = [asyncio.create_task(writer.hold(a_hold(f"att-{number}"))) for number in range(1500)]
        await asyncio.sleep(0)

    await asyncio.gather(*waiting)
    assert len(rows(ledger)) == 1500


async def test_a_closed_writer_takes_nothing(ledger: Path) -> None:
    async with open_writer(ledger, BOOT) as writer:
        pass

    with pytest.raises(Unavailable):
        await writer.hold(a_hold())


async def test_a_process_that_holds_something_keeps_its_heart_beating(ledger: Path) -> None:
    async with open_writer(ledger, BOOT, heartbeat_seconds=0.02) as writer:
        await writer.hold(a_hold())

        first = _beat(ledger)
        await _until(lambda: _beat(ledger) > first)
        second = _beat(ledger)
        await _until(lambda: _beat(ledger) > second)


def _beat(ledger: Path) -> int:
    [boot] = rows(ledger, "SELECT heartbeat_at FROM boots")
    return int(boot["heartbeat_at"])


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        for _ in count():
            if condition():
                return
            await asyncio.sleep(0.01)


async def test_an_idle_process_leaves_the_disk_alone(ledger: Path) -> None:
    hold = a_hold()
    async with open_writer(ledger, BOOT, heartbeat_seconds=0.01) as writer:
        await writer.hold(hold)
        await writer.settle(a_settlement(hold))
        written = ledger.with_name("ledger.db-wal").stat()
        await asyncio.sleep(0.2)

        assert ledger.with_name("ledger.db-wal").stat().st_mtime_ns == written.st_mtime_ns


async def test_a_decision_is_entered_and_brought_up_to_date(ledger: Path) -> None:
    decided = DecisionRecord(
        id="dec-1",
        at=NOON,
        request_id="req-1",
        principal="ana",
        asked_model="auto",
        collections=("casa",),
        label="private",
        raised_by=("detector:cpf",),
        rule="family papers",
        action="route",
        zones=("device", "lan"),
        policy_version="abc",
        stream=True,
    )
    async with open_writer(ledger, BOOT) as writer:
        await writer.record(decided)
        await writer.record(replace(decided, status=200, zone="device", deployment="quotes"))

    [row] = rows(ledger, "SELECT * FROM decisions")
    assert (row["status"], row["zone"], row["zones"]) == (200, "device", '["device", "lan"]')
