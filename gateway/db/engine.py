"""Opens the ledger for queries; a ledger that cannot be reached is an error with that name, never an empty answer."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from sqlalchemy import event, make_url
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from gateway.db.storage import refuse_network
from gateway.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import ConnectionPoolEntry

log = structlog.get_logger()

_PRAGMAS = (
    "PRAGMA busy_timeout = 5000",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)


def open_engine(url: str) -> AsyncEngine:
    """Return an engine for `sqlite+aiosqlite:///PATH`, to be disposed of; NetworkFileSystemError if it may not be."""
    address = make_url(url)
    if address.database:
        refuse_network(Path(address.database))
    engine = create_async_engine(address, hide_parameters=True)
    event.listen(engine.sync_engine, "connect", _prepare)
    return engine


@asynccontextmanager
async def transaction(engine: AsyncEngine) -> AsyncGenerator[AsyncConnection, None]:
    """One short transaction, committed at the end; Unavailable if the ledger cannot be used now."""
    try:
        async with engine.begin() as connection:
            yield connection
    except IntegrityError:  # the caller's to judge
        raise
    except (DBAPIError, PoolTimeoutError) as failure:
        log.error("ledger_not_reached", failure=failure)
        raise Unavailable("the ledger cannot be read now: try again in a moment", retry_after="5") from None


def _prepare(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()
