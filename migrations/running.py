"""Runs the revisions of one database, all of them in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alembic import context
from sqlalchemy import Connection, MetaData, create_engine, event
from sqlalchemy.pool import NullPool

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import ConnectionPoolEntry


def run(metadata: MetaData) -> None:
    """Connect to the configured database and run what was asked. To be called by an `env.py`, within alembic."""
    url = context.config.get_main_option("sqlalchemy.url")
    if url is None:
        raise LookupError("no database is named: set sqlalchemy.url")
    engine = create_engine(url, poolclass=NullPool)
    event.listen(engine, "connect", _leave_transactions_to_us)
    event.listen(engine, "begin", _begin)
    with engine.connect() as connection:
        context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
        with context.begin_transaction():
            context.run_migrations()


def _leave_transactions_to_us(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    """Python's sqlite3 would run DDL outside of any transaction."""
    connection.isolation_level = None


def _begin(connection: Connection) -> None:
    """Take the write lock at once, waiting for whoever holds it."""
    connection.exec_driver_sql("PRAGMA busy_timeout = 30000")
    connection.exec_driver_sql("BEGIN IMMEDIATE")
