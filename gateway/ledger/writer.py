"""Writes holds, settlements and decisions: one thread, one transaction for everything that waits."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Protocol

import structlog

from gateway.db import connections, journal
from gateway.db.books import NoRoom
from gateway.errors import Unavailable
from gateway.ledger import rows
from gateway.ledger.refusals import exceeded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from gateway.db.boots import Boot
    from gateway.db.decisions import DecisionRecord
    from gateway.ledger.entries import Hold, Settlement
    from policies.labels import Label

log = structlog.get_logger()

HEARTBEAT_SECONDS = 5.0
_BATCH = 512

Answer = tuple[asyncio.Future[None] | None, Exception | None]


class NotHeldError(RuntimeError):
    """The attempt cannot be settled: it is settled already, or this process never held it."""


class Writer(Protocol):
    """The ledger as the request path sees it. Each call returns when its entry is durable.

    An entry is taken at the call: a caller that is cancelled while it waits does not take it back.
    """

    async def hold(self, hold: Hold) -> None:
        """Enter an attempt that is about to be made.

        BudgetExceeded if one of its budgets has no room, Unavailable if the ledger cannot be written.
        """

    async def settle(self, settlement: Settlement) -> None:
        """Close a held attempt, once; NotHeldError if there is none, Unavailable if it can only be written later."""

    async def record(self, decision: DecisionRecord) -> None:
        """Enter a decision, or bring it up to date."""

    async def mark(self, digest: str, label: Label) -> None:
        """Remember the label of a message by its digest."""


@asynccontextmanager
async def open_writer(
    where: Path | str,
    boot: Boot,
    durability: journal.Durability = "power",
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> AsyncGenerator[LedgerWriter, None]:
    """Run the writer of the ledger: a SQLite file, or a database by its URL.

    Whatever it was given is written before it closes. Unavailable if the ledger cannot be opened.
    """
    scribe = _Scribe(boot, heartbeat_seconds, asyncio.get_running_loop())
    thread = threading.Thread(
        target=scribe.run, args=(partial(connections.open, where, durability),), name="ledger", daemon=True
    )
    thread.start()
    writer = LedgerWriter(scribe.queue, boot.boot_id)
    try:
        await scribe.ready
        yield writer
    finally:
        writer.close()
        thread.join()  # not awaited: a second cancellation must not close the ledger under the thread


@dataclass(frozen=True, slots=True)
class _Pending:
    """An entry about one attempt or decision, and the future of whoever waits for it; None: nobody does."""

    name: str
    entry: journal.Entry
    done: asyncio.Future[None] | None


class LedgerWriter:
    """The event loop's side: puts entries into the queue and waits for word of them."""

    def __init__(self, queue: SimpleQueue[_Pending | None], owner: str) -> None:
        self._queue = queue
        self._owner = owner
        self._closed = False

    async def hold(self, hold: Hold) -> None:
        await self._submit(hold.id, journal.hold_entry(rows.held(hold, self._owner), rows.windows(hold)))

    async def settle(self, settlement: Settlement) -> None:
        entry = journal.settle_entry(settlement.attempt_id, self._owner, rows.settled(settlement))
        await self._submit(settlement.attempt_id, entry)

    async def record(self, decision: DecisionRecord) -> None:
        await self._submit(decision.id, journal.decision_entry(decision))

    async def mark(self, digest: str, label: Label) -> None:
        await self._submit(digest, journal.mark_entry(digest, str(label), datetime.now(UTC)))

    def close(self) -> None:
        """Take no more entries; the thread ends when it has written those it has."""
        self._closed = True
        self._queue.put(None)

    def _submit(self, name: str, entry: journal.Entry) -> asyncio.Future[None]:
        if self._closed:
            raise Unavailable("the ledger is closed, since the gateway is stopping: try again", retry_after="5")
        done = asyncio.get_running_loop().create_future()
        self._queue.put(_Pending(name, entry, done))
        return done


