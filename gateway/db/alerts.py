"""Alerts that were sent: each is claimed before it is sent, so that of several processes one sends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete

from gateway.db.engine import transaction
from gateway.db.tables import alerts_sent
from gateway.db.upserts import insert_new

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine


async def claim(engine: AsyncEngine, alert_id: str, at: datetime) -> bool:
    """Claim the alert; False if somebody has it already."""
    entry = insert_new(alerts_sent, engine.dialect).values(id=alert_id, at=at).returning(alerts_sent.c.id)
    async with transaction(engine) as connection:
        return (await connection.execute(entry)).first() is not None


async def release(engine: AsyncEngine, alert_id: str) -> None:
    """Give up a claim on an alert that could not be sent."""
    async with transaction(engine) as connection:
        await connection.execute(delete(alerts_sent).where(alerts_sent.c.id == alert_id))
