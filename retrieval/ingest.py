"""Takes files in: queued, parsed, labelled, embedded; then the new version answers in place of the old."""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from policies.language import detect
from retrieval import chunk, files
from retrieval.client import FileStatus
from retrieval.faults import describe
from retrieval.parse import content, parent
from retrieval.parse.blocks import SUFFIXES, ParseError
from retrieval.registry import documents, tombstones
from retrieval.registry.chunks import Answering, Chunk
from retrieval.registry.documents import MOST_ATTEMPTS, Job, Lease, Version
from retrieval.registry.engine import writing
from retrieval.store import Entry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from typing import Literal

    from retrieval.client import IngestRequest
    from retrieval.labelling import Labelling
    from retrieval.parse.blocks import Parsed
    from retrieval.registry.documents import Source
    from retrieval.runtime import Runtime

log = structlog.get_logger()

WORKERS = 2
"""While one embeds, the other parses."""
BATCH = 8
_LEASE_SECONDS = 300
# Part of each digest. Raised when the same file would be read or cut differently, so that it is taken in again.
_METHOD = "1"


class _LostError(Exception):
    """The job is no longer ours: its document was deleted, or queued anew."""


class Ingest:
    """The queue of files, and the work on it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._owner = uuid.uuid4().hex
        self._more = asyncio.Event()
        self._watchers: defaultdict[str, list[asyncio.Queue[FileStatus]]] = defaultdict(list)

    async def submit(self, request: IngestRequest) -> AsyncIterator[FileStatus]:
        """Queue the request's files; yield each one's outcome as it comes. The work goes on if nobody listens."""
        outcomes: asyncio.Queue[FileStatus] = asyncio.Queue()
        ids = await self._enqueue(await asyncio.to_thread(files.sources, request))
        for document in ids:
            self._watchers[document].append(outcomes)
        self._more.set()
        try:
            for _ in ids:
                yield await outcomes.get()
        finally:
            self._unwatch(ids, outcomes)

    async def delete(self, document: str) -> bool:
        """Delete a document: once this returns it answers no more, whatever work on it is under way."""
        gone = await asyncio.to_thread(self._remove, document)
        for watcher in self._watchers.pop(document, []):
            watcher.put_nowait(FileStatus("", document, "failed", "deleted: while it was taken in", 0))
        await asyncio.to_thread(sweep, self._runtime)
        return gone

    async def work(self) -> None:
        """Take in what is queued, for ever."""
        while True:
            self._more.clear()
            job = await asyncio.to_thread(self._claim)
            if job is None:
                await self._more.wait()
            else:
                self._tell(job, await self._outcome(job))

    async def _enqueue(self, sources: Sequence[Source]) -> list[str]:
        def enqueue() -> list[str]:
            with writing(self._runtime.engine).begin() as connection:
                return [documents.enqueue(connection, source, _now()) for source in sources]

        return await asyncio.to_thread(enqueue)

    def _remove(self, document: str) -> bool:
        with writing(self._runtime.engine).begin() as connection:
            return documents.remove(connection, document)

    def _claim(self) -> Job | None:
        with writing(self._runtime.engine).begin() as connection:
            return documents.claim(connection, self._lease())

    async def _outcome(self, job: Job) -> FileStatus | None:
        """What became of the job; None if it was lost. The worker outlives whatever a file does to it."""
        try:
            return await self._take_in(job)
        except _LostError:
            return None
        except ParseError as error:
            return await asyncio.to_thread(self._failed, job, error)
        except Exception as error:
            # The border of the task: one file must not end the work. A message may quote it; kind and place do not.
            log.error("ingest_failed", document=job.document, **describe(error))
            return await asyncio.to_thread(self._failed, job, ParseError("internal", "see logs/retrieval.log"))

    async def _take_in(self, job: Job) -> FileStatus:
        if job.attempts > MOST_ATTEMPTS:
            raise ParseError("interrupted", f"the house stopped {MOST_ATTEMPTS} times while it was read")
        path = Path(job.source.path)
        if path.suffix.lower() not in SUFFIXES:
            raise ParseError("unsupported", f"files that end in {path.suffix!r} are not read yet")
        read = await asyncio.to_thread(content.read, path)
        labelling = self._runtime.labelling.current
        digest = _digest(read, job, labelling)
        if job.version and job.digest == digest:
            return await asyncio.to_thread(self._unchanged, job)
        parsed = await parent.parse(read, path.suffix.lower())
        version = await asyncio.to_thread(self._version, job, digest, parsed, labelling)
        await self._embed(job, version)
        return _status(job, "live", chunks=len(version.chunks))

    def _version(self, job: Job, digest: str, parsed: Parsed, labelling: Labelling) -> Version:
        title = parsed.title or Path(job.source.file).stem.replace("-", " ").replace("_", " ")
        pieces = chunk.split(replace(parsed, title=title), self._runtime.turns.count)
        start = labelling.document(job.source.collection, job.source.declared)
        made = uuid.uuid4()
        passages = [
            Chunk(
                id=str(uuid.uuid5(made, str(ordinal))),
                document=job.document,
                version=made.hex,
                text=piece.text,
                context=piece.context,
                anchor=piece.anchor,
                label=labelling.text(piece.indexed, start),
                language=detect(piece.indexed),
            )
            for ordinal, piece in enumerate(pieces)
        ]
        label = start
        for passage in passages:
            label |= passage.label
        return Version(made.hex, digest, label, passages)

    async def _embed(self, job: Job, version: Version) -> None:
        """Make the version's vectors, then let it answer; what was made for nothing is cleared away."""
        flipped = False
        try:
            for start in range(0, len(version.chunks), BATCH):
                await asyncio.to_thread(self._advance, job)
                batch = version.chunks[start : start + BATCH]
                await add(self._runtime, [Answering(one, job.source.file, job.source.collection) for one in batch])
            flipped = await asyncio.to_thread(self._flip, job, version)
        finally:
            if not flipped:
                await asyncio.shield(asyncio.to_thread(self._abandon, version))
            await asyncio.to_thread(sweep, self._runtime)
        if not flipped:
            raise _LostError

    def _advance(self, job: Job) -> None:
        with writing(self._runtime.engine).begin() as connection:
            if not documents.advance(connection, job, self._lease(), "embedding"):
                raise _LostError

    def _flip(self, job: Job, version: Version) -> bool:
        self._runtime.store.flush()
        with writing(self._runtime.engine).begin() as connection:
            return documents.flip(connection, job, self._lease(), version)

    def _abandon(self, version: Version) -> None:
        with writing(self._runtime.engine).begin() as connection:
            tombstones.add(connection, version.id)

    def _unchanged(self, job: Job) -> FileStatus:
        with writing(self._runtime.engine).begin() as connection:
            if not documents.unchanged(connection, job, self._lease()):
                raise _LostError
            info = documents.get(connection, job.document)
        return _status(job, "unchanged", chunks=info.chunks if info else 0)

    def _failed(self, job: Job, error: ParseError) -> FileStatus | None:
        fail = documents.postpone if error.reason in {"unreadable", "interrupted", "internal"} else documents.fail
        with writing(self._runtime.engine).begin() as connection:
            ours = fail(connection, job, self._lease(), str(error))
        sweep(self._runtime)
        return _status(job, "failed", reason=str(error)) if ours else None

    def _lease(self) -> Lease:
        now = _now()
        return Lease(self._owner, now, now + _LEASE_SECONDS * 1_000_000)

    def _tell(self, job: Job, status: FileStatus | None) -> None:
        if status is None:
            self._more.set()
            return
        for watcher in self._watchers.pop(job.document, []):
            watcher.put_nowait(status)

    def _unwatch(self, ids: Sequence[str], outcomes: asyncio.Queue[FileStatus]) -> None:
        for document in ids:
            watchers = self._watchers.get(document, [])
            if outcomes in watchers:
                watchers.remove(outcomes)


