"""Rollups: the same sums as the rows, by whatever they are asked."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, get_args

import pytest

from gateway.db import attempts, rollups
from gateway.db.books import measures
from gateway.db.tables import BUCKET, DIMENSIONS, MEASURES
from gateway.errors import BadRequest
from gateway.ledger.entries import Account, Outcome
from gateway.wire.lanes import LANES, Usage
from tests.gateway.ledger.samples import HOSTED, NOON, a_hold, a_settlement, deployment

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.catalog.deployments import Deployment
    from tests.db.stores import Store

DAY = timedelta(days=1)
COLLECTIONS = [(), ("casa",), ("casa", "saúde"), ('od"d',), ("Casa",)]


async def written(store: Store, count: int = 60) -> None:
    """Attempts of all kinds within a day, and one that is only held."""
    draw = random.Random(4)
    async with store.writer() as writer:
        for number in range(count):
            hold = replace(
                a_hold(f"att-{number:03}", _somewhere(draw)), account=_someone(draw), started_at=_sometime(draw)
            )
            usage = Usage(**{lane: draw.randrange(1000) for lane in LANES}, estimated=draw.random() < 0.3)
            await writer.hold(hold)
            await writer.settle(
                replace(
                    a_settlement(hold, Usage(), draw.choice(get_args(Outcome))),
                    usage=usage,
                    cost_nano_usd=draw.randrange(10**12),
                    surcharge_nano_usd=draw.randrange(1000),
                    saved_nano_usd=draw.randrange(1000),
                    privacy_nano_usd=draw.randrange(1000),
                    routing_nano_usd=draw.randrange(-1000, 1000),
                    assumed=draw.random() < 0.3,
                    from_cache=draw.random() < 0.3,
                    bearer=draw.choice(["principal", "house"]),
                )
            )
        await writer.hold(a_hold("held"))


def _someone(draw: random.Random) -> Account:
    tag = draw.choice([None, "school"])
    name = draw.choice("abc")
    return Account(name, draw.choice(["", "ana"]), frozenset(), tag, draw.choice(COLLECTIONS), "private")


def _somewhere(draw: random.Random) -> Deployment:
    name = draw.choice(["d1", "d2"])
    return deployment(name, zone=replace(HOSTED, name=f"zone-{name}"), model=draw.choice(["m1", "m2"]))


def _sometime(draw: random.Random) -> datetime:
    return NOON + draw.randrange(86_400) * timedelta(seconds=1)


def summed(rows: list[dict[str, object]], by: tuple[str, ...]) -> dict[tuple[object, ...], dict[str, int]]:
    """The sums of rows, added one by one."""
    groups: defaultdict[tuple[object, ...], dict[str, int]] = defaultdict(lambda: dict.fromkeys(MEASURES, 0))
    for row in rows:
        group = groups[tuple(row[name] for name in by)]
        for name, more in measures(row).items():  # type: ignore[arg-type]  # as stored
            group[name] += more
    return dict(groups)


@pytest.mark.parametrize("by", [(), ("principal",), ("deployment", "tag"), ("collections",), DIMENSIONS])
async def test_sums_by_anything_are_the_sums_of_the_rows(
    store: Store, opened: AsyncEngine, by: tuple[str, ...]
) -> None:
    await written(store)
    rows = [dict(row) for row in store.rows() if row["state"] != "held"]

    found = await rollups.sums(opened, NOON, NOON + DAY, by)

    expected = summed(rows, by)
    assert len(found) == len(expected)
    for each in found:
        key = tuple(_stored(name, each.names[name]) for name in by)
        assert each.measures == expected[key]
        assert all(type(value) is int for value in each.measures.values())
        assert each.bucket is None


def _stored(name: str, value: str) -> str:
    if name != "collections":
        return value
    inner = ", ".join(f'"{part}"' for part in value.split(",") if part).replace('od"d', 'od\\"d')
    return f"[{inner}]"


async def test_a_bucket_has_what_began_in_it_and_nothing_else(store: Store, opened: AsyncEngine) -> None:
    edges = [NOON, NOON + BUCKET - timedelta(microseconds=1), NOON + BUCKET]
    async with store.writer() as writer:
        for number, edge in enumerate(edges):
            hold = replace(a_hold(f"att-{number}"), started_at=edge)
            await writer.hold(hold)
            await writer.settle(a_settlement(hold, Usage(fresh=1)))

    found = await rollups.sums(opened, NOON, NOON + 2 * BUCKET, step="bucket")
    second = await rollups.sums(opened, NOON + BUCKET, NOON + 2 * BUCKET)

    assert [(each.bucket, each.measures["attempts"]) for each in found] == [(NOON, 2), (NOON + BUCKET, 1)]
    assert [each.measures["cost_nano_usd"] for each in second] == [3_000]
    assert await rollups.first(opened) == NOON


@pytest.mark.parametrize(
    "where",
    [
        {"principal": ["a", "b"]},
        {"principal": ["a"], "deployment": ["d1"]},
        {"collection": ["casa"]},
        {"collection": ["saúde", 'od"d']},
        {"collections": ["casa,saúde"]},
        {"collections": [""]},
        {"tag": ["school"], "zone": ["zone-d1", "nowhere"]},
        {"principal": ["\x00", "\ud83d"]},
        {"principal": []},
    ],
)
async def test_a_filter_leaves_what_matches_and_the_page_of_rows_has_the_same(
    store: Store, opened: AsyncEngine, where: dict[str, list[str]]
) -> None:
    await written(store)

    [found] = await rollups.sums(opened, NOON, NOON + DAY, where=where)
    rows, after = await attempts.page(opened, NOON, NOON + DAY, {**where, "state": ["settled"]}, limit=1000)

    assert after is None
    assert found.measures["attempts"] == len(rows) == sum(1 for row in await _all(opened) if _matches(row, where))
    assert found.measures["cost_nano_usd"] == sum(row.cost_nano_usd or 0 for row in rows)


async def _all(opened: AsyncEngine) -> list[attempts.AttemptRow]:
    rows, _ = await attempts.page(opened, NOON, NOON + DAY, limit=1000)
    return [row for row in rows if row.state == "settled"]


def _matches(row: attempts.AttemptRow, where: dict[str, list[str]]) -> bool:
    def one(name: str, values: list[str]) -> bool:
        if name == "collection":
            return bool(set(values) & set(row.collections))
        if name == "collections":
            return ",".join(row.collections) in values
        return getattr(row, name) in values

    return all(one(name, values) for name, values in where.items())


async def test_what_tells_nothing_apart_is_refused_with_what_does(opened: AsyncEngine) -> None:
    with pytest.raises(BadRequest, match="principal, person"):
        await rollups.sums(opened, NOON, NOON + DAY, ["colour"])
    with pytest.raises(BadRequest, match="collection"):
        await rollups.sums(opened, NOON, NOON + DAY, where={"colour": ["red"]})
    with pytest.raises(BadRequest, match="half hour"):
        await rollups.sums(opened, NOON, NOON + timedelta(minutes=15))


async def test_an_empty_ledger_sums_to_nothing(opened: AsyncEngine) -> None:
    [total] = await rollups.sums(opened, NOON, NOON + DAY)

    assert total.measures == dict.fromkeys(MEASURES, 0)
    assert await rollups.sums(opened, NOON, NOON + DAY, ["model"]) == []
    assert await rollups.first(opened) is None


async def test_pages_of_rows_come_newest_first_each_row_once(store: Store, opened: AsyncEngine) -> None:
    await written(store, 25)
    after, ids = None, []
    while True:
        rows, after = await attempts.page(opened, NOON, NOON + DAY, after=after, limit=4)
        ids += [(row.started_at, row.id) for row in rows]
        if after is None:
            break

    assert len(ids) == 26
    assert ids == sorted(set(ids), reverse=True)


async def test_rows_that_began_in_the_same_moment_are_neither_lost_nor_told_twice(
    store: Store, opened: AsyncEngine
) -> None:
    async with store.writer() as writer:
        for number in range(7):
            await writer.hold(a_hold(f"att-{number}"))

    first, after = await attempts.page(opened, NOON, NOON + DAY, limit=4)
    second, end = await attempts.page(opened, NOON, NOON + DAY, after=after, limit=4)

    assert [row.id for row in (*first, *second)] == [f"att-{number}" for number in reversed(range(7))]
    assert end is None


async def test_rows_are_filtered_by_how_they_ended(store: Store, opened: AsyncEngine) -> None:
    await written(store)
    every = await _all(opened)

    for name, value in (("estimated", "true"), ("assumed", "true"), ("from_cache", "false")):
        found, _ = await attempts.page(opened, NOON, NOON + DAY, {name: [value], "state": ["settled"]}, limit=1000)
        assert {row.id for row in found} == {row.id for row in every if getattr(row, name) is (value == "true")}
    aborted, _ = await attempts.page(opened, NOON, NOON + DAY, {"outcome": ["aborted"]}, limit=1000)
    assert {row.id for row in aborted} == {row.id for row in every if row.outcome == "aborted"}


@pytest.mark.parametrize("amount", ["saved", "privacy", "routing"])
async def test_rows_are_filtered_by_what_stands_beside_their_cost(
    store: Store, opened: AsyncEngine, amount: str
) -> None:
    column = f"{amount}_nano_usd"
    async with store.writer() as writer:
        for number in range(9):
            hold = replace(a_hold(f"att-{number}"), started_at=NOON + number * timedelta(hours=2))
            await writer.hold(hold)
            nano_usd = (0, 7, -7)[number % 3] if amount == "routing" else (0, 0, 7)[number % 3]
            changed: dict[str, Any] = {column: nano_usd}
            await writer.settle(replace(a_settlement(hold), **changed))
        await writer.hold(a_hold("held"))

    every = await _all(opened)
    for value, wanted in (("true", True), ("false", False)):
        found, _ = await attempts.page(opened, NOON, NOON + DAY, {amount: [value], "state": ["settled"]})
        assert {row.id for row in found} == {row.id for row in every if (getattr(row, column) != 0) is wanted}
    both, _ = await attempts.page(opened, NOON, NOON + DAY, {amount: ["true", "false"]})
    assert len(both) == 10


@pytest.mark.parametrize("after", ["", "12", "x.att-1", "99999999999999999999999.att-1"])
async def test_a_place_that_is_none_is_refused(opened: AsyncEngine, after: str) -> None:
    if after == "12":
        rows, _ = await attempts.page(opened, NOON, NOON + DAY, after=after)
        assert rows == []
        return
    with pytest.raises(BadRequest, match="after"):
        await attempts.page(opened, NOON, NOON + DAY, after=after)


async def test_what_is_held_is_told_apart(store: Store, opened: AsyncEngine) -> None:
    await written(store, 3)

    found = await attempts.held(opened, NOON, NOON + DAY)
    nobody = await attempts.held(opened, NOON, NOON + DAY, {"principal": ["nobody"]})

    assert (found.attempts, found.nano_usd) == (1, 10_500_000)
    assert (nobody.attempts, nobody.nano_usd) == (0, 0)
