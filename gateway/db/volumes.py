"""Volumes: tokens of some lanes by half hour and deployment, read out of the rollups and nothing else of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, cast, func, select

from gateway.db.engine import transaction
from gateway.db.matching import conditions
from gateway.db.tables import rollups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine


@dataclass(frozen=True, slots=True)
class Volume:
    """What attempts that one deployment began in one half hour came to."""

    bucket: datetime
    deployment: str
    tokens: int


async def volumes(
    engine: AsyncEngine,
    start: datetime,
    end: datetime,
    lanes: Sequence[str],
    where: Mapping[str, Sequence[str]] = {},
    but: Mapping[str, str] = {},
) -> list[Volume]:
    """Those of the buckets from `start` up to, not including, `end` that are not empty, in their order.

    `where` is that of `rollups.sums`; `but` names, by dimension, what does not count.
    """
    tokens = cast(func.sum(reduce(add, (rollups.c[lane] for lane in lanes))), BigInteger).label("tokens")
    query = (
        select(rollups.c.bucket, rollups.c.deployment, tokens)
        .where(rollups.c.bucket >= start, rollups.c.bucket < end, *conditions(rollups, where, engine.dialect))
        .where(*(rollups.c[name] != value for name, value in but.items()))
        .group_by(rollups.c.bucket, rollups.c.deployment)
        .having(tokens > 0)
        .order_by(rollups.c.bucket, rollups.c.deployment)
    )
    async with transaction(engine) as connection:
        rows = (await connection.execute(query)).all()
    return [Volume(bucket, deployment, counted) for bucket, deployment, counted in rows]
