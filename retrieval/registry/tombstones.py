"""Tombstones: versions that answer no more and whose vectors the store still has to drop."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.sqlite import insert

from retrieval.registry.tables import tombstones


def add(connection: Connection, version: str) -> None:
    connection.execute(insert(tombstones).values(version=version).on_conflict_do_nothing())


def waiting(connection: Connection) -> list[str]:
    return list(connection.execute(select(tombstones.c.version)).scalars())


def cleared(connection: Connection, version: str) -> None:
    """The store has dropped its vectors."""
    connection.execute(delete(tombstones).where(tombstones.c.version == version))
