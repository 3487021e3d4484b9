"""The life of the retrieval process: it opens, works, closes; what is open in between."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING

import structlog

from retrieval import reconcile
from retrieval.ingest import WORKERS, Ingest
from retrieval.opening import opened

if TYPE_CHECKING:
    from pathlib import Path

    from retrieval.runtime import Runtime

log = structlog.get_logger()


class NotReadyError(Exception):
    """Asked before everything is open."""


class Lifespan:
    """Being opened, then open; once it has failed it says why."""

    def __init__(self, data: Path, pack: Path) -> None:
        self._data, self._pack = data, pack
        self._runtime: Runtime | None = None
        self._ingest: Ingest | None = None
        self.failure: BaseException | None = None
        self.stop = asyncio.Event()

    @property
    def opening(self) -> bool:
        return self._runtime is None and self.failure is None

    @property
    def runtime(self) -> Runtime:
        if self._runtime is None:
            raise NotReadyError
        return self._runtime

    @property
    def ingest(self) -> Ingest:
        if self._ingest is None:
            raise NotReadyError
        return self._ingest

    async def run(self) -> None:
        """Open, work until cancelled, close; a failure is kept and ends the process."""
        with ExitStack() as stack:
            try:
                runtime = await asyncio.to_thread(stack.enter_context, opened(self._data, self._pack))
                self._runtime, self._ingest = runtime, Ingest(runtime)
                log.info("retrieval_ready")
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(reconcile.restore(runtime))
                    for _ in range(WORKERS):
                        tasks.create_task(self._ingest.work())
            except Exception as error:
                self.failure = error
                self.stop.set()