class _Scribe:
    """The thread's side: writes whatever waits in one transaction, again and again."""

    def __init__(self, boot: Boot, heartbeat_seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        self.queue: SimpleQueue[_Pending | None] = SimpleQueue()
        self.ready: asyncio.Future[None] = loop.create_future()
        self._boot = boot
        self._heartbeat_seconds = heartbeat_seconds
        self._loop = loop
        self._held: set[str] = set()
        self._owed: list[_Pending] = []
        """What is still to be written although nobody waits for it any more."""
        self._beat_at = monotonic()
        self._closed = False

    def run(self, opening: Callable[[], AbstractContextManager[journal.Connection]]) -> None:
        """Open the ledger and write until the queue is closed."""
        try:
            with opening() as connection:
                self._journal = journal.Journal(connection)
                self._journal.enter(self._boot)
                self._answer([(self.ready, None)])
                self._serve()
        except Exception as failure:  # the thread's border: whoever opens the ledger must hear of it
            log.error("ledger_not_opened", failure=failure)
            self._answer([(self.ready, _unavailable())])

    def _serve(self) -> None:
        while not self._closed:
            pending = self._next()
            owed, self._owed = self._owed, []
            self._take([*owed, *pending])
        if self._owed:
            log.error("settlements_left_to_recovery", count=len(self._owed))

    def _next(self) -> list[_Pending]:
        """Wait for entries, or for the next heartbeat while anything is open; an idle ledger lets the disk sleep."""
        pending: list[_Pending] = []
        with suppress(Empty):
            entry = self.queue.get(timeout=self._heartbeat_seconds if self._held or self._owed else None)
            while entry is not None:
                pending.append(entry)
                if len(pending) == _BATCH:
                    return pending
                entry = self.queue.get_nowait()
            self._closed = True
        return pending

    def _take(self, pending: list[_Pending]) -> None:
        """Say that this process lives, if it is time, and write."""
        now = monotonic()
        try:
            if now - self._beat_at >= self._heartbeat_seconds and (pending or self._held):
                self._journal.beat(self._boot.boot_id, datetime.now(UTC))
                self._beat_at = now
        except Exception as failure:  # the thread's border, as below
            self._postpone(pending, failure)
        else:
            self._write(pending)

    def _write(self, pending: list[_Pending]) -> None:
        """Write all of them together; where one cannot be kept, each by itself, so that it fails alone."""
        if not pending:
            return
        try:
            results = self._journal.write([each.entry for each in pending])
        except journal.RefusedEntryError as error:
            if len(pending) == 1:
                self._tell([(pending[0], error)])
                return
            for each in pending:
                self._write([each])
        except Exception as failure:  # the thread's border: those who wait must hear of it, and the thread goes on
            self._postpone(pending, failure)
        else:
            self._tell([(each, _error_of(each, result)) for each, result in zip(pending, results, strict=True)])

    def _tell(self, told: list[tuple[_Pending, Exception | None]]) -> None:
        """Answer those who wait, and keep count of what is open, since only then the heartbeat matters."""
        for pending, error in told:
            if isinstance(pending.entry, journal.HoldEntry) and error is None:
                self._held.add(pending.name)
            if isinstance(pending.entry, journal.SettleEntry):
                self._held.discard(pending.name)
        self._answer([(pending.done, error) for pending, error in told])

    def _postpone(self, pending: list[_Pending], failure: Exception) -> None:
        """Tell everybody that nothing is written as far as is known.

        Settlements stay, since what they cost is already spent. Holds are taken back, should they be written after
        all: a commit may have gone through although no word of it came.
        """
        log.error("ledger_not_written", failure=failure, sqlite=getattr(failure, "sqlite_errorname", None))
        self._owed += [owed for each in pending if (owed := self._owe(each)) is not None]
        self._answer([(each.done, _unavailable()) for each in pending])

    def _owe(self, pending: _Pending) -> _Pending | None:
        if isinstance(pending.entry, journal.SettleEntry):
            return pending
        if isinstance(pending.entry, journal.HoldEntry):
            taken_back = journal.settle_entry(pending.name, self._boot.boot_id, rows.taken_back(datetime.now(UTC)))
            return _Pending(pending.name, taken_back, None)
        return None

    def _answer(self, answers: list[Answer]) -> None:
        with suppress(RuntimeError):  # the loop has ended, and with it those who waited
            self._loop.call_soon_threadsafe(_resolve, answers)


def _resolve(answers: list[Answer]) -> None:
    for done, error in answers:
        # Its caller was cancelled, or has heard already that it is written later.
        if done is None or done.done():
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)


def _error_of(pending: _Pending, result: journal.Result) -> Exception | None:
    if isinstance(result, NoRoom):
        return exceeded(result.window, datetime.now(UTC))
    if isinstance(result, journal.NotOpen):
        return NotHeldError(f"attempt {pending.name!r} is not held by this process, or is settled already")
    return None


def _unavailable() -> Unavailable:
    return Unavailable(
        "the ledger cannot be written, so nothing new is sent: look for a full or busy disk, or a database that is "
        "away, then try again",
        retry_after="5",
    )
