"""The writer's side of the ledger: entries that are written together, in one transaction of either database."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from gateway.db.books import Books, NoRoom, Open, Row, Value
from gateway.db.statements import LIMITS
from gateway.db.tables import microseconds, words
from gateway.db.texts import kept

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from gateway.db.boots import Boot
    from gateway.db.decisions import DecisionRecord
    from gateway.db.statements import Statement, Statements

Durability = Literal["power", "process"]
"""`power`: a commit survives a power cut; `process`: it survives the end of the process only."""

_TRIES = 5


class RefusedEntryError(Exception):
    """The database takes the batch not as it is: an entry of it cannot be kept. Nothing was written."""


class ConflictError(Exception):
    """Another process was in the way, and the database chose this one to step back. Nothing was written."""


@dataclass(frozen=True, slots=True)
class HoldEntry:
    """An attempt that is about to be made, and the windows it counts in, as rows."""

    row: Row
    windows: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class SettleEntry:
    """How an attempt of this owner's ended."""

    attempt_id: str
    owner: str
    values: Row


@dataclass(frozen=True, slots=True)
class DecisionEntry:
    """A decision, new or brought up to date."""

    row: Row


@dataclass(frozen=True, slots=True)
class MarkEntry:
    """The label of a message."""

    row: Row


Entry = HoldEntry | SettleEntry | DecisionEntry | MarkEntry


@dataclass(frozen=True, slots=True)
class NotOpen:
    """A settlement found nothing to settle: it is settled already, or this owner never held it."""


Result = NoRoom | NotOpen | None
"""What became of an entry; None: it is written."""


class Connection(Protocol):
    """One connection to one database. It belongs to one thread at a time."""

    statements: Statements

    def begin(self) -> None:
        """Begin a transaction, connecting anew where the connection was lost."""

    def run(self, statement: Statement, rows: Sequence[Mapping[str, Value]]) -> None:
        """Run the statement for each of the rows."""

    def read(self, statement: Statement, rows: Sequence[Mapping[str, Value]]) -> list[Row]:
        """All that the statement finds for the rows, in their order."""

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """Undo the transaction, if there is one; never raises."""


class Journal:
    """Writes batches over one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._statements = connection.statements

    def enter(self, boot: Boot) -> None:
        """Enter a process that is going to hold attempts."""
        started_at = microseconds(boot.started_at)
        row = {**asdict(boot), "started_at": started_at, "heartbeat_at": started_at}
        with self._transaction():
            self._connection.run(self._statements.boot, [row])

    def beat(self, boot_id: str, at: datetime) -> None:
        """Say that the process lives."""
        with self._transaction():
            self._connection.run(self._statements.heartbeat, [_beat(boot_id, at)])

    def write(self, entries: Sequence[Entry]) -> list[Result]:
        """Commit the entries together; for each, what became of it.

        RefusedEntryError if one of them cannot be kept. After any other error it is not known whether they are written.
        """
        for _ in range(_TRIES - 1):
            try:
                return self._write(entries)
            except ConflictError:
                continue
        return self._write(entries)

    def _write(self, entries: Sequence[Entry]) -> list[Result]:
        with self._transaction():
            books = self._opened(entries)
            results = [_post(books, entry) for entry in entries]
            self._run(self._statements.hold, books.added)
            self._run(self._statements.link, books.linked)
            self._run(self._statements.settle, books.changed)
            self._run(self._statements.move_window, books.moved)
            self._run(
                self._statements.decision, _last_of([e.row for e in entries if isinstance(e, DecisionEntry)], "id")
            )
            self._run(self._statements.mark, _last_of([e.row for e in entries if isinstance(e, MarkEntry)], "digest"))
            self._run(self._statements.roll, books.rolled)
        return results

    def _opened(self, entries: Sequence[Entry]) -> Books:
        """Read all that the entries depend on, and lock it: attempts first, then windows, each in the order of ids."""
        books = Books()
        settled = {entry.attempt_id: entry.owner for entry in entries if isinstance(entry, SettleEntry)}
        sought: list[Row] = [{"b_id": name, "b_owner": settled[name]} for name in sorted(settled)]
        for row in self._read(self._statements.read_attempt, sought):
            windows = json.loads(str(row.pop("windows") or "[]"))
            books.opened[str(row["id"])] = Open(row, tuple(windows))
        asked = {str(window["id"]): window for e in entries if isinstance(e, HoldEntry) for window in e.windows}
        names = asked.keys() | {name for found in books.opened.values() for name in found.windows}
        if names:
            self._open_windows(books, asked, sorted(names))
        return books

    def _open_windows(self, books: Books, asked: Mapping[str, Row], names: Sequence[str]) -> None:
        books.windows = self._windows(names)
        changed = [name for name in sorted(asked) if not _is_current(books.windows.get(name), asked[name])]
        if changed:
            self._run(self._statements.open_window, [asked[name] for name in changed])
            books.windows |= self._windows(changed)

    def _windows(self, names: Sequence[str]) -> dict[str, Row]:
        sought: list[Row] = [{"b_id": name} for name in names]
        return {str(row["id"]): row for row in self._read(self._statements.read_window, sought)}

    def _run(self, statement: Statement, rows: Sequence[Row]) -> None:
        if rows:
            self._connection.run(statement, rows)

    def _read(self, statement: Statement, rows: Sequence[Row]) -> list[Row]:
        return self._connection.read(statement, rows) if rows else []

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._connection.begin()
            yield
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise


def hold_entry(values: Mapping[str, Value], windows: Sequence[Mapping[str, Value]] = ()) -> HoldEntry:
    """Enter an attempt, held at its estimate."""
    return HoldEntry(_kept(values), tuple(_kept(window) for window in windows))


def settle_entry(attempt_id: str, owner: str, values: Mapping[str, Value]) -> SettleEntry:
    """Close an attempt of this owner's that is not settled yet.

    One that was recovered in the meantime, since its owner was not heard of, takes what the owner knows better.
    """
    return SettleEntry(attempt_id, owner, _kept(values))


def decision_entry(decision: DecisionRecord) -> DecisionEntry:
    """Enter a decision, or bring it up to date."""
    scalars = {name: getattr(decision, name) for name in decision.__slots__}
    lists = {name: words(getattr(decision, name)) for name in ("collections", "raised_by", "zones")}
    return DecisionEntry(_kept({**scalars, **lists, "at": microseconds(decision.at)}))


def mark_entry(digest: str, label: str, at: datetime) -> MarkEntry:
    """Remember the label of a message by its digest."""
    return MarkEntry(_kept({"digest": digest, "label": label, "at": microseconds(at)}))


def _post(books: Books, entry: Entry) -> Result:
    if isinstance(entry, HoldEntry):
        return books.hold(entry.row, entry.windows)
    if isinstance(entry, SettleEntry) and not books.settle(entry.attempt_id, entry.values):
        return NotOpen()
    return None


def _is_current(standing: Row | None, asked: Row) -> bool:
    return standing is not None and all(standing[name] == asked[name] for name in LIMITS)


def _last_of(rows: Sequence[Row], key: str) -> list[Row]:
    """The newest row of each key, in the order of keys: the order in which every process locks them."""
    newest = {str(row[key]): row for row in rows}
    return [newest[name] for name in sorted(newest)]


def _beat(boot_id: str, at: datetime) -> Row:
    return {"b_boot_id": boot_id, "heartbeat_at": microseconds(at)}


def _kept(values: Mapping[str, Value]) -> Row:
    return {name: kept(value) if isinstance(value, str) else value for name, value in values.items()}
