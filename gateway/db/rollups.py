"""Rollups: sums over settled attempts by half hour and dimension, read by the reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sqlalchemy import BigInteger, cast, func, select

from gateway.db.engine import transaction
from gateway.db.matching import conditions, shown
from gateway.db.tables import BUCKET, DIMENSIONS, MEASURES, microseconds, rollups
from gateway.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine

_BUCKET_MICROSECONDS = BUCKET.total_seconds() * 1_000_000


@dataclass(frozen=True, slots=True)
class Summed:
    """The sums of one group; `names` has its value in each dimension that was asked for."""

    names: dict[str, str]
    bucket: datetime | None
    """Where its half hour begins; None where all buckets are summed."""
    measures: dict[str, int]
    """All MEASURES."""


async def sums(
    engine: AsyncEngine,
    start: datetime,
    end: datetime,
    by: Sequence[str] = (),
    where: Mapping[str, Sequence[str]] = {},
    step: Literal["bucket"] | None = None,
) -> list[Summed]:
    """Sum the buckets from `start` up to, not including, `end`, both at a bucket's edge.

    One group for each meeting of the dimensions in `by`, and of the half hours where `step` says so; in their order.
    Without either there is one group, all zeros where nothing was spent. `where` gives, for a dimension or for
    `collection`, the values of which any may match. Several collections of one attempt are one name, with commas.
    """
    _check(start, end, by)
    columns = [rollups.c[name] for name in by] + ([rollups.c.bucket] if step else [])
    totals = [cast(func.coalesce(func.sum(rollups.c[name]), 0), BigInteger).label(name) for name in MEASURES]
    query = (
        select(*columns, *totals)
        .where(rollups.c.bucket >= start, rollups.c.bucket < end, *conditions(rollups, where, engine.dialect))
        .group_by(*columns)
        .order_by(*columns)
    )
    async with transaction(engine) as connection:
        rows = (await connection.execute(query)).mappings().all()
    return [
        Summed(
            names={name: shown(row[name]) for name in by},
            bucket=row["bucket"] if step else None,
            measures={name: row[name] for name in MEASURES},
        )
        for row in rows
    ]


async def first(engine: AsyncEngine) -> datetime | None:
    """The first bucket that anything was spent in; None: nothing ever was."""
    async with transaction(engine) as connection:
        found: datetime | None = (await connection.execute(select(func.min(rollups.c.bucket)))).scalar_one()
    return found


def _check(start: datetime, end: datetime, by: Sequence[str]) -> None:
    for name in by:
        if name not in DIMENSIONS:
            raise BadRequest(f"{name!r} is nothing to group by: use one of {', '.join(DIMENSIONS)}", param=name)
    for edge in (start, end):
        if microseconds(edge) % _BUCKET_MICROSECONDS:
            raise BadRequest(f"{edge.isoformat()} is within a half hour: sums begin and end at whole ones")
