"""Reaches the house's files: through a running `up`, or by opening them under the lock."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from gateway.supervisor import lock, parts, prepare
from gateway.supervisor.children import Child
from retrieval.client import RetrievalClient, RetrievalError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from gateway.settings import Settings

_PATIENCE_SECONDS = 15.0
_READY_SECONDS = 180.0
_POLL_SECONDS = 0.2


@contextmanager
def files(settings: Settings, listening: Path) -> Iterator[bool]:
    """Yield True if the files are ours to open, False if a running house answers on the socket `listening`.

    A house that is only just starting is waited for; one that never answers is an `InUseError`.
    """
    prepare.directories(settings)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with ExitStack() as held:
        ours = False
        while not ours and not _answers(listening):
            ours = _take(held, settings.lock, last_try=time.monotonic() > deadline)
        if ours:
            prepare.files(settings)
        yield ours


@asynccontextmanager
async def retrieval(settings: Settings, say: Callable[[str], None]) -> AsyncIterator[RetrievalClient]:
    """Yield a client of the running retrieval process, or of one that is started for the while."""
    with files(settings, settings.retrieval_socket) as ours:
        client = RetrievalClient(settings.retrieval_socket)
        try:
            if not ours:
                await _ready(client, settings)
                yield client
                return
            say("No house is running on this data: starting the search for this command (about ten seconds) ...")
            async with Child(parts.retrieval(settings), say):
                await _ready(client, settings)
                yield client
        finally:
            await client.close()


def _take(held: ExitStack, path: Path, *, last_try: bool) -> bool:
    try:
        held.enter_context(lock.hold(path))
    except lock.InUseError:
        if last_try:
            raise
        time.sleep(_POLL_SECONDS)
        return False
    return True


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


async def _ready(client: RetrievalClient, settings: Settings) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not await client.ready():
        if time.monotonic() > deadline:
            raise RetrievalError(f"the search does not get ready: {settings.logs / 'retrieval.log'} says why")
        await asyncio.sleep(_POLL_SECONDS)