async def add(runtime: Runtime, batch: Sequence[Answering]) -> None:
    """Embed chunks and give them to the store."""
    vectors = await runtime.turns.documents([one.chunk.indexed for one in batch])
    entries = [_entry(one, vector) for one, vector in zip(batch, vectors, strict=True)]
    await asyncio.to_thread(runtime.store.add, entries)


def sweep(runtime: Runtime) -> None:
    """Have the store drop the vectors of versions that ended. What cannot be dropped now stays listed."""
    with runtime.engine.connect() as connection:
        ended = tombstones.waiting(connection)
    for version in ended:
        runtime.store.drop(version)
        with writing(runtime.engine).begin() as connection:
            tombstones.cleared(connection, version)


def _entry(one: Answering, vector: Sequence[float]) -> Entry:
    chunk = one.chunk
    return Entry(chunk.id, chunk.version, one.collection, chunk.label, chunk.language, chunk.indexed, vector)


def _digest(content: bytes, job: Job, labelling: Labelling) -> str:
    start = labelling.document(job.source.collection, job.source.declared)
    digest = hashlib.sha256(f"{_METHOD}\0{job.source.file}\0{start}\0{labelling}\0".encode())
    digest.update(content)
    return digest.hexdigest()


def _status(
    job: Job, status: Literal["live", "unchanged", "failed"], *, reason: str | None = None, chunks: int = 0
) -> FileStatus:
    return FileStatus(job.source.file, job.document, status, reason, chunks)


def _now() -> int:
    return time.time_ns() // 1000
