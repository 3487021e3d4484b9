"""Opens the ledger for queries; a ledger that cannot be reached is an error with that name, never an empty answer."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from gateway.db.address import dsn, parse
from gateway.db.postgres import FAILURES, connect
from gateway.db.storage import refuse_network
from gateway.db.texts import kept
from gateway.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from sqlalchemy import URL
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import ConnectionPoolEntry

log = structlog.get_logger()

_PRAGMAS = (
    "PRAGMA busy_timeout = 5000",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)
_QUERY_SECONDS = 60.0
_POOL_SECONDS = 5.0
"""How long a query waits for one of the pool's connections before it is refused."""


def open_engine(url: str) -> AsyncEngine:
    """Return an engine, to be disposed of, for `sqlite+aiosqlite:///PATH` or `postgresql://...`.

    NetworkFileSystemError if the file lies where SQLite loses data, ValueError for any other address.
    """
    address = parse(url)
    engine = _postgres_engine(address) if address.drivername == "postgresql" else _sqlite_engine(address)
    event.listen(engine.sync_engine, "before_cursor_execute", _keep, retval=True)
    return engine


@asynccontextmanager
async def transaction(engine: AsyncEngine) -> AsyncGenerator[AsyncConnection, None]:
    """One short transaction, committed at the end; Unavailable if the ledger cannot be used now."""
    try:
        async with engine.begin() as connection:
            yield connection
    except IntegrityError:  # the caller's to judge
        raise
    except (DBAPIError, PoolTimeoutError, *FAILURES) as failure:
        # What a driver says may hold the server's address; the log is the owner's, an answer is not.
        log.error("ledger_not_reached", failure=failure)
        raise Unavailable("the ledger cannot be read now: try again in a moment", retry_after="5") from None


def _sqlite_engine(address: URL) -> AsyncEngine:
    if address.database:
        refuse_network(Path(address.database))
    engine = create_async_engine(address, hide_parameters=True)
    event.listen(engine.sync_engine, "connect", _prepare)
    return engine


def _postgres_engine(address: URL) -> AsyncEngine:
    # The driver reads the URL itself, as all of PostgreSQL's clients do: `sslmode`, sockets, `options`.
    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=partial(connect, dsn(address), _QUERY_SECONDS),
        hide_parameters=True,
        pool_pre_ping=True,
        pool_timeout=_POOL_SECONDS,
    )


def _prepare(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _keep(_c: Connection, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> tuple[str, Any]:
    """Bind texts as they are kept, so that a name which no database takes is found nowhere, and is no error."""
    return statement, _kept(parameters)


def _kept(value: Any) -> Any:
    if isinstance(value, str):
        return kept(value)
    if isinstance(value, dict):
        return {name: _kept(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_kept, value))
    return value
