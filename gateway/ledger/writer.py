"""Writes holds, settlements and decisions: one thread, one transaction for everything that waits."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Literal, Protocol

import structlog

from gateway.db import journal
from gateway.db.tables import microseconds, words
from gateway.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from gateway.db.boots import Boot
    from gateway.db.decisions import DecisionRecord
    from gateway.ledger.entries import Hold, Settlement
    from gateway.wire.lanes import Usage
    from policies.labels import Label

log = structlog.get_logger()

HEARTBEAT_SECONDS = 5.0
_BATCH = 512

Kind = Literal["hold", "settle", "record"]
Answer = tuple[asyncio.Future[None], Exception | None]


class NotHeldError(RuntimeError):
    """The attempt cannot be settled: it is settled already, or this process never held it."""


class Writer(Protocol):
    """The ledger as the request path sees it. Each call returns when its entry is durable.

    An entry is taken at the call: a caller that is cancelled while it waits does not take it back.
    """

    async def hold(self, hold: Hold) -> None:
        """Enter an attempt that is about to be made; Unavailable if the ledger cannot be written."""

    async def settle(self, settlement: Settlement) -> None:
        """Close a held attempt, once; NotHeldError if there is none, Unavailable if it can only be written later."""

    async def record(self, decision: DecisionRecord) -> None:
        """Enter a decision, or bring it up to date."""

    async def mark(self, digest: str, label: Label) -> None:
        """Remember the label of a message by its digest."""


@asynccontextmanager
async def open_writer(
    path: Path,
    boot: Boot,
    durability: journal.Durability = "power",
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> AsyncGenerator[SqliteWriter, None]:
    """Run the writer of the SQLite ledger at `path`; whatever it was given is written before it closes."""
    with journal.open_journal(path, durability) as opened:
        opened.write([journal.boot_change(boot)])
        scribe = _Scribe(opened, boot.boot_id, heartbeat_seconds, asyncio.get_running_loop())
        thread = threading.Thread(target=scribe.run, name="ledger", daemon=True)
        thread.start()
        writer = SqliteWriter(scribe.queue, boot.boot_id)
        try:
            yield writer
        finally:
            writer.close()
            thread.join()  # not awaited: a second cancellation must not close the file under the thread


@dataclass(frozen=True, slots=True)
class _Entry:
    """A change to one attempt or decision, and the future of whoever waits for it."""

    kind: Kind
    name: str
    change: journal.Change
    done: asyncio.Future[None]


class SqliteWriter:
    """The event loop's side: puts entries into the queue and waits for word of them."""

    def __init__(self, queue: SimpleQueue[_Entry | None], owner: str) -> None:
        self._queue = queue
        self._owner = owner
        self._closed = False

    async def hold(self, hold: Hold) -> None:
        await self._submit("hold", hold.id, journal.hold_change(_held(hold, self._owner)))

    async def settle(self, settlement: Settlement) -> None:
        change = journal.settle_change(settlement.attempt_id, self._owner, _settled(settlement))
        await self._submit("settle", settlement.attempt_id, change)

    async def record(self, decision: DecisionRecord) -> None:
        await self._submit("record", decision.id, journal.decision_change(decision))

    async def mark(self, digest: str, label: Label) -> None:
        await self._submit("record", digest, journal.mark_change(digest, str(label), datetime.now(UTC)))

    def close(self) -> None:
        """Take no more entries; the thread ends when it has written those it has."""
        self._closed = True
        self._queue.put(None)

    def _submit(self, kind: Kind, name: str, change: journal.Change) -> asyncio.Future[None]:
        if self._closed:
            raise Unavailable("the ledger is closed, since the gateway is stopping: try again", retry_after="5")
        done = asyncio.get_running_loop().create_future()
        self._queue.put(_Entry(kind, name, change, done))
        return done


