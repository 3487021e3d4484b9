"""Runs the revisions of one database, all of them in one transaction; who comes second waits for the first."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from alembic import context
from sqlalchemy import Connection, MetaData, create_engine, event, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from gateway.db.address import dsn, parse
from gateway.db.postgres import connect

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import ConnectionPoolEntry

_LOCK = 0x536F6C65697261
"""`Soleira`: the advisory lock that two gateways starting at once meet at."""
_FIRST_COMES = "SET LOCAL lock_timeout = '60s'"
_OTHERS_WORK = "SET LOCAL lock_timeout = '10s'"
"""A revision must not keep everybody waiting behind it: it gives up, and is tried again at the next start."""


def run(metadata: MetaData) -> None:
    """Connect to the configured database and run what was asked. To be called by an `env.py`, within alembic."""
    url = context.config.get_main_option("sqlalchemy.url")
    if url is None:
        raise LookupError("no database is named: set sqlalchemy.url")
    if parse(url).drivername == "postgresql":
        with ThreadPoolExecutor(1) as beside:  # whoever asks may be on an event loop already
            beside.submit(asyncio.run, _run_on_postgres(url, metadata)).result()
        return
    engine = create_engine(url, poolclass=NullPool)
    event.listen(engine, "connect", _leave_transactions_to_us)
    event.listen(engine, "begin", _begin)
    with engine.connect() as connection, connection.begin():
        _migrate(connection, metadata)


async def _run_on_postgres(url: str, metadata: MetaData) -> None:
    connecting = partial(connect, dsn(parse(url)), None)  # a revision takes as long as it takes
    engine = create_async_engine("postgresql+asyncpg://", async_creator=connecting, poolclass=NullPool)
    try:
        async with engine.begin() as connection:
            await connection.execute(text(_FIRST_COMES))
            await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            await connection.execute(text(_OTHERS_WORK))
            await connection.run_sync(_migrate, metadata)
    finally:
        await engine.dispose()


def _migrate(connection: Connection, metadata: MetaData) -> None:
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
