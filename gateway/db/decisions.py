"""Decisions: what was decided about a request and how it ended, without its content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from gateway.db.engine import transaction
from gateway.db.tables import decisions

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One decision; `status` is None until the answer is known."""

    id: str
    at: datetime
    request_id: str
    principal: str
    asked_model: str
    collections: tuple[str, ...]
    label: str
    raised_by: tuple[str, ...]
    """What raised the label, such as `cpf in messages[0].content: private`; never what was found."""
    rule: str | None
    action: str
    zones: tuple[str, ...]
    policy_version: str
    stream: bool
    passages: int = 0
    status: int | None = None
    code: str | None = None
    zone: str | None = None
    deployment: str | None = None
    endpoint: str = "chat"


async def find(engine: AsyncEngine, decision_id: str, principal: str | None = None) -> DecisionRecord | None:
    """Return the decision; with `principal`, only if it is that principal's own."""
    query = select(decisions).where(decisions.c.id == decision_id)
    if principal is not None:
        query = query.where(decisions.c.principal == principal)
    async with transaction(engine) as connection:
        row = (await connection.execute(query)).one_or_none()
    return None if row is None else DecisionRecord(**row._mapping)


async def recent(engine: AsyncEngine, limit: int = 50, principal: str | None = None) -> list[DecisionRecord]:
    """The last decisions, the newest first; with `principal`, only that principal's."""
    query = select(decisions).order_by(decisions.c.at.desc(), decisions.c.id).limit(limit)
    if principal is not None:
        query = query.where(decisions.c.principal == principal)
    async with transaction(engine) as connection:
        rows = (await connection.execute(query)).all()
    return [DecisionRecord(**row._mapping) for row in rows]
