"""Sums as rows: every row adds up to the ledger, whatever tells rows apart."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

from gateway.errors import BadRequest
from gateway.ledger.entries import Account
from gateway.ledger.exports import attempts, sums
from gateway.ledger.usage import GROUPINGS, Span
from gateway.wire.lanes import Usage
from tests.gateway.ledger.exports.ledgers import Call, gathered, hours, write
from tests.gateway.ledger.samples import NOON, rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

SAO_PAULO = ZoneInfo("America/Sao_Paulo")
NOVEMBER = Span(datetime(2026, 11, 1, 3, tzinfo=UTC), datetime(2026, 12, 1, 3, tzinfo=UTC), SAO_PAULO)
CALLS = [
    Call(Usage(fresh=10, output=1)),
    Call(Usage(fresh=7, cached=5, reasoning=3), NOON + hours(14), Account("rui", tag="tax", collections=("papers",))),
    Call(Usage(fresh=1, estimated=True), NOON + hours(26), Account("ana", person="Ana", collections=("a", "papers"))),
    Call(Usage(output=9), NOON + hours(24 * 20), bearer="house"),
    Call(Usage(output=9), NOON, settled=False),
]


def column(found: Sequence[tuple[object, ...]], by: tuple[str, ...], name: str) -> list[Any]:
    return [row[sums.header(by).index(name)] for row in found]


@pytest.mark.parametrize(
    "by", [(), *((name,) for name in GROUPINGS), ("key", "model", "day"), ("week", "person", "tag")]
)
async def test_every_grouping_adds_up_to_the_ledger(ledger: Path, engine: AsyncEngine, by: tuple[str, ...]) -> None:
    await write(ledger, CALLS)

    found = await gathered(sums.rows(engine, NOVEMBER, by))

    cost = sum(row["cost_nano_usd"] or 0 for row in rows(ledger))
    assert sum(column(found, by, "cost_usd")) == Decimal(cost).scaleb(-9)
    assert sum(column(found, by, "attempts")) == 4


async def test_days_are_the_owners(ledger: Path, engine: AsyncEngine) -> None:
    await write(ledger, CALLS)

    found = await gathered(sums.rows(engine, NOVEMBER, ("day",)))

    assert [str(start)[:10] for start in column(found, ("day",), "start")] == ["2026-11-01", "2026-11-02", "2026-11-21"]
    assert column(found, ("day",), "attempts") == [2, 1, 1]  # 02:00 UTC of the second is the first in São Paulo


async def test_several_collections_are_one_name_so_that_nothing_counts_twice(ledger: Path, engine: AsyncEngine) -> None:
    await write(ledger, CALLS)

    found = await gathered(sums.rows(engine, NOVEMBER, ("collection",)))

    assert column(found, ("collection",), "collection") == ["", "a,papers", "papers"]


async def test_a_name_may_be_anything(ledger: Path, engine: AsyncEngine) -> None:
    await write(ledger, [Call(Usage(fresh=1), account=Account("=cmd|' /C calc'!A0"))])

    [row] = await gathered(sums.rows(engine, NOVEMBER, ("key",)))

    assert row[2] == "=cmd|' /C calc'!A0"  # made harmless where it is written


@pytest.mark.parametrize(
    ("by", "message"), [(["colour"], "'colour' is nothing to group by: use key"), (["day", "week"], "name only one of")]
)
def test_what_cannot_be_grouped_by_is_refused(by: list[str], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        sums.checked(by)


async def test_single_calls_come_newest_first_and_under_way_ones_have_no_cost(
    ledger: Path, engine: AsyncEngine
) -> None:
    await write(ledger, CALLS)

    found = [dict(zip(attempts.HEADER, row, strict=True)) for row in await gathered(attempts.rows(engine, NOVEMBER))]

    assert [row["attempt_id"] for row in found] == ["att-0003", "att-0002", "att-0001", "att-0004", "att-0000"]
    assert found[3]["cost_usd"] is None
    assert found[0]["bearer"] == "house"
    assert found[1]["collection"] == "a, papers"
    assert found[1]["estimated"] is True


async def test_no_call_is_lost_between_pages(ledger: Path, engine: AsyncEngine) -> None:
    await write(ledger, CALLS)

    for page in (1, 2, 3, 5):
        found = await gathered(attempts.each(engine, NOVEMBER, page=page))

        assert [row.id for row in found] == ["att-0003", "att-0002", "att-0001", "att-0004", "att-0000"]


async def test_a_files_rows_say_nothing_but_figures_and_names(ledger: Path, engine: AsyncEngine) -> None:
    await write(ledger, CALLS)

    [*found] = await gathered(attempts.rows(engine, NOVEMBER))

    assert len(attempts.HEADER) == len(found[0])
    assert not {"decision_id", "owner", "elsewhere"} & set(attempts.HEADER)
