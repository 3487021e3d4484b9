"""Opens the writer's connection to whichever database the ledger is in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gateway.db.address import dsn, parse
from gateway.db.postgres_writing import open_postgres
from gateway.db.sqlite_writing import open_sqlite

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gateway.db.journal import Connection, Durability


def open(where: Path | str, durability: Durability) -> AbstractContextManager[Connection]:
    """A connection to a SQLite file, or to the database that a URL names."""
    if isinstance(where, Path):
        return open_sqlite(where, durability)
    address = parse(where)
    if address.drivername == "postgresql":
        return open_postgres(dsn(address), durability)
    if not address.database:
        raise ValueError("a ledger in memory cannot be written by a thread of its own: name a file")
    return open_sqlite(Path(address.database), durability)
