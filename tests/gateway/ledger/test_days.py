"""Days kept in memory: they say what the ledger says, whatever was entered meanwhile, in either database."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

from gateway.db import rollups
from gateway.db.tables import DIMENSIONS, MEASURES
from gateway.errors import BadRequest
from gateway.ledger import days
from gateway.ledger.entries import Account
from tests.gateway.ledger import made_up
from tests.gateway.ledger.made_up import MINUTES, START, Call
from tests.gateway.ledger.samples import NOON, a_hold, a_settlement

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.rollups import Summed
    from tests.db.stores import Store

ZONES = [UTC, ZoneInfo("America/Sao_Paulo"), ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata")]
END = START + timedelta(minutes=MINUTES)
WHERE: list[dict[str, list[str]]] = [
    {},
    {"principal": ["ana"]},
    {"zone": ["hosted", "device"], "tag": ["", "work"]},
    {"collection": ["papers"]},
    {"collections": [""]},
    {"collections": ["papers,recipes"]},
    {"label": ["nothing of the kind"]},
]


def plain(found: Sequence[Summed]) -> dict[Any, dict[str, int]]:
    """Sums by their names, whatever their order."""
    return {(each.bucket, *each.names.items()): each.measures for each in found}


def half_hour(chance: random.Random) -> datetime:
    return START + timedelta(minutes=30 * chance.randrange(-10, MINUTES // 30 + 10))


@pytest.mark.parametrize("zone", ZONES, ids=str)
async def test_any_stretch_comes_to_what_the_ledger_says(store: Store, opened: AsyncEngine, zone: ZoneInfo) -> None:
    chance = random.Random(str(zone))
    await made_up.write(store, made_up.calls(1, 150))

    for where in WHERE:
        start, end = sorted((half_hour(chance), half_hour(chance)))
        by = chance.sample(DIMENSIONS, 2)
        for names in ((), by):
            kept = await days.sums(opened, zone, start, end, names, where)
            assert plain(kept) == plain(await rollups.sums(opened, start, end, names, where))


@pytest.mark.parametrize("zone", ZONES, ids=str)
async def test_days_one_by_one_come_to_the_whole(store: Store, opened: AsyncEngine, zone: ZoneInfo) -> None:
    await made_up.write(store, made_up.calls(2, 150))
    start, end = START + timedelta(hours=5), END - timedelta(hours=7)

    found = await days.sums(opened, zone, start, end, ["zone"], {}, "day")

    assert len({each.bucket for each in found}) >= 10
    assert min(each.bucket for each in found if each.bucket) >= start
    for whole in await rollups.sums(opened, start, end, ["zone"]):
        parts = [each.measures for each in found if each.names == whole.names]
        assert {name: sum(part[name] for part in parts) for name in MEASURES} == whole.measures


async def test_what_is_entered_settled_or_recovered_later_counts_at_once(store: Store, opened: AsyncEngine) -> None:
    day = (NOON.replace(hour=0), NOON.replace(hour=0) + timedelta(days=1))

    async def cost() -> int:
        (found,) = await days.sums(opened, UTC, *day)
        (told,) = await rollups.sums(opened, *day)
        assert found == told
        return found.measures["cost_nano_usd"]

    holds = [a_hold(f"att-{number}") for number in range(4)]
    async with store.writer() as writer:
        await writer.hold(holds[0])
        assert await cost() == 0
        await writer.settle(a_settlement(holds[0]))
        one = await cost()
        for hold in holds[1:3]:
            await writer.hold(hold)
            await writer.settle(a_settlement(hold))
        assert await cost() == 3 * one > 0
        await writer.hold(holds[3])
        await made_up.recover(opened)
        assert await cost() == 4 * one
        await writer.settle(replace(a_settlement(holds[3]), cost_nano_usd=5))  # it was only silent
        assert await cost() == 3 * one + 5


async def test_a_day_that_is_settled_is_read_once(store: Store, opened: AsyncEngine) -> None:
    await made_up.write(store, [call for call in made_up.calls(3, 60) if call.settlement])
    before = await days.sums(opened, UTC, START, END, ["model"])
    store.execute("UPDATE rollups SET attempts = attempts + 1000")

    assert await days.sums(opened, UTC, START, END, ["model"]) == before


async def test_a_day_of_very_many_names_is_told_as_well(store: Store, opened: AsyncEngine) -> None:
    crowd = [replace(a_hold(f"att-{n}"), account=Account(f"key-{n}")) for n in range(days.WIDE + 20)]
    await made_up.write(store, [Call(hold, a_settlement(hold)) for hold in crowd])
    start, end = NOON - timedelta(days=2, hours=12), NOON + timedelta(days=2)

    for _ in range(2):
        assert await days.sums(opened, UTC, start, end) == await rollups.sums(opened, start, end)
        by_day = await days.sums(opened, UTC, start, end, ["zone"], {}, "day")
        assert [each.bucket for each in by_day] == [NOON.replace(hour=0)]
        assert by_day[0].measures["attempts"] == len(crowd)


async def test_what_nothing_is_told_apart_by_is_refused_by_name(opened: AsyncEngine) -> None:
    with pytest.raises(BadRequest, match="colour"):
        await days.sums(opened, UTC, START, END, ["colour"])
