"""Documents: their queue, their versions, their end. A row with its state and lease is the job of taking it in."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, func, or_, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from policies.labels import Label
from retrieval.client import CollectionInfo, DocumentInfo
from retrieval.registry import chunks, tombstones
from retrieval.registry.tables import chunks as chunk_rows
from retrieval.registry.tables import documents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Row, Select

    from retrieval.registry.chunks import Chunk

MOST_ATTEMPTS = 3
_PENDING = ("queued", "parsing", "embedding")


@dataclass(frozen=True, slots=True)
class Source:
    """A file that is to be taken in."""

    collection: str
    path: str
    file: str
    declared: Label | None


@dataclass(frozen=True, slots=True)
class Lease:
    """Who works on documents, and until when nobody else may, in microseconds since 1970."""

    owner: str
    now: int
    until: int


@dataclass(frozen=True, slots=True)
class Job:
    """A document under lease."""

    document: str
    source: Source
    digest: str | None
    version: str | None
    attempts: int


@dataclass(frozen=True, slots=True)
class Version:
    """One taking-in of a file: its passages, under one name."""

    id: str
    digest: str
    label: Label
    chunks: Sequence[Chunk]


def enqueue(connection: Connection, source: Source, now: int) -> str:
    """Queue a file, new or known; its id. What it answered so far stays until the new version is there."""
    values = {
        "file": source.file,
        "declared": None if source.declared is None else str(source.declared),
        "state": "queued",
        "reason": None,
        "attempts": 0,
        "leased_by": None,
        "leased_until": None,
        "updated_at": now,
    }
    fresh = {
        "id": f"doc_{uuid.uuid4().hex}",
        "collection": source.collection,
        "source": source.path,
        "label": str(source.declared or "private"),
        "created_at": now,
    }
    statement = upsert(documents).values(**values, **fresh)
    statement = statement.on_conflict_do_update(index_elements=["collection", "source"], set_=values)
    return str(connection.execute(statement.returning(documents.c.id)).scalar_one())


def claim(connection: Connection, lease: Lease) -> Job | None:
    """Take the next document that is queued, or that somebody let go of, for as long as the lease lasts."""
    free = or_(documents.c.leased_until.is_(None), documents.c.leased_until < lease.now)
    waiting = select(documents.c.id).where(documents.c.state.in_(_PENDING), free)
    chosen = waiting.order_by(documents.c.updated_at, documents.c.id).limit(1).scalar_subquery()
    statement = (
        update(documents)
        .where(documents.c.id == chosen)
        .values(
            state="parsing",
            attempts=documents.c.attempts + 1,
            leased_by=lease.owner,
            leased_until=lease.until,
        )
        .returning(documents)
    )
    row = connection.execute(statement).one_or_none()
    return None if row is None else _job(row)


def advance(connection: Connection, job: Job, lease: Lease, state: str) -> bool:
    """Renew the lease; False if the document is no longer this owner's: deleted, or queued anew."""
    statement = update(documents).where(*_held(job, lease)).values(state=state, leased_until=lease.until)
    return connection.execute(statement).rowcount == 1


def unchanged(connection: Connection, job: Job, lease: Lease) -> bool:
    """The version that answers is the file as it is."""
    return _finish(connection, job, lease, state="live")


def flip(connection: Connection, job: Job, lease: Lease, version: Version) -> bool:
    """Let the new version answer in place of the old one; False, and nothing done, if the job was lost."""
    old = _version(connection, job.document)
    label = str(version.label)
    if not _finish(connection, job, lease, state="live", digest=version.digest, version=version.id, label=label):
        return False
    _forget(connection, old)
    chunks.write(connection, version.chunks)
    return True


def fail(connection: Connection, job: Job, lease: Lease, reason: str) -> bool:
    """The file's present content cannot be taken in: what it said before answers no longer."""
    old = _version(connection, job.document)
    if not _finish(connection, job, lease, state="failed", reason=reason, digest=None, version=None):
        return False
    _forget(connection, old)
    return True


def postpone(connection: Connection, job: Job, lease: Lease, reason: str) -> bool:
    """The file could not be looked at: say so, and let its last version, if any, go on answering."""
    return _finish(connection, job, lease, state="failed", reason=reason)


def remove(connection: Connection, document: str) -> bool:
    """Delete the document with its text; its vectors get their tombstone in the same transaction."""
    _forget(connection, _version(connection, document))
    return connection.execute(delete(documents).where(documents.c.id == document)).rowcount == 1


def release(connection: Connection) -> None:
    """At start, when no other process can be at work: what was interrupted is queued again."""
    interrupted = documents.c.state.in_(("parsing", "embedding"))
    statement = update(documents).where(interrupted).values(state="queued", leased_by=None, leased_until=None)
    connection.execute(statement)


def versions(connection: Connection) -> dict[str, int]:
    """The versions that answer, with how many chunks each has."""
    counted = select(documents.c.version, func.count(chunk_rows.c.id).label("size"))
    counted = counted.join(chunk_rows, chunk_rows.c.version == documents.c.version).group_by(documents.c.version)
    return {row.version: row.size for row in connection.execute(counted)}


def listed(connection: Connection, collections: Sequence[str] | None) -> list[DocumentInfo]:
    """The documents of these collections (None: of all), whatever their state."""
    statement = _counted()
    if collections is not None:
        statement = statement.where(documents.c.collection.in_(collections))
    rows = connection.execute(statement.order_by(documents.c.collection, documents.c.file))
    return [_info(row) for row in rows]


def get(connection: Connection, document: str) -> DocumentInfo | None:
    row = connection.execute(_counted().where(documents.c.id == document)).one_or_none()
    return None if row is None else _info(row)


def totals(infos: Sequence[DocumentInfo]) -> list[CollectionInfo]:
    """Documents and passages of each collection."""
    names = sorted({info.collection for info in infos})
    return [
        CollectionInfo(name, len(within), sum(info.chunks for info in within))
        for name in names
        for within in [[info for info in infos if info.collection == name]]
    ]


def _finish(connection: Connection, job: Job, lease: Lease, **values: object) -> bool:
    settled = {"reason": None, "attempts": 0, "leased_by": None, "leased_until": None, "updated_at": lease.now}
    statement = update(documents).where(*_held(job, lease)).values({**settled, **values})
    return connection.execute(statement).rowcount == 1


def _held(job: Job, lease: Lease) -> tuple[ColumnElement[bool], ...]:
    return documents.c.id == job.document, documents.c.leased_by == lease.owner


def _version(connection: Connection, document: str) -> str | None:
    return connection.execute(select(documents.c.version).where(documents.c.id == document)).scalar()


def _forget(connection: Connection, version: str | None) -> None:
    if version is not None:
        chunks.erase(connection, version)
        tombstones.add(connection, version)


def _counted() -> Select[tuple[object, ...]]:
    count = func.count(chunk_rows.c.id).label("chunks")
    joined = select(*documents.c, count).outerjoin(chunk_rows, chunk_rows.c.version == documents.c.version)
    return joined.group_by(documents.c.id)


def _job(row: Row[tuple[object, ...]]) -> Job:
    declared = None if row.declared is None else Label.parse(row.declared)
    source = Source(row.collection, row.source, row.file, declared)
    return Job(row.id, source, row.digest, row.version, row.attempts)


def _info(row: Row[tuple[object, ...]]) -> DocumentInfo:
    label = Label.parse(row.label)
    return DocumentInfo(row.id, row.file, row.collection, label, row.state, row.reason, row.chunks)
