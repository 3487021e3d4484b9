"""Debris: versions that answer no more and whose vectors the store still has to drop."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.sqlite import insert

from retrieval.registry.tables import debris


def add(connection: Connection, version: str) -> None:
    connection.execute(insert(debris).values(version=version).on_conflict_do_nothing())


def waiting(connection: Connection) -> list[str]:
    return list(connection.execute(select(debris.c.version)).scalars())


def cleared(connection: Connection, version: str) -> None:
    """The store has dropped its vectors."""
    connection.execute(delete(debris).where(debris.c.version == version))
