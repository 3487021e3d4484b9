"""The writer: what it has taken is written, once, whatever happens to those who wait."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import pytest

from gateway.db.decisions import DecisionRecord
from gateway.errors import Unavailable
from gateway.ledger.entries import Account
from gateway.ledger.writer import NotHeldError
from gateway.wire.lanes import Usage
from policies.labels import Label
from tests.gateway.ledger.samples import BOOT, NOON, a_hold, a_settlement

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.db.stores import Store

HIDE = "ALTER TABLE attempts RENAME TO hidden"
SHOW = "ALTER TABLE hidden RENAME TO attempts"


async def test_a_hold_is_in_the_file_when_it_returns(store: Store) -> None:
    async with store.writer() as writer:
        await writer.hold(a_hold())

        row = store.row()

    assert (row["state"], row["held_nano_usd"], row["cost_nano_usd"]) == ("held", 10_500_000, None)
    assert (row["owner"], row["zone"], row["currency"], row["estimated"]) == ("boot-1", "hosted", "USD", 1)


async def test_a_settlement_replaces_the_estimate(store: Store) -> None:
    hold = a_hold()
    async with store.writer() as writer:
        await writer.hold(hold)
        await writer.settle(a_settlement(hold, Usage(fresh=10, cached=20, output=5, reasoning=7)))

    row = store.row()
    assert (row["state"], row["outcome"], row["estimated"]) == ("settled", "ok", 0)
    assert (row["fresh"], row["cached"], row["output"], row["reasoning"]) == (10, 20, 5, 7)
    assert row["cost_nano_usd"] == 10 * 3_000 + 20 * 300 + 12 * 15_000
    assert (row["first_byte_ms"], row["total_ms"], row["bytes_out"]) == (12, 345, 678)


async def test_two_hundred_at_once_are_all_written(store: Store) -> None:
    holds = [a_hold(f"att-{number:03}") for number in range(200)]
    async with store.writer() as writer:
        await asyncio.gather(*map(writer.hold, holds))
        await asyncio.gather(*(writer.settle(a_settlement(hold, Usage(fresh=1))) for hold in holds))

    written = store.rows()
    assert [row["id"] for row in written] == [hold.id for hold in holds]
    assert {(row["state"], row["cost_nano_usd"]) for row in written} == {("settled", 3_000)}


async def test_a_second_settlement_is_refused_and_changes_nothing(store: Store) -> None:
    hold = a_hold()
    async with store.writer() as writer:
        await writer.hold(hold)
        await writer.settle(a_settlement(hold, Usage(fresh=1)))

        with pytest.raises(NotHeldError, match="att-1"):
            await writer.settle(a_settlement(hold, Usage(fresh=999)))

    assert store.rows()[0]["cost_nano_usd"] == 3_000


async def test_a_process_cannot_settle_what_another_one_holds(store: Store) -> None:
    hold = a_hold()
    async with store.writer() as owner, store.writer(replace(BOOT, boot_id="boot-2")) as stranger:
        await owner.hold(hold)

        with pytest.raises(NotHeldError):
            await stranger.settle(a_settlement(hold))

        assert store.rows()[0]["state"] == "held"


@pytest.mark.parametrize(
    "bad",
    [
        a_hold("att-1"),
        replace(a_hold("att-2"), ordinal=2**64),
    ],
    ids=["known id", "too large"],
)
async def test_an_entry_that_cannot_be_kept_fails_alone(store: Store, bad: object) -> None:
    async with store.writer() as writer:
        await writer.hold(a_hold("att-1"))
        before, refused, after = await asyncio.gather(
            writer.hold(a_hold("att-3")),
            writer.hold(bad),  # type: ignore[arg-type]  # pytest's parameters have no type
            writer.hold(a_hold("att-4")),
            return_exceptions=True,
        )

    assert (before, after) == (None, None)
    assert isinstance(refused, Exception)
    assert [row["id"] for row in store.rows()] == ["att-1", "att-3", "att-4"]


@pytest.mark.parametrize("unkept", ["a\x00b", "a\ud83db"], ids=["NUL", "lone surrogate"])
async def test_texts_that_no_database_takes_are_kept_with_a_mark_in_their_place(store: Store, unkept: str) -> None:
    hold = replace(a_hold(), account=Account(unkept, tag=unkept, collections=(unkept,), label=unkept))
    settlement = replace(a_settlement(hold), answered_model=unkept, elsewhere={unkept: 1}, service_tier=unkept)
    async with store.writer() as writer:
        await writer.hold(hold)
        await writer.settle(settlement)
        await writer.mark(unkept, Label.parse("private"))

    row = store.row()
    assert (row["principal"], row["tag"], row["answered_model"], row["service_tier"]) == ("a\ufffdb",) * 4
    assert row["cost_nano_usd"] == settlement.cost_nano_usd
    assert store.row("SELECT principal, cost_nano_usd FROM rollups") == {
        "principal": "a\ufffdb",
        "cost_nano_usd": settlement.cost_nano_usd,
    }
    assert store.row("SELECT digest FROM marks") == {"digest": "a\ufffdb"}


async def test_a_hold_that_cannot_be_written_is_told_and_the_next_one_works(store: Store) -> None:
    async with store.writer() as writer:
        store.execute(HIDE)
        with pytest.raises(Unavailable) as told:
            await writer.hold(a_hold("att-1"))
        store.execute(SHOW)
        await writer.hold(a_hold("att-2"))

    assert told.value.retry_after is not None
    assert store.url not in str(told.value)
    assert [row["id"] for row in store.rows()] == ["att-2"]


async def test_a_ledger_that_is_busy_for_a_moment_is_waited_for(store: Store) -> None:
    async with store.writer() as writer:
        async with store.locked():
            holding = asyncio.create_task(writer.hold(a_hold()))
            await asyncio.wait([holding], timeout=0.1)
            waits = not holding.done()
        await holding

    assert waits
    assert [row["id"] for row in store.rows()] == ["att-1"]


async def test_a_settlement_that_cannot_be_written_is_written_once_with_the_next_batch(store: Store) -> None:
    hold = a_hold()
    async with store.writer() as writer:
        await writer.hold(hold)
        store.execute(HIDE)
        with pytest.raises(Unavailable):
            await writer.settle(a_settlement(hold, Usage(fresh=2)))
        store.execute(SHOW)
        await writer.hold(a_hold("att-2"))

        settled, _ = store.rows()

        with pytest.raises(NotHeldError):
            await writer.settle(a_settlement(hold, Usage(fresh=3)))
    assert (settled["state"], settled["cost_nano_usd"]) == ("settled", 6_000)


async def test_an_owed_settlement_is_written_without_further_traffic(store: Store) -> None:
    hold = a_hold()
    async with store.writer(heartbeat_seconds=0.02) as writer:
        await writer.hold(hold)
        store.execute(HIDE)
        with suppress(Unavailable):
            await writer.settle(a_settlement(hold))
        store.execute(SHOW)

        await _until(lambda: store.rows()[0]["state"] == "settled")


async def test_a_cancelled_caller_does_not_take_its_settlement_back(store: Store) -> None:
    hold = a_hold()
    async with store.writer() as writer:
        await writer.hold(hold)
        waiting = asyncio.create_task(writer.settle(a_settlement(hold)))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    assert store.rows()[0]["state"] == "settled"


async def test_closing_writes_what_was_taken(store: Store) -> None:
    async with store.writer() as writer:
        waiting = [asyncio.create_task(writer.hold(a_hold(f"att-{number}"))) for number in range(1500)]
        await asyncio.sleep(0)

    await asyncio.gather(*waiting)
    assert len(store.rows()) == 1500


async def test_a_closed_writer_takes_nothing(store: Store) -> None:
    async with store.writer() as writer:
        pass

    with pytest.raises(Unavailable):
        await writer.hold(a_hold())


async def test_a_process_that_holds_something_keeps_its_heart_beating(store: Store) -> None:
    async with store.writer(heartbeat_seconds=0.02) as writer:
        await writer.hold(a_hold())

        first = _beat(store)
        await _until(lambda: _beat(store) > first)
        second = _beat(store)
        await _until(lambda: _beat(store) > second)


def _beat(store: Store) -> int:
    boot = store.row("SELECT heartbeat_at FROM boots")
    return int(boot["heartbeat_at"])


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        for _ in count():
            if condition():
                return
            await asyncio.sleep(0.01)


async def test_an_idle_process_leaves_the_disk_alone(store: Store) -> None:
    hold = a_hold()
    async with store.writer(heartbeat_seconds=0.01) as writer:
        await writer.hold(hold)
        await writer.settle(a_settlement(hold))
        written = store.touched()
        await asyncio.sleep(0.2)

        assert store.touched() == written


async def test_a_decision_is_entered_and_brought_up_to_date(store: Store) -> None:
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
    async with store.writer() as writer:
        await writer.record(decided)
        await writer.record(replace(decided, status=200, zone="device", deployment="quotes"))

    row = store.row("SELECT * FROM decisions")
    assert (row["status"], row["zone"], row["zones"]) == (200, "device", '["device", "lan"]')
