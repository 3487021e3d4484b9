"""Budget windows: what each budget has spent and holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import or_, select

from gateway.db.engine import transaction
from gateway.db.tables import budget_windows

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Select
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

    @property
    def percent(self) -> int:
        """How much of the tightest limit is spent, rounded down."""
        pairs = ((self.spent_nano_usd, self.limit_nano_usd), (self.spent_tokens, self.limit_tokens))
        return max((_percent(spent, limit) for spent, limit in pairs if limit is not None), default=0)


async def state(engine: AsyncEngine, now: datetime) -> list[WindowRow]:
    """All windows that have not ended, by budget, subject and start. A window is there from its first hold on."""
    return await _read(engine, select(budget_windows).where(budget_windows.c.ends_at > now))


async def near(engine: AsyncEngine, now: datetime, percent: int) -> list[WindowRow]:
    """Of these, the ones that have spent at least so many per cent of a limit; what is only held is not spent."""
    table = budget_windows.c
    spent = or_(
        table.spent_nano_usd * 100 >= table.limit_nano_usd * percent,
        table.spent_tokens * 100 >= table.limit_tokens * percent,
    )
    return await _read(engine, select(budget_windows).where(table.ends_at > now, spent))


async def _read(engine: AsyncEngine, query: Select[tuple[object, ...]]) -> list[WindowRow]:
    ordered = query.order_by(*(budget_windows.c[name] for name in ("budget", "subject", "starts_at", "id")))
    async with transaction(engine) as connection:
        rows = (await connection.execute(ordered)).all()
    return [WindowRow(**row._mapping) for row in rows]


def _percent(spent: int, limit: int) -> int:
    if limit == 0:
        return 100
    return spent * 100 // limit
