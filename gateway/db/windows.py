"""Budget windows: what each budget has spent and holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from gateway.db.engine import transaction
from gateway.db.tables import budget_windows

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine


@dataclass(frozen=True, slots=True)
class WindowRow:
    """One budget's window for one subject, as it stands."""

    id: str
    budget: str
    subject: str
    starts_at: datetime
    ends_at: datetime
    limit_nano_usd: int | None
    limit_tokens: int | None
    hard: bool
    spent_nano_usd: int
    held_nano_usd: int
    spent_tokens: int
    held_tokens: int


async def state(engine: AsyncEngine, now: datetime) -> list[WindowRow]:
    """All windows that have not ended, by budget, subject and start. A window is there from its first hold on."""
    ordered = (budget_windows.c[name] for name in ("budget", "subject", "starts_at", "id"))
    query = select(budget_windows).where(budget_windows.c.ends_at > now).order_by(*ordered)
    async with transaction(engine) as connection:
        rows = (await connection.execute(query)).all()
    return [WindowRow(**row._mapping) for row in rows]
