"""One call: held before, settled once after, charged for what is known and else for the estimate."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from gateway.errors import (
    LabelExceedsClearance,
    NotLocal,
    Unavailable,
    UpstreamCut,
    UpstreamError,
    UpstreamRateLimited,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from gateway.ledger.attempt import attempt
from gateway.ledger.writer import open_writer
from gateway.wire.lanes import Usage
from tests.gateway.ledger.samples import BOOT, ESTIMATE, a_hold, execute, rows

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path
    from typing import Any

    from gateway.ledger.writer import Writer

HELD = 10_500_000
USED = Usage(fresh=10, output=2)
COST = 60_000


@pytest.fixture
async def writer(ledger: Path) -> AsyncIterator[Writer]:
    async with open_writer(ledger, BOOT) as writer:
        yield writer


def the_row(ledger: Path) -> Mapping[str, Any]:
    [row] = rows(ledger)
    return row


async def test_a_good_answer_costs_what_the_upstream_says(ledger: Path, writer: Writer) -> None:
    async with attempt(writer, a_hold()) as record:
        held = the_row(ledger)
        record.usage = USED

    row = the_row(ledger)
    assert (held["state"], held["held_nano_usd"]) == ("held", HELD)
    assert (row["state"], row["outcome"], row["error_code"]) == ("settled", "ok", None)
    assert (row["cost_nano_usd"], row["estimated"]) == (COST, 0)


async def test_an_answer_without_usage_costs_the_estimate_and_is_flagged(ledger: Path, writer: Writer) -> None:
    async with attempt(writer, a_hold()) as record:
        assert record.charged == ESTIMATE

    row = the_row(ledger)
    assert (row["outcome"], row["cost_nano_usd"], row["estimated"]) == ("ok", HELD, 1)


async def test_an_explicit_zero_stays_zero(ledger: Path, writer: Writer) -> None:
    async with attempt(writer, a_hold()) as record:
        record.usage = Usage()

    row = the_row(ledger)
    assert (row["cost_nano_usd"], row["estimated"]) == (0, 0)


@pytest.mark.parametrize("usage", [Usage(fresh=-1, output=2), Usage(output=2**70), Usage(cached=2**31 + 1)])
async def test_a_usage_that_cannot_be_is_as_good_as_none(ledger: Path, writer: Writer, usage: Usage) -> None:
    async with attempt(writer, a_hold()) as record:
        record.usage = usage

    row = the_row(ledger)
    assert (row["state"], row["cost_nano_usd"], row["estimated"]) == ("settled", HELD, 1)


@pytest.mark.parametrize(
    ("error", "outcome", "cost"),
    [
        (UpstreamUnavailable("no connection"), "failed", 0),
        (NotLocal("a public address"), "failed", 0),
        (UpstreamRefused("no", status=400), "refused", 0),
        (UpstreamRateLimited("later"), "refused", 0),
        (LabelExceedsClearance("too private"), "refused", 0),
        (UpstreamTimeout("silence"), "failed", HELD),
        (UpstreamCut("half an answer"), "failed", HELD),
    ],
)
async def test_a_failure_costs_nothing_only_where_nothing_was_taken(
    ledger: Path, writer: Writer, error: UpstreamError | LabelExceedsClearance, outcome: str, cost: int
) -> None:
    with pytest.raises(type(error)):
        async with attempt(writer, a_hold()):
            raise error

    row = the_row(ledger)
    assert (row["outcome"], row["error_code"], row["cost_nano_usd"]) == (outcome, error.code, cost)
    assert row["estimated"] == (cost > 0)


async def test_what_the_upstream_said_before_it_failed_is_charged(ledger: Path, writer: Writer) -> None:
    async def call() -> None:
        async with attempt(writer, a_hold()) as record:
            record.usage = USED
            raise UpstreamUnavailable("gone")

    with pytest.raises(UpstreamUnavailable):
        await call()

    assert the_row(ledger)["cost_nano_usd"] == COST


async def test_a_mistake_of_ours_is_charged_at_the_estimate(ledger: Path, writer: Writer) -> None:
    with pytest.raises(ZeroDivisionError):
        async with attempt(writer, a_hold()) as record:
            record.bytes_out = 1 // 0

    row = the_row(ledger)
    assert (row["outcome"], row["error_code"], row["cost_nano_usd"]) == ("failed", "internal_error", HELD)


async def test_the_caller_may_name_the_outcome(ledger: Path, writer: Writer) -> None:
    async with attempt(writer, a_hold()) as record:
        record.usage, record.outcome, record.error_code = USED, "failed", "upstream_cut"

    row = the_row(ledger)
    assert (row["outcome"], row["error_code"], row["cost_nano_usd"]) == ("failed", "upstream_cut", COST)


async def test_a_client_that_leaves_is_charged_once_for_what_is_known(ledger: Path, writer: Writer) -> None:
    reading = asyncio.Event()

    async def relay() -> None:
        async with attempt(writer, a_hold()) as record:
            record.usage = Usage(fresh=10, output=2, estimated=True)
            reading.set()
            await asyncio.Event().wait()

    client = asyncio.create_task(relay())
    await reading.wait()
    client.cancel()
    with pytest.raises(asyncio.CancelledError):
        await client

    row = the_row(ledger)
    assert (row["outcome"], row["cost_nano_usd"], row["estimated"]) == ("aborted", COST, 1)


async def test_a_stream_that_is_closed_early_is_settled(ledger: Path, writer: Writer) -> None:
    async def stream() -> AsyncIterator[bytes]:
        async with attempt(writer, a_hold()) as record:
            record.usage = USED
            yield b"data: 1\n\n"
            yield b"data: 2\n\n"

    events = stream()
    await anext(events)
    await events.aclose()  # type: ignore[attr-defined]  # an async generator, typed as what it iterates

    row = the_row(ledger)
    assert (row["outcome"], row["cost_nano_usd"]) == ("aborted", COST)


@pytest.mark.parametrize("cancels", [1, 2])
@pytest.mark.parametrize("after", range(12))
async def test_cancelled_at_any_await_nothing_stays_held(ledger: Path, after: int, cancels: int) -> None:
    async def call(writer: Writer) -> None:
        async with attempt(writer, a_hold()) as record:
            await asyncio.sleep(0)
            record.usage = USED
            await asyncio.sleep(0)

    async with open_writer(ledger, BOOT) as writer:
        calling = asyncio.create_task(call(writer))
        for _ in range(after):
            await asyncio.sleep(0)
        for _ in range(cancels):
            calling.cancel()
            await asyncio.sleep(0)
        await asyncio.wait([calling])

    written = rows(ledger)
    assert [row["state"] for row in written] in ([], ["settled"])
    assert all(row["cost_nano_usd"] in (0, COST, HELD) for row in written)
    assert written or after == 0


async def test_a_call_cancelled_before_it_left_costs_nothing(ledger: Path) -> None:
    left: list[str] = []

    async def call(writer: Writer) -> None:
        async with attempt(writer, a_hold()):
            left.append("left")

    async with open_writer(ledger, BOOT) as writer:
        calling = asyncio.create_task(call(writer))
        await asyncio.sleep(0)
        calling.cancel()
        await asyncio.wait([calling])

    row = the_row(ledger)
    assert left == []
    assert (row["state"], row["outcome"], row["cost_nano_usd"]) == ("settled", "aborted", 0)


async def test_nothing_leaves_without_a_hold(ledger: Path, writer: Writer) -> None:
    left: list[str] = []
    execute(ledger, "ALTER TABLE attempts RENAME TO hidden")

    with pytest.raises(Unavailable):
        async with attempt(writer, a_hold()):
            left.append("left")

    assert left == []


async def test_an_answer_survives_a_ledger_that_fails_after_it(ledger: Path, writer: Writer) -> None:
    async with attempt(writer, a_hold()) as record:
        record.usage = USED
        execute(ledger, "ALTER TABLE attempts RENAME TO hidden")
    execute(ledger, "ALTER TABLE hidden RENAME TO attempts")
    await writer.hold(a_hold("att-2"))

    settled, _ = rows(ledger)
    assert (settled["state"], settled["cost_nano_usd"]) == ("settled", COST)


async def test_times_are_told_from_the_steady_clock(ledger: Path, writer: Writer) -> None:
    moments = iter([100.0, 100.25, 103.5])
    async with attempt(writer, a_hold(), clock=lambda: next(moments)) as record:
        record.first_byte()
        record.first_byte()

    row = the_row(ledger)
    assert (row["first_byte_ms"], row["total_ms"]) == (250, 3500)
    assert row["settled_at"] - row["started_at"] == 3_500_000
