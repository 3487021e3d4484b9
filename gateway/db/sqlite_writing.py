"""A connection of the writer's to a SQLite ledger."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from gateway.db.journal import RefusedEntryError
from gateway.db.statements import FOR_SQLITE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from gateway.db.books import Row, Value
    from gateway.db.journal import Durability
    from gateway.db.statements import Statement

_REFUSALS = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, OverflowError, UnicodeError)
_SYNCHRONOUS = {"power": "FULL", "process": "NORMAL"}
_BUSY_SECONDS = 5.0


class SqliteConnection:
    """Takes the write lock at once, waiting for whoever holds it."""

    statements = FOR_SQLITE

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def run(self, statement: Statement, rows: Sequence[Mapping[str, Value]]) -> None:
        try:
            self._connection.executemany(statement.text, rows)
        except _REFUSALS as error:
            raise RefusedEntryError(str(error)) from error

    def read(self, statement: Statement, rows: Sequence[Mapping[str, Value]]) -> list[Row]:
        found: list[Row] = []
        names: list[str] = []
        for row in rows:
            cursor = self._connection.execute(statement.text, row)
            names = names or [column[0] for column in cursor.description]
            found += [dict(zip(names, values, strict=True)) for values in cursor]
        return found

    def commit(self) -> None:
        self._connection.execute("COMMIT")

    def rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.rollback()


@contextmanager
def open_sqlite(path: Path, durability: Durability) -> Iterator[SqliteConnection]:
    """Open the ledger at `path`, which the migrations have made, for writing."""
    address = f"{path.resolve().as_uri()}?mode=rw"
    connection = sqlite3.connect(
        address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    with closing(connection):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[durability]}")
        connection.execute("PRAGMA foreign_keys = ON")
        yield SqliteConnection(connection)
