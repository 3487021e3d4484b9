"""Boots: the processes that hold attempts, and when each was last heard of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from gateway.db.engine import transaction
from gateway.db.tables import attempts, boots

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine


@dataclass(frozen=True, slots=True)
class Boot:
    """One run of one process."""

    boot_id: str
    host: str
    pid: int
    process_started_at: str
    """The kernel's word for the start, to tell a process from a later one with its number; empty: not known."""
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Owner:
    """A boot that holds attempts, and its last heartbeat."""

    boot: Boot
    heartbeat_at: datetime


async def owners(engine: AsyncEngine) -> list[Owner]:
    """The boots that hold attempts."""
    holding = select(attempts.c.owner).where(attempts.c.state == "held")
    query = select(boots).where(boots.c.boot_id.in_(holding)).order_by(boots.c.started_at)
    async with transaction(engine) as connection:
        rows = (await connection.execute(query)).all()
    return [
        Owner(Boot(row.boot_id, row.host, row.pid, row.process_started_at, row.started_at), row.heartbeat_at)
        for row in rows
    ]
