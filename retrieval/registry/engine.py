"""Opens the registry's database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, create_engine, event, inspect
from sqlalchemy.pool import QueuePool

from retrieval.registry.tables import documents

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import ConnectionPoolEntry


def open_engine(path: Path) -> Engine:
    """An engine on the SQLite file, whose schema the migrations have made.

    Deleted text is overwritten, and every commit is on disk when it returns: a delete must outlast a power cut.
    """
    # Parameters are hidden in errors: they hold the text of documents.
    engine = create_engine(f"sqlite:///{path}", poolclass=QueuePool, connect_args={"timeout": 30}, hide_parameters=True)
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return engine


def migrated(engine: Engine) -> bool:
    """True if the migrations have made the tables."""
    return inspect(engine).has_table(documents.name)


def _configure(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    """A writer takes the lock at once, so that what it read is still so when it writes."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def writing(engine: Engine) -> Engine:
    """The engine for transactions that write."""
    return engine.execution_options(writes=True)
