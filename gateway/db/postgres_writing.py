"""The writer's connection to a ledger on PostgreSQL, used by a thread that has no event loop."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import asyncpg
from asyncpg.exceptions import DataError, IntegrityConstraintViolationError, TransactionRollbackError

from gateway.db.journal import ConflictError, RefusedEntryError
from gateway.db.postgres import FAILURES, connect
from gateway.db.statements import FOR_POSTGRESQL

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping, Sequence

    from gateway.db.books import Row, Value
    from gateway.db.journal import Durability
    from gateway.db.statements import Statement

# A value that the driver cannot send is a ValueError.
_REFUSALS = (DataError, IntegrityConstraintViolationError, ValueError, OverflowError)
_COMMAND_SECONDS = 10.0
_ROLLBACK_SECONDS = 2.0
_SYNCHRONOUS = {"power": "on", "process": "off"}


class PostgresConnection:
    """Runs on an event loop of its own, which turns only while somebody waits for it."""

    statements = FOR_POSTGRESQL

    def __init__(self, dsn: str, durability: Durability) -> None:
        self._dsn = dsn
        self._session = {"synchronous_commit": _SYNCHRONOUS[durability]}
        self._loop = asyncio.new_event_loop()
        self._connection: asyncpg.Connection | None = None

    def begin(self) -> None:
        if self._connection is not None:
            try:
                self._wait(self._connection.execute("BEGIN"))
                return
            except FAILURES:  # it broke while nobody used it
                self._drop()
        self._connection = self._wait(connect(self._dsn, _COMMAND_SECONDS, self._session))
        self._wait(self._connection.execute("BEGIN"))

    def run(self, statement: Statement, rows: Sequence[Mapping[str, Value]]) -> None:
        self._ask(self._open.executemany(statement.text, [statement.bound(row) for row in rows]))

    def read(self, statement: Statement, rows: Sequence[Mapping[str, Value]]) -> list[Row]:
        found = self._ask(self._open.fetchmany(statement.text, [statement.bound(row) for row in rows]))
        return [dict(row) for row in found]

    def commit(self) -> None:
        self._ask(self._open.execute("COMMIT"))

    def rollback(self) -> None:
        if self._connection is None:
            return
        try:
            self._wait(self._connection.execute("ROLLBACK", timeout=_ROLLBACK_SECONDS))
        except FAILURES:
            self._drop()

    def close(self) -> None:
        self._drop()
        self._loop.close()

    @property
    def _open(self) -> asyncpg.Connection:
        if self._connection is None:
            raise asyncpg.InterfaceError("no transaction has begun")
        return self._connection

    def _ask(self, question: Coroutine[Any, Any, Any]) -> Any:
        try:
            return self._wait(question)
        except TransactionRollbackError as error:
            raise ConflictError(str(error)) from error
        except _REFUSALS as error:
            raise RefusedEntryError(str(error)) from error

    def _wait(self, question: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(question)

    def _drop(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with suppress(*FAILURES):
                connection.terminate()
            self._wait(asyncio.sleep(0))  # so that the transport is closed


@contextmanager
def open_postgres(dsn: str, durability: Durability) -> Iterator[PostgresConnection]:
    """A connection for writing to a ledger that the migrations have made."""
    connection = PostgresConnection(dsn, durability)
    try:
        yield connection
    finally:
        connection.close()
