"""Makes the vector store agree with the registry, which is right, when the process starts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from retrieval.ingest import BATCH, add, sweep
from retrieval.registry import chunks, documents, tombstones
from retrieval.registry.engine import writing

if TYPE_CHECKING:
    from retrieval.runtime import Runtime

log = structlog.get_logger()


def clear(runtime: Runtime) -> None:
    """Queue again what was interrupted, and drop the vectors of every version that does not answer."""
    kept = runtime.store.versions()
    with writing(runtime.engine).begin() as connection:
        documents.release(connection)
        for version in kept.keys() - documents.versions(connection).keys():
            tombstones.add(connection, version)
    sweep(runtime)


async def restore(runtime: Runtime) -> None:
    """Make the vectors again that are missing: the store was lost, or the embedding model is another one."""
    for version in await asyncio.to_thread(_incomplete, runtime):
        passages = await asyncio.to_thread(_passages, runtime, version)
        for start in range(0, len(passages), BATCH):
            await add(runtime, passages[start : start + BATCH])
        await asyncio.to_thread(_settle, runtime, version)
        log.info("vectors_restored", version=version, chunks=len(passages))


def _incomplete(runtime: Runtime) -> list[str]:
    kept = runtime.store.versions()
    with runtime.engine.connect() as connection:
        return [version for version, count in documents.versions(connection).items() if kept.get(version) != count]


def _passages(runtime: Runtime, version: str) -> list[chunks.Answering]:
    with runtime.engine.connect() as connection:
        return chunks.of(connection, version)


def _settle(runtime: Runtime, version: str) -> None:
    """Keep the vectors, unless the version ended while they were made."""
    runtime.store.flush()
    with writing(runtime.engine).begin() as connection:
        if version not in documents.versions(connection):
            tombstones.add(connection, version)
    sweep(runtime)
