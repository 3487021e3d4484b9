"""Decisions: read back as they were written, and only by those they belong to."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from gateway.db import attempts, decisions
from gateway.db.decisions import DecisionRecord
from tests.gateway.ledger.samples import NOON, a_hold

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from tests.db.stores import Store

REFUSED = DecisionRecord(
    id="dec-1",
    at=NOON,
    request_id="req-1",
    principal="ana",
    asked_model="kimi-k3@casa",
    collections=("casa",),
    label="private+health redacted:secret",
    raised_by=("collection:casa", "detector:cpf"),
    rule=None,
    action="deny",
    zones=(),
    policy_version="0a1b2c3d4e5f",
    stream=True,
    passages=3,
    status=403,
    code="label_exceeds_clearance",
)


@pytest.fixture
async def written(store: Store) -> list[DecisionRecord]:
    """Three decisions, the newest first."""
    made = [
        REFUSED,
        replace(REFUSED, id="dec-2", at=NOON - timedelta(seconds=1), principal="rui"),
        replace(REFUSED, id="dec-3", at=NOON - timedelta(seconds=2), status=None, zones=("device", "lan")),
    ]
    async with store.writer() as writer:
        for decision in reversed(made):
            await writer.record(decision)
    return made


async def test_a_decision_is_read_back_as_it_was_written(opened: AsyncEngine, written: list[DecisionRecord]) -> None:
    assert [await decisions.find(opened, decision.id) for decision in written] == written


async def test_a_stranger_does_not_find_it(opened: AsyncEngine, written: list[DecisionRecord]) -> None:
    assert await decisions.find(opened, "dec-1", principal="ana") == written[0]
    assert await decisions.find(opened, "dec-1", principal="rui") is None
    assert await decisions.find(opened, "dec-9") is None


async def test_the_last_decisions_come_newest_first(opened: AsyncEngine, written: list[DecisionRecord]) -> None:
    assert await decisions.recent(opened) == written
    assert await decisions.recent(opened, limit=1) == written[:1]
    assert await decisions.recent(opened, principal="rui") == [written[1]]


async def test_the_attempts_of_a_decision_come_in_their_order(store: Store, opened: AsyncEngine) -> None:
    second, first = (
        replace(a_hold("att-a"), ordinal=2, decision_id="dec-1"),
        replace(a_hold("att-b"), decision_id="dec-1"),
    )
    async with store.writer() as writer:
        for hold in (second, first, a_hold("att-c")):
            await writer.hold(hold)

    found = await attempts.of_decision(opened, "dec-1")

    assert [(row.id, row.ordinal, row.started_at) for row in found] == [("att-b", 1, NOON), ("att-a", 2, NOON)]
    assert (found[0].estimated, found[0].cost_nano_usd, found[0].settled_at) == (True, None, None)


@pytest.mark.parametrize("unkept", ["dec\x00", "\ud83d"], ids=["NUL", "lone surrogate"])
async def test_a_name_that_no_database_takes_is_kept_with_a_mark_and_finds_nothing(
    store: Store, opened: AsyncEngine, unkept: str
) -> None:
    asked = replace(REFUSED, asked_model=unkept, collections=(unkept,), principal=unkept)
    async with store.writer() as writer:
        await writer.record(asked)

    kept = await decisions.find(opened, "dec-1")

    assert kept is not None
    assert "\ufffd" in kept.asked_model
    assert await decisions.find(opened, unkept) is None
    assert [row.id for row in await decisions.recent(opened, principal=unkept)] == ["dec-1"]
