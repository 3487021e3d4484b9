"""Marks: keyed digests of messages that were above their key's default, with the label they had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from gateway.db.engine import transaction
from gateway.db.tables import marks
from policies.labels import Label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncEngine

_PER_QUERY = 500
"""SQLite takes at least 999 parameters in a statement."""


async def find(engine: AsyncEngine, digests: Sequence[str]) -> dict[str, Label]:
    """The labels of those digests that are marked."""
    found: dict[str, Label] = {}
    for start in range(0, len(digests), _PER_QUERY):
        wanted = marks.c.digest.in_(digests[start : start + _PER_QUERY])
        async with transaction(engine) as connection:
            rows = (await connection.execute(select(marks.c.digest, marks.c.label).where(wanted))).all()
        found.update({row.digest: Label.parse(row.label) for row in rows})
    return found


async def digests(engine: AsyncEngine) -> list[str]:
    """All digests that are marked."""
    async with transaction(engine) as connection:
        return list((await connection.execute(select(marks.c.digest))).scalars())
