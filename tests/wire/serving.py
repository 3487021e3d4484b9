"""Serves raw connections on loopback for tests, and ends their handlers with the server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handle: Handler, socket: Path | None = None) -> AsyncIterator[int]:
    """Listen on a free loopback port and yield it, or on a Unix socket; leaving ends the handlers that still run."""
    tasks: set[asyncio.Task[None]] = set()

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client hung up
        finally:
            writer.close()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(run(reader, writer)))

    server = await _listen(connected, socket)
    try:
        yield 0 if socket else server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def _listen(
    connected: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None], socket: Path | None
) -> asyncio.Server:
    if socket is not None:
        return await asyncio.start_unix_server(connected, socket)
    return await asyncio.start_server(connected, "127.0.0.1", 0)
