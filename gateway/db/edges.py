"""Sums over single attempts, for the edges of a stretch of time: rollups know whole half hours alone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from sqlalchemy import BigInteger, ColumnElement, case, cast, func, literal_column, select

from gateway.db.engine import transaction
from gateway.db.matching import conditions, shown
from gateway.db.rollups import Summed
from gateway.db.tables import BUCKET, MEASURES, attempts, rollups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.ext.asyncio import AsyncEngine

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COUNTED: dict[str, ColumnElement[int]] = {
    "attempts": literal_column("1"),
    "estimated": case((attempts.c.estimated, 1), else_=0),
    "assumed": case((attempts.c.assumed, 1), else_=0),
    "from_cache": case((attempts.c.from_cache, 1), else_=0),
    "failed": case((attempts.c.outcome.in_(("failed", "unknown")), 1), else_=0),
    "aborted": case((attempts.c.outcome == "aborted", 1), else_=0),
    "house_nano_usd": case((attempts.c.bearer == "house", attempts.c.cost_nano_usd), else_=0),
    "busy_ms": attempts.c.total_ms,
}
"""Measures that are no column of an attempt; the others are."""


def bucket_of(moment: datetime) -> datetime:
    """Where the half hour begins that the moment lies in."""
    return moment - (moment - _EPOCH) % BUCKET


async def last(engine: AsyncEngine) -> datetime | None:
    """Where the last half hour ends that anything was spent in; None: nothing ever was."""
    async with transaction(engine) as connection:
        found: datetime | None = (await connection.execute(select(func.max(rollups.c.bucket)))).scalar_one()
    return None if found is None else found + BUCKET


async def sums(
    engine: AsyncEngine,
    start: datetime,
    end: datetime,
    by: Sequence[str] = (),
    where: Mapping[str, Sequence[str]] = {},
    step: Literal["bucket"] | None = None,
) -> list[Summed]:
    """Sum the settled attempts that began from `start` up to, not including, `end`, both within one half hour.

    Groups, filters and the answer are those of `rollups.sums`.
    """
    columns = [attempts.c[name] for name in by]
    query = (
        select(*columns, *(_total(name) for name in MEASURES))
        .where(attempts.c.started_at >= start, attempts.c.started_at < end)
        .where(attempts.c.state != literal_column("'held'"), *conditions(attempts, where, engine.dialect))
        .group_by(*columns)
        .order_by(*columns)
    )
    async with transaction(engine) as connection:
        rows = (await connection.execute(query)).mappings().all()
    bucket = bucket_of(start) if step else None
    return [
        Summed({name: shown(row[name]) for name in by}, bucket, {name: row[name] for name in MEASURES}) for row in rows
    ]


def _total(name: str) -> ColumnElement[int]:
    counted = _COUNTED[name] if name in _COUNTED else attempts.c[name]
    return cast(func.coalesce(func.sum(counted), 0), BigInteger).label(name)
