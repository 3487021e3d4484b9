"""Attempts: what was held, what was settled, and their sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import case, exists, func, select, update

from gateway.db.engine import transaction
from gateway.db.tables import attempts, boots

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.boots import Owner


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt as it is kept."""

    id: str
    decision_id: str
    request_id: str
    ordinal: int
    principal: str
    deployment: str
    model: str
    upstream_model: str
    zone: str
    owner: str
    state: str
    held_nano_usd: int
    cost_nano_usd: int | None
    currency: str
    fresh: int
    cached: int
    output: int
    reasoning: int
    estimated: bool
    outcome: str | None
    error_code: str | None
    started_at: datetime
    first_byte_ms: int | None
    total_ms: int | None
    settled_at: datetime | None
    bytes_out: int
    answered_model: str | None
    """The model that says to have answered, where it is not the one that was asked."""
    person: str = ""
    tag: str = ""
    collections: tuple[str, ...] = ()
    label: str = ""
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    image_input: int = 0
    image_output: int = 0
    audio_input: int = 0
    audio_output: int = 0
    embedding: int = 0
    rerank: int = 0
    searches: int = 0
    held_tokens: int = 0
    surcharge_nano_usd: int = 0
    saved_nano_usd: int = 0
    privacy_nano_usd: int = 0
    routing_nano_usd: int = 0
    elsewhere: str | None = None
    """The same tokens on other deployments, nano-dollars by name, as JSON: estimates."""
    bearer: str = "principal"
    assumed: bool = False
    from_cache: bool = False
    service_tier: str | None = None
    price_origin: str | None = None
    price_as_of: str | None = None
    per_usd: str | None = None
    per_usd_as_of: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The attempts of one principal on one deployment, summed."""

    principal: str
    deployment: str
    model: str
    zone: str
    state: str
    attempts: int
    estimated: int
    held_nano_usd: int
    cost_nano_usd: int
    fresh: int
    cached: int
    output: int
    reasoning: int


async def of_decision(engine: AsyncEngine, decision_id: str) -> list[AttemptRow]:
    """The attempts that one decision led to, in their order."""
    query = select(attempts).where(attempts.c.decision_id == decision_id).order_by(attempts.c.ordinal)
    async with transaction(engine) as connection:
        rows = (await connection.execute(query)).all()
    return [AttemptRow(**row._mapping) for row in rows]


async def of_decisions(engine: AsyncEngine, decision_ids: Collection[str]) -> dict[str, list[AttemptRow]]:
    """The attempts of several decisions, by decision, in their order; a decision without any is left out."""
    query = select(attempts).where(attempts.c.decision_id.in_(decision_ids)).order_by(attempts.c.ordinal)
    async with transaction(engine) as connection:
        rows = (await connection.execute(query)).all()
    found: dict[str, list[AttemptRow]] = {}
    for row in rows:
        found.setdefault(row.decision_id, []).append(AttemptRow(**row._mapping))
    return found


async def groups(engine: AsyncEngine, since: datetime | None) -> list[Group]:
    """Sums over all attempts that started at `since` or later."""
    keys = [attempts.c[name] for name in ("principal", "deployment", "model", "zone", "state")]
    lanes = [func.sum(attempts.c[name]).label(name) for name in ("fresh", "cached", "output", "reasoning")]
    query = select(
        *keys,
        func.count().label("attempts"),
        func.count().filter(attempts.c.estimated).label("estimated"),
        # What is settled held something once; summed for nothing, it could pass what an integer holds.
        func.sum(case((attempts.c.state == "held", attempts.c.held_nano_usd), else_=0)).label("held_nano_usd"),
        func.coalesce(func.sum(attempts.c.cost_nano_usd), 0).label("cost_nano_usd"),
        *lanes,
    ).group_by(*keys)
    if since is not None:
        query = query.where(attempts.c.started_at >= since)
    async with transaction(engine) as connection:
        rows = (await connection.execute(query)).all()
    return [Group(**row._mapping) for row in rows]


async def recover(engine: AsyncEngine, owner: Owner, at: datetime) -> int:
    """Settle at its estimate whatever the owner holds, unless it was heard of in the meantime; how many."""
    still_silent = exists().where(boots.c.boot_id == owner.boot.boot_id, boots.c.heartbeat_at == owner.heartbeat_at)
    recovery = (
        update(attempts)
        .where(attempts.c.owner == owner.boot.boot_id, attempts.c.state == "held", still_silent)
        .values(
            state="recovered",
            cost_nano_usd=attempts.c.held_nano_usd,
            outcome="unknown",
            estimated=True,
            settled_at=at,
        )
    )
    async with transaction(engine) as connection:
        return (await connection.execute(recovery)).rowcount
