"""Days kept in memory: they say what the ledger says, whatever was entered meanwhile, in either database."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

from gateway.db import rollups
from gateway.db.tables import DIMENSIONS, MEASURES, microseconds
from gateway.economics import calendar
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


def over_months() -> list[Call]:
    """An attempt every twenty hours of four months, each of a cost of its own."""
    holds = [replace(a_hold(f"att-{n}"), started_at=NOON - n * timedelta(hours=20)) for n in range(140)]
    return [Call(hold, replace(a_settlement(hold), cost_nano_usd=1000 + n)) for n, hold in enumerate(holds)]


@pytest.mark.parametrize("zone", ZONES, ids=str)
async def test_many_months_come_to_what_the_ledger_says(store: Store, opened: AsyncEngine, zone: ZoneInfo) -> None:
    await made_up.write(store, over_months())
    chance = random.Random(str(zone))

    for where in WHERE[:4]:
        start = NOON - timedelta(minutes=30 * chance.randrange(4000, 6000))
        end = NOON + timedelta(minutes=30 * chance.randrange(-200, 200))
        for _ in range(2):
            assert await days.sums(opened, zone, start, end, ["model"], where) == await rollups.sums(
                opened, start, end, ["model"], where
            )
        months = await days.sums(opened, zone, start, end, [], where, "month")
        edges = [max(begins, start) for begins, _ in calendar.windows(start, end, "month", zone)]
        for begins, ends in pairwise([*edges, end]):
            (told,) = await rollups.sums(opened, begins, ends, [], where)
            found = [each.measures for each in months if each.bucket == begins]
            assert (found or [dict.fromkeys(MEASURES, 0)]) == [told.measures]


async def test_a_month_that_is_settled_is_read_once(store: Store, opened: AsyncEngine) -> None:
    await made_up.write(store, over_months())
    end = NOON.replace(hour=0)
    before = await days.sums(opened, UTC, end - timedelta(days=110), end, ["model"])
    store.execute("UPDATE rollups SET attempts = attempts + 1000")

    assert await days.sums(opened, UTC, end - timedelta(days=110), end, ["model"]) == before


async def test_what_was_read_beforehand_is_not_read_again(store: Store, opened: AsyncEngine) -> None:
    await made_up.write(store, over_months())
    start, end = NOON.replace(month=8, day=1, hour=0), NOON.replace(hour=0)
    before = await rollups.sums(opened, start, end)
    await days.warm(opened, UTC, start, NOON)
    store.execute(f"UPDATE rollups SET attempts = attempts + 1000 WHERE bucket < {microseconds(end)}")
    (found,) = await days.sums(opened, UTC, start, NOON)
    (today,) = await rollups.sums(opened, end, NOON)

    assert found.measures["attempts"] - today.measures["attempts"] == before[0].measures["attempts"] > 0


async def test_reading_beforehand_ends_before_an_earlier_month_takes_the_place_of_a_later_one(
    store: Store, opened: AsyncEngine
) -> None:
    await made_up.write(store, over_months())
    edges = [NOON.replace(month=month, day=1, hour=0) for month in (8, 9, 10, 11)]
    before = [(await rollups.sums(opened, *month))[0].measures for month in pairwise(edges)]
    await days.warm(opened, UTC, edges[0], NOON, most=days.WIDE_MONTH)
    store.execute("UPDATE rollups SET attempts = attempts + 1000")
    found = await days.sums(opened, UTC, edges[0], NOON, step="month")

    assert [now.measures == then for now, then in zip(found, before, strict=False)] == [False, False, True]


async def test_a_month_that_changes_is_told_anew(store: Store, opened: AsyncEngine) -> None:
    span = (NOON - timedelta(days=110), NOON)

    async def cost() -> int:
        (found,) = await days.sums(opened, UTC, *span)
        (told,) = await rollups.sums(opened, *span)
        assert found == told
        return found.measures["cost_nano_usd"]

    late = replace(a_hold("att-late"), started_at=NOON - timedelta(days=60))
    async with store.writer() as writer:
        for call in over_months():
            await writer.hold(call.hold)
            if call.settlement:
                await writer.settle(call.settlement)
        before = await cost()
        await writer.hold(late)
        assert await cost() == before
        await made_up.recover(opened)
        assert await cost() == before + late.nano_usd
        await writer.settle(replace(a_settlement(late), cost_nano_usd=5))  # it was only silent
        assert await cost() == before + 5


async def test_what_nothing_is_told_apart_by_is_refused_by_name(opened: AsyncEngine) -> None:
    with pytest.raises(BadRequest, match="colour"):
        await days.sums(opened, UTC, START, END, ["colour"])
