"""The ledger in both databases: what a test says of the one holds for the other."""

from __future__ import annotations

import sqlite3
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from gateway.db.engine import open_engine
from gateway.ledger.writer import open_writer
from tests.db.postgres import run
from tests.gateway.ledger.samples import BOOT, fresh_ledger, url_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.boots import Boot
    from gateway.ledger.writer import LedgerWriter


@dataclass(frozen=True)
class Store:
    """One ledger, as it is reached from outside of it."""

    url: str
    path: Path | None
    """Its file; None on PostgreSQL."""

    def writer(self, boot: Boot = BOOT, heartbeat_seconds: float = 5.0) -> AbstractAsyncContextManager[LedgerWriter]:
        return open_writer(self.url, boot, heartbeat_seconds=heartbeat_seconds)

    def rows(self, query: str = "SELECT * FROM attempts ORDER BY id") -> list[Mapping[str, Any]]:
        """What is in it, read by a connection of its own; truths and sums are whole numbers in both."""
        if self.path is None:
            return [{name: _whole(value) for name, value in row.items()} for row in run(_fetched(self.url, query))]
        with closing(sqlite3.connect(self.path)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query)]

    def row(self, query: str = "SELECT * FROM attempts ORDER BY id") -> Mapping[str, Any]:
        """The only row."""
        [row] = self.rows(query)
        return row

    def execute(self, statement: str) -> None:
        """Change it behind everybody's back."""
        if self.path is None:
            run(_fetched(self.url, statement))
            return
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(statement)

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Keep every writer waiting."""
        if self.path is None:
            connection = await asyncpg.connect(self.url)
            async with connection.transaction():
                await connection.execute("LOCK TABLE attempts IN EXCLUSIVE MODE")
                yield
            await connection.close()
            return
        with closing(sqlite3.connect(self.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("COMMIT")

    def touched(self) -> object:
        """When the writer last did anything, by the database's own word."""
        if self.path is not None:
            return self.path.with_name("ledger.db-wal").stat().st_mtime_ns
        mine = "application_name = 'soleira' AND datname = current_database()"
        return self.row(f"SELECT max(state_change) AS touched FROM pg_stat_activity WHERE {mine}")["touched"]


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty ledger."""
    if request.param == "postgresql":
        return Store(request.getfixturevalue("postgres_url"), None)
    path = fresh_ledger(tmp_path)
    return Store(url_of(path), path)


@pytest.fixture
async def opened(store: Store) -> AsyncIterator[AsyncEngine]:
    """An engine on the store."""
    engine = open_engine(store.url)
    yield engine
    await engine.dispose()


async def _fetched(url: str, statement: str) -> list[Mapping[str, Any]]:
    connection = await asyncpg.connect(url)
    try:
        return [dict(row) for row in await connection.fetch(statement)]
    finally:
        await connection.close()


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, bool | Decimal) else value
