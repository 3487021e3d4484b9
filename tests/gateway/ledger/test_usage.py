"""Reports: every sum is that of the rows, in either database, for any span, filter and grouping."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from gateway.db.tables import microseconds
from gateway.economics import calendar
from gateway.errors import BadRequest
from gateway.ledger.entries import Account
from gateway.ledger.spend import spend
from gateway.ledger.usage import DIMENSIONS, GROUPINGS, STEPS, Dimension, Line, Report, Span, Sums, columns, report
from gateway.wire.lanes import LANES, Usage
from tests.gateway.ledger import made_up
from tests.gateway.ledger.made_up import DEPLOYMENTS, MINUTES, START, Call, added_up
from tests.gateway.ledger.samples import BOOT, NOON, a_hold, a_settlement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.ledger.usage import Where
    from tests.db.stores import Store
    from tests.gateway.ledger.made_up import Row

SAO_PAULO = ZoneInfo("America/Sao_Paulo")
ZONES = [UTC, SAO_PAULO, ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata")]
NAMES: dict[Dimension, list[str]] = {
    "key": ["ana", "ana-phone", "rui"],
    "person": ["Ana", "rui"],
    "model": ["kimi-k3", "qwen"],
    "zone": ["hosted", "cluster", "device"],
    "collection": ["papers", "recipes", "travel"],
    "deployment": [deployment.name for deployment in DEPLOYMENTS],
    "tag": ["", "school", "work"],
    "label": ["private", "internal", "public"],
}


def named(row: Row, dimension: Dimension) -> list[str]:
    """The names that a row stands under."""
    if dimension == "collection":
        return json.loads(row["collections"]) or [""]
    return [row["principal" if dimension == "key" else dimension]]


def counting(span: Span, where: Where) -> Callable[[Row], bool]:
    """Whether a row lies within the span and the filter, by looking at it."""
    start, end = microseconds(span.start), microseconds(span.end)

    def counts(row: Row) -> bool:
        return start <= row["started_at"] < end and all(
            not set(names).isdisjoint(named(row, dimension)) for dimension, names in where.items()
        )

    return counts


def check(found: Report, rows: Sequence[Row], where: Where) -> None:
    """Every figure of a report against the rows."""
    counted = [row for row in rows if counting(found.span, where)(row)]
    held = [row["held_nano_usd"] for row in counted if row["state"] == "held"]
    assert asdict(found.total) == added_up(counted)
    assert (found.held, found.held_nano_usd) == (len(held), sum(held))
    for line in found.lines:
        assert asdict(line.sums) == added_up(row for row in counted if stands_in(row, found, line))
    settled = [row for row in counted if row["state"] != "held"]
    if found.by in STEPS:
        windows = calendar.windows(found.span.start, found.span.end, found.by, found.span.zone)
        cut = [(max(start, found.span.start), min(end, found.span.end)) for start, end in windows]
        assert [(line.span.start, line.span.end) for line in found.lines if line.span] == cut
    elif found.by is not None:
        assert {line.name for line in found.lines} == {name for row in settled for name in named(row, found.by)}  # type: ignore[arg-type]
        costs = [line.sums.cost_nano_usd for line in found.lines]
        assert costs == sorted(costs, reverse=True)


def stands_in(row: Row, found: Report, line: Line) -> bool:
    if line.span is not None:
        return counting(line.span, {})(row)
    return line.name in named(row, found.by)  # type: ignore[arg-type]  # not by a step: those have spans


def a_span(chance: random.Random) -> Span:
    first, last = sorted(chance.randrange(-600, MINUTES + 600) for _ in range(2))
    odd = timedelta(microseconds=chance.choice((0, 1)))
    return Span(START + timedelta(minutes=first), START + timedelta(minutes=last) + odd, chance.choice(ZONES))


def a_filter(chance: random.Random) -> Where:
    dimensions = chance.sample(DIMENSIONS, chance.choice((0, 0, 1, 2)))
    return {each: chance.sample(NAMES[each], chance.choice((1, 2))) for each in dimensions}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
async def test_every_figure_is_the_sum_of_its_rows(store: Store, opened: AsyncEngine, seed: int) -> None:
    chance = random.Random(seed)
    calls = made_up.calls(seed, 150)

    async def look() -> None:
        rows = store.rows()
        for _ in range(4):
            span, where = a_span(chance), a_filter(chance)
            for by in (None, *GROUPINGS):
                check(await report(opened, span, by, where), rows, where)
        for start, end in ((None, None), (START + timedelta(days=4), None), (None, START + timedelta(days=4, hours=1))):
            check(await report(opened, Span.open(start, end, SAO_PAULO), "collection"), rows, {})

    await made_up.write(store, calls[:90])
    await look()
    await made_up.write(store, calls[90:], replace(BOOT, boot_id="boot-2"))  # into days that were looked at already
    await look()
    assert await made_up.recover(opened) > 0
    await look()


async def test_the_total_is_what_the_database_itself_adds_up(store: Store, opened: AsyncEngine) -> None:
    await made_up.write(store, made_up.calls(7, 200))
    lanes = ", ".join(f"sum({lane}) AS {lane}" for lane in LANES)

    summed = store.row(f"SELECT sum(cost_nano_usd) AS cost, {lanes} FROM attempts WHERE state <> 'held'")
    total = (await report(opened, Span.open())).total

    assert total.cost_nano_usd == summed["cost"]
    assert {lane: getattr(total, lane) for lane in LANES} == {lane: summed[lane] for lane in LANES}
    assert total.tokens == sum(summed[lane] for lane in LANES if lane != "searches")
    assert (await spend(opened)).total_nano_usd == summed["cost"]


async def test_what_a_dead_owner_held_is_cost_once_it_is_recovered(store: Store, opened: AsyncEngine) -> None:
    await made_up.write(store, [Call(a_hold(), None)])
    before = await report(opened, Span.open(), "key")

    await made_up.recover(opened)
    after = await report(opened, Span.open(), "key")

    assert (before.total, before.held, before.held_nano_usd, before.lines) == (Sums(), 1, 10_500_000, ())
    assert (after.held, after.held_nano_usd, after.total.cost_nano_usd) == (0, 0, 10_500_000)
    assert (after.total.estimated, after.total.failed, after.total.house_nano_usd) == (1, 1, 10_500_000)


async def test_a_call_with_two_collections_stands_in_both_lines_and_once_in_the_total(
    store: Store, opened: AsyncEngine
) -> None:
    two = replace(a_hold("att-1"), account=Account("ana", collections=("papers", "recipes")))
    none = a_hold("att-2")
    settled = [Call(hold, a_settlement(hold, Usage(fresh=1))) for hold in (two, none)]
    await made_up.write(store, settled)

    found = await report(opened, Span.open(), "collection")

    assert [(line.name, line.sums.cost_nano_usd) for line in found.lines] == [
        ("", 3_000),
        ("papers", 3_000),
        ("recipes", 3_000),
    ]
    assert found.total.cost_nano_usd == 6_000
    assert found.overlaps
    assert not (await report(opened, Span.open(), "key")).overlaps
    assert (await report(opened, Span.open(), "collection", {"collection": ["papers"]})).total.cost_nano_usd == 3_000
    assert (await report(opened, Span.open(), None, {"collection": [""]})).total.cost_nano_usd == 3_000


async def test_parts_divide_each_line(store: Store, opened: AsyncEngine) -> None:
    await made_up.write(store, made_up.calls(3, 80))

    found = await report(opened, Span(START, START + timedelta(days=6), SAO_PAULO), "day", parts="zone")

    assert any(line.parts for line in found.lines)
    for line in found.lines:
        assert line.span is not None
        alone = await report(opened, line.span, "zone")
        assert line.parts == alone.lines
        assert sum((part.sums for part in line.parts), Sums()) == line.sums


async def test_days_are_the_owners_days(store: Store, opened: AsyncEngine) -> None:
    midnight = datetime(2026, 11, 2, 3, tzinfo=UTC)  # in São Paulo
    holds = [replace(a_hold(f"att-{ago}"), started_at=midnight - timedelta(microseconds=ago)) for ago in (0, 1)]
    await made_up.write(store, [Call(hold, a_settlement(hold, Usage(fresh=1))) for hold in holds])
    span = Span(midnight - timedelta(days=2), midnight + timedelta(days=2), SAO_PAULO)

    by_day = await report(opened, span, "day")
    by_hour = await report(
        opened, Span(midnight - timedelta(hours=1), midnight + timedelta(hours=1), SAO_PAULO), "hour"
    )
    by_month = await report(opened, span, "month")

    assert [(line.name, line.sums.attempts) for line in by_day.lines] == [
        ("2026-10-31", 0),
        ("2026-11-01", 1),
        ("2026-11-02", 1),
        ("2026-11-03", 0),
    ]
    assert [line.name for line in by_hour.lines] == ["2026-11-01T23:00-03:00", "2026-11-02T00:00-03:00"]
    assert [(line.name, line.sums.attempts) for line in by_month.lines] == [("2026-10", 0), ("2026-11", 2)]


async def test_an_open_span_has_lines_from_the_first_to_the_last_that_has_anything(
    store: Store, opened: AsyncEngine
) -> None:
    assert (await report(opened, Span.open(), "month")).lines == ()
    holds = [replace(a_hold(f"att-{ahead}"), started_at=NOON + timedelta(days=ahead)) for ahead in (0, 70)]
    await made_up.write(store, [Call(hold, a_settlement(hold)) for hold in holds])

    months = await report(opened, Span.open(), "month")
    since = await report(opened, Span.open(start=NOON), "week")

    assert [(line.name, line.sums.attempts) for line in months.lines] == [
        ("2026-11", 1),
        ("2026-12", 0),
        ("2027-01", 1),
    ]
    assert [since.lines[0].name, since.lines[-1].name, len(since.lines)] == ["2026-10-26", "2027-01-04", 11]


async def test_the_json_form_begins_with_the_total(store: Store, opened: AsyncEngine) -> None:
    hold = a_hold()
    settled = replace(a_settlement(hold), usage=Usage(fresh=1, cached=2, searches=3))
    await made_up.write(store, [Call(hold, settled)])

    told = json.loads(json.dumps((await report(opened, Span.open(), "day")).as_dict()))

    assert list(told)[:3] == ["total_nano_usd", "held_nano_usd", "held"]
    assert (told["from"], told["to"], told["time_zone"], told["group_by"]) == (None, None, "UTC", "day")
    [line] = told["lines"]
    assert list(line)[:3] == ["name", "nano_usd", "tokens"]
    assert (line["name"], line["tokens"], line["searches"]) == ("2026-11-01", 3, 3)
    assert told["total"] == {name: amount for name, amount in line.items() if name != "name"}


async def test_a_span_with_more_lines_than_anybody_reads_is_refused(opened: AsyncEngine) -> None:
    span = Span(datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC))

    with pytest.raises(BadRequest, match="by hour this span has over 10,000 lines: ask for less of it"):
        await report(opened, span, "hour")


def test_a_span_does_not_end_before_it_starts() -> None:
    with pytest.raises(BadRequest, match="before it starts"):
        Span(NOON, NOON - timedelta(seconds=1))


def test_what_used_no_collection_is_asked_for_by_itself() -> None:
    assert columns({"collection": [""], "key": ["ana"], "tag": []}) == {"collections": [""], "principal": ["ana"]}
    with pytest.raises(BadRequest, match="by itself"):
        columns({"collection": ["", "papers"]})


def test_the_cached_share_is_of_all_that_went_in() -> None:
    assert Sums(fresh=1, cached=2, image_input=3, output=100, searches=5).cached_share == Fraction(1, 3)
    assert Sums(output=1).cached_share is None
