"""Volumes by half hour and deployment equal the rows that they are sums of, in both databases."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from gateway.db.edges import bucket_of
from gateway.db.tables import microseconds
from gateway.db.volumes import Volume, volumes
from gateway.errors import BadRequest
from tests.gateway.ledger import made_up
from tests.gateway.ledger.made_up import START

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine

    from tests.db.stores import Store

FIRST, LAST = START + timedelta(days=2), START + timedelta(days=7, minutes=30)


def added_up(store: Store, lanes: list[str], condition: str) -> list[Volume]:
    """Row by row."""
    counted: dict[tuple[datetime, str], int] = defaultdict(int)
    query = f"SELECT * FROM attempts WHERE state != 'held' AND {condition}"
    for row in store.rows(query):
        moment = START + timedelta(microseconds=row["started_at"] - microseconds(START))
        if FIRST <= moment < LAST:
            counted[bucket_of(moment), row["deployment"]] += sum(row[lane] for lane in lanes)
    return [Volume(*key, tokens) for key, tokens in sorted(counted.items()) if tokens]


async def test_each_half_hour_is_the_sum_of_its_rows(store: Store, opened: AsyncEngine) -> None:
    await made_up.write(store, made_up.calls(3, 300))
    lanes = ["fresh", "reasoning", "cache_write_1h"]

    assert await volumes(opened, FIRST, LAST, lanes) == added_up(store, lanes, "true")
    of_rui = await volumes(opened, FIRST, LAST, lanes, {"principal": ["rui"]}, {"model": "qwen", "tag": "work"})
    assert of_rui == added_up(store, lanes, "principal = 'rui' AND model != 'qwen' AND tag != 'work'")
    assert of_rui


async def test_an_empty_ledger_has_none(opened: AsyncEngine) -> None:
    assert await volumes(opened, FIRST, LAST, ["fresh"]) == []


async def test_what_nothing_is_told_apart_by_is_refused(opened: AsyncEngine) -> None:
    with pytest.raises(BadRequest, match="colour"):
        await volumes(opened, FIRST, LAST, ["fresh"], {"colour": ["red"]})
