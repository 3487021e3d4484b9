"""The search as commands use it: the running house's, or one that is started for the while."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from gateway.cli import reach
from gateway.errors import GatewayError
from gateway.supervisor import parts
from gateway.supervisor.children import Child
from retrieval.client import RetrievalClient, RetrievalError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from gateway.settings import Settings

_READY_SECONDS = 180.0
_POLL_SECONDS = 0.2


class RefusedBySearchError(GatewayError):
    """The search's own refusal, in its own words."""


@asynccontextmanager
async def opened(settings: Settings, say: Callable[[str], None]) -> AsyncIterator[RetrievalClient]:
    """Yield a client of the search once it is ready; what the search refuses is a `RefusedBySearchError`."""
    try:
        with reach.files(settings, settings.retrieval_socket) as ours:
            async with _client(settings) as client:
                if not ours:
                    await _ready(client, settings)
                    yield client
                    return
                say("No house is running on this data: starting the search for this command (about ten seconds) ...")
                async with Child(parts.retrieval(settings), say):
                    await _ready(client, settings)
                    yield client
    except RetrievalError as error:
        raise RefusedBySearchError(str(error)) from error


@asynccontextmanager
async def _client(settings: Settings) -> AsyncIterator[RetrievalClient]:
    client = RetrievalClient(settings.retrieval_socket)
    try:
        yield client
    finally:
        await client.close()


async def _ready(client: RetrievalClient, settings: Settings) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not await client.ready():
        if time.monotonic() > deadline:
            raise RefusedBySearchError(f"the search does not get ready: {settings.logs / 'retrieval.log'} says why")
        await asyncio.sleep(_POLL_SECONDS)
