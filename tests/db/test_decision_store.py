"""Decisions: read back as they were written, and only by those they belong to."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from gateway.db import attempts, decisions
from gateway.db.decisions import DecisionRecord
from gateway.db.engine import open_engine
from gateway.ledger.writer import open_writer
from tests.gateway.ledger.samples import BOOT, NOON, a_hold, fresh_ledger, url_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

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
async def engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    engine = open_engine(url_of(fresh_ledger(tmp_path)))
    yield engine
    await engine.dispose()


@pytest.fixture
async def written(tmp_path: Path, engine: AsyncEngine) -> list[DecisionRecord]:
    """Three decisions, the newest first."""
    made = [
        REFUSED,
        replace(REFUSED, id="dec-2", at=NOON - timedelta(seconds=1), principal="rui"),
        replace(REFUSED, id="dec-3", at=NOON - timedelta(seconds=2), status=None, zones=("device", "lan")),
    ]
    async with open_writer(tmp_path / "ledger.db", BOOT) as writer:
        for decision in reversed(made):
            await writer.record(decision)
    return made


async def test_a_decision_is_read_back_as_it_was_written(engine: AsyncEngine, written: list[DecisionRecord]) -> None:
    assert [await decisions.find(engine, decision.id) for decision in written] == written


async def test_a_stranger_does_not_find_it(engine: AsyncEngine, written: list[DecisionRecord]) -> None:
    assert await decisions.find(engine, "dec-1", principal="ana") == written[0]
    assert await decisions.find(engine, "dec-1", principal="rui") is None
    assert await decisions.find(engine, "dec-9") is None


async def test_the_last_decisions_come_newest_first(engine: AsyncEngine, written: list[DecisionRecord]) -> None:
    assert await decisions.recent(engine) == written
    assert await decisions.recent(engine, limit=1) == written[:1]
    assert await decisions.recent(engine, principal="rui") == [written[1]]


async def test_the_attempts_of_a_decision_come_in_their_order(engine: AsyncEngine, tmp_path: Path) -> None:
    second, first = (
        replace(a_hold("att-a"), ordinal=2, decision_id="dec-1"),
        replace(a_hold("att-b"), decision_id="dec-1"),
    )
    async with open_writer(tmp_path / "ledger.db", BOOT) as writer:
        for hold in (second, first, a_hold("att-c")):
            await writer.hold(hold)

    found = await attempts.of_decision(engine, "dec-1")

    assert [(row.id, row.ordinal, row.started_at) for row in found] == [("att-b", 1, NOON), ("att-a", 2, NOON)]
    assert (found[0].estimated, found[0].cost_nano_usd, found[0].settled_at) == (True, None, None)
