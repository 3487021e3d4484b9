"""Settles what dead processes still held, at the estimate: nobody knows any more what it cost."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import structlog

from gateway.db import attempts, boots
from gateway.errors import Unavailable
from gateway.ledger.owners import is_dead

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.boots import Boot

log = structlog.get_logger()

_EVERY_SECONDS = 30.0


async def recover(engine: AsyncEngine, boot: Boot, now: datetime | None = None) -> int:
    """Settle what dead owners hold, never what `boot` or another living process holds; how many there were."""
    now = now or datetime.now(UTC)
    dead = [owner for owner in await boots.owners(engine) if is_dead(owner, boot, now)]
    recovered = 0
    for owner in dead:
        recovered += await attempts.recover(engine, owner, now)
    if recovered:
        log.warning("attempts_recovered", count=recovered)
    return recovered


async def keep_recovering(engine: AsyncEngine, boot: Boot) -> None:
    """Recover now and then until cancelled: an owner elsewhere is known to be dead only after its silence."""
    while True:
        try:
            await recover(engine, boot)
        except Unavailable as failure:
            log.error("recovery_postponed", failure=failure)
        await asyncio.sleep(_EVERY_SECONDS)
