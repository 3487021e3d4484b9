"""Tallies: how many attempts began within stretches of time, and how many of them may still change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, literal, select, union_all

from gateway.db.engine import transaction
from gateway.db.seeking import HELD, has_flag
from gateway.db.tables import attempts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncEngine

    Stretch = tuple[datetime, datetime]

_AT_ONCE = 100
"""Stretches to a query: SQLite takes up to 500 of them."""


async def counts(engine: AsyncEngine, stretches: Sequence[Stretch]) -> list[int]:
    """How many attempts began in each stretch, its end excluded. The index on `started_at` alone answers it."""
    return await _counts(engine, stretches)


async def unsettled(engine: AsyncEngine, stretches: Sequence[Stretch]) -> list[int]:
    """How many of them are held, or recovered from a process that may yet settle them itself.

    What is held is few, and what was recovered is an estimate: small indexes know of both. What is held is read first,
    so that an attempt recovered in between counts.
    """
    async with transaction(engine) as connection:
        held = (await connection.scalars(select(attempts.c.started_at).where(*HELD))).all()
    recovered = await _counts(engine, stretches, has_flag("estimated", engine.dialect), attempts.c.state == "recovered")
    return [
        number + sum(start <= began < end for began in held)
        for (start, end), number in zip(stretches, recovered, strict=True)
    ]


async def _counts(engine: AsyncEngine, stretches: Sequence[Stretch], *only: ColumnElement[bool]) -> list[int]:
    began = attempts.c.started_at
    found: list[int] = []
    for first in range(0, len(stretches), _AT_ONCE):
        queries = [
            select(literal(place), func.count()).where(began >= start, began < end, *only)
            for place, (start, end) in enumerate(stretches[first : first + _AT_ONCE])
        ]
        async with transaction(engine) as connection:
            rows = (await connection.execute(union_all(*queries))).all()
        found += [number for _, number in sorted((row[0], row[1]) for row in rows)]
    return found
