"""The writer's side of a SQLite ledger: prepared statements, a batch of them in one transaction.

The statements are compiled once from the tables; the hot path runs them on the driver.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import bindparam, literal_column, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite import insert

from gateway.db.tables import attempts, boots, decisions, marks, microseconds, words
from gateway.wire.lanes import LANES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from sqlalchemy import Table
    from sqlalchemy.sql.dml import Insert, Update

    from gateway.db.boots import Boot
    from gateway.db.decisions import DecisionRecord

Durability = Literal["power", "process"]
"""`power`: a commit survives a power cut; `process`: it survives the end of the process only."""

Value = str | int | None

Refusal = sqlite3.DatabaseError | OverflowError | UnicodeError
"""Why one statement was not accepted, whatever the others of its batch."""

_REFUSALS = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, OverflowError, UnicodeError)
_SYNCHRONOUS = {"power": "FULL", "process": "NORMAL"}
_BUSY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Change:
    """One statement of a batch, with its values."""

    statement: str
    values: Mapping[str, Value]


class Journal:
    """One connection that writes. It belongs to one thread at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def write(self, changes: Sequence[Change]) -> list[int | Refusal]:
        """Commit the changes together; for each the number of rows it changed, or why it alone was refused.

        Any other error is raised, and then nothing of the batch is written.
        """
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            results = [self._apply(change) for change in changes]
            self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.rollback()
        return results

    def _apply(self, change: Change) -> int | Refusal:
        try:
            return self._connection.execute(change.statement, change.values).rowcount
        except _REFUSALS as error:  # SQLite undoes the statement and keeps the transaction
            return error


@contextmanager
def open_journal(path: Path, durability: Durability) -> Iterator[Journal]:
    """Open the ledger at `path`, which the migrations have made, for writing."""
    address = f"{path.resolve().as_uri()}?mode=rw"
    connection = sqlite3.connect(
        address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    with closing(connection):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[durability]}")
        connection.execute("PRAGMA foreign_keys = ON")
        yield Journal(connection)


def boot_change(boot: Boot) -> Change:
    """Enter a process that is going to hold attempts."""
    started_at = microseconds(boot.started_at)
    return Change(_BOOT, {**asdict(boot), "started_at": started_at, "heartbeat_at": started_at})


def heartbeat_change(boot_id: str, at: datetime) -> Change:
    """Say that the process lives."""
    return Change(_HEARTBEAT, {"b_boot_id": boot_id, "heartbeat_at": microseconds(at)})


def hold_change(values: Mapping[str, Value]) -> Change:
    """Enter an attempt, held at its estimate."""
    return Change(_HOLD, values)


def settle_change(attempt_id: str, owner: str, values: Mapping[str, Value]) -> Change:
    """Close an attempt of this owner's that is not settled yet.

    One that was recovered in the meantime, since its owner was not heard of, takes what the owner knows better.
    """
    return Change(_SETTLE, {**values, "b_id": attempt_id, "b_owner": owner})


def decision_change(decision: DecisionRecord) -> Change:
    """Enter a decision, or bring it up to date."""
    lists = {name: words(getattr(decision, name)) for name in ("collections", "raised_by", "zones")}
    return Change(_DECISION, {**_scalars(decision), **lists, "at": microseconds(decision.at)})


def mark_change(digest: str, label: str, at: datetime) -> Change:
    """Remember the label of a message by its digest."""
    return Change(_MARK, {"digest": digest, "label": label, "at": microseconds(at)})


def _scalars(decision: DecisionRecord) -> dict[str, Any]:
    return {name: getattr(decision, name) for name in decision.__slots__}


def _compiled(statement: Insert | Update, columns: Sequence[str]) -> str:
    return str(statement.compile(dialect=sqlite.dialect(paramstyle="named"), column_keys=list(columns)))


def _upsert(table: Table) -> Insert:
    entry = insert(table)
    newer = {column.name: entry.excluded[column.name] for column in table.c if not column.primary_key}
    return entry.on_conflict_do_update(index_elements=list(table.primary_key), set_=newer)


_HELD_COLUMNS = (
    "id",
    "decision_id",
    "request_id",
    "ordinal",
    "principal",
    "person",
    "tag",
    "collections",
    "label",
    "deployment",
    "model",
    "upstream_model",
    "zone",
    "owner",
    "state",
    "held_nano_usd",
    "held_tokens",
    "currency",
    *LANES,
    "estimated",
    "started_at",
    "bytes_out",
)
_SETTLED_COLUMNS = (
    "state",
    "cost_nano_usd",
    *LANES,
    "estimated",
    "outcome",
    "error_code",
    "first_byte_ms",
    "total_ms",
    "settled_at",
    "bytes_out",
    "answered_model",
    "surcharge_nano_usd",
    "saved_nano_usd",
    "privacy_nano_usd",
    "routing_nano_usd",
    "elsewhere",
    "bearer",
    "assumed",
    "from_cache",
    "service_tier",
)
_BOOT = _compiled(insert(boots), boots.c.keys())
_HEARTBEAT = _compiled(update(boots).where(boots.c.boot_id == bindparam("b_boot_id")), ["heartbeat_at"])
_HOLD = _compiled(insert(attempts), _HELD_COLUMNS)
_SETTLE = _compiled(
    update(attempts).where(
        attempts.c.id == bindparam("b_id"),
        attempts.c.owner == bindparam("b_owner"),
        attempts.c.state != literal_column("'settled'"),
    ),
    _SETTLED_COLUMNS,
)
_DECISION = _compiled(_upsert(decisions), decisions.c.keys())
_MARK = _compiled(_upsert(marks), marks.c.keys())
