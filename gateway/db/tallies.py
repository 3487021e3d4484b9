"""Tallies: how many attempts began within stretches of time, and how many of them may still change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, literal, select, union_all

from gateway.db.engine import transaction
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
    """How many of them are held, or recovered from a process that may yet settle them itself."""
    return await _counts(engine, stretches, attempts.c.state != "settled")


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