class _Scribe:
    """The thread's side: writes whatever waits in one transaction, again and again."""

    def __init__(
        self, opened: journal.Journal, owner: str, heartbeat_seconds: float, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.queue: SimpleQueue[_Entry | None] = SimpleQueue()
        self._journal = opened
        self._owner = owner
        self._heartbeat_seconds = heartbeat_seconds
        self._loop = loop
        self._held: set[str] = set()
        self._owed: list[_Entry] = []
        self._beat_at = monotonic()
        self._closed = False

    def run(self) -> None:
        """Write until the queue is closed."""
        while not self._closed:
            self._write([*self._owed, *self._next()])
        if self._owed:
            log.error("settlements_left_to_recovery", count=len(self._owed))

    def _next(self) -> list[_Entry]:
        """Wait for entries, or for the next heartbeat while anything is open; an idle ledger lets the disk sleep."""
        entries: list[_Entry] = []
        with suppress(Empty):
            entry = self.queue.get(timeout=self._heartbeat_seconds if self._held else None)
            while entry is not None:
                entries.append(entry)
                if len(entries) == _BATCH:
                    return entries
                entry = self.queue.get_nowait()
            self._closed = True
        return entries

    def _write(self, entries: list[_Entry]) -> None:
        changes = [entry.change for entry in entries]
        beat_at = monotonic()
        if beat_at - self._beat_at >= self._heartbeat_seconds:
            changes.insert(0, journal.heartbeat_change(self._owner, datetime.now(UTC)))
        if not changes:
            return
        try:
            results = self._journal.write(changes)
        except Exception as failure:  # the thread's border: those who wait must hear of it, and the thread goes on
            self._postpone(entries, failure)
            return
        if len(changes) > len(entries):
            self._beat_at = beat_at
            del results[0]
        self._accept(entries, results)

    def _accept(self, entries: list[_Entry], results: list[int | journal.Refusal]) -> None:
        self._owed = []
        errors = [_error_of(entry, result) for entry, result in zip(entries, results, strict=True)]
        for entry, error in zip(entries, errors, strict=True):
            self._follow(entry, error)
        self._answer([(entry.done, error) for entry, error in zip(entries, errors, strict=True)])

    def _follow(self, entry: _Entry, error: Exception | None) -> None:
        """Keep count of what is open, since only then the heartbeat matters."""
        if entry.kind == "hold" and error is None:
            self._held.add(entry.name)
        if entry.kind == "settle":
            self._held.discard(entry.name)

    def _postpone(self, entries: list[_Entry], failure: Exception) -> None:
        """Tell everybody that nothing was written; settlements stay, since what they cost is already spent."""
        log.error("ledger_not_written", failure=failure, sqlite=getattr(failure, "sqlite_errorname", None))
        self._owed = [entry for entry in entries if entry.kind == "settle"]
        self._answer([(entry.done, _unavailable()) for entry in entries])

    def _answer(self, answers: list[Answer]) -> None:
        with suppress(RuntimeError):  # the loop has ended, and with it those who waited
            self._loop.call_soon_threadsafe(_resolve, answers)


def _resolve(answers: list[Answer]) -> None:
    for done, error in answers:
        if done.done():  # its caller was cancelled, or has heard already that it is written later
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)


def _error_of(entry: _Entry, result: int | journal.Refusal) -> Exception | None:
    if not isinstance(result, int):
        return result
    if entry.kind == "settle" and result == 0:
        return NotHeldError(f"attempt {entry.name!r} is not held by this process, or is settled already")
    return None


def _unavailable() -> Unavailable:
    return Unavailable(
        "the ledger cannot be written, so nothing new is sent: look for a full or busy disk, then try again",
        retry_after="5",
    )


def _held(hold: Hold, owner: str) -> dict[str, journal.Value]:
    deployment = hold.deployment
    return {
        "id": hold.id,
        "decision_id": hold.decision_id,
        "request_id": hold.request_id,
        "ordinal": hold.ordinal,
        "principal": hold.account.principal,
        "person": hold.account.person or hold.account.principal,
        "tag": hold.account.tag or "",
        "collections": words(hold.account.collections),
        "label": hold.account.label,
        "deployment": deployment.name,
        "model": deployment.model,
        "upstream_model": deployment.upstream_model,
        "zone": deployment.zone.name,
        "owner": owner,
        "state": "held",
        "held_nano_usd": hold.nano_usd,
        "held_tokens": hold.estimate.tokens,
        "currency": deployment.price.currency,
        **_lanes(hold.estimate),
        "started_at": microseconds(hold.started_at),
        "bytes_out": 0,
    }


def _settled(settlement: Settlement) -> dict[str, journal.Value]:
    return {
        "state": "settled",
        "cost_nano_usd": settlement.cost_nano_usd,
        **_lanes(settlement.usage),
        "outcome": settlement.outcome,
        "error_code": settlement.error_code,
        "first_byte_ms": settlement.first_byte_ms,
        "total_ms": settlement.total_ms,
        "settled_at": microseconds(settlement.settled_at),
        "bytes_out": settlement.bytes_out,
        "answered_model": settlement.answered_model,
        "surcharge_nano_usd": settlement.surcharge_nano_usd,
        "saved_nano_usd": settlement.saved_nano_usd,
        "privacy_nano_usd": settlement.privacy_nano_usd,
        "routing_nano_usd": settlement.routing_nano_usd,
        "elsewhere": json.dumps(settlement.elsewhere) if settlement.elsewhere else None,
        "bearer": settlement.bearer,
        "assumed": settlement.assumed,
        "from_cache": settlement.from_cache,
        "service_tier": settlement.service_tier,
    }


def _lanes(usage: Usage) -> dict[str, journal.Value]:
    return {**usage.lanes, "estimated": usage.estimated}
