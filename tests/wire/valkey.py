"""A real Valkey for tests, on a Unix socket."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from gateway.supervisor.parts import valkey_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@asynccontextmanager
async def valkey(socket: Path) -> AsyncIterator[Redis]:
    """Run a server until the context is left, and yield a client of it."""
    options = ("--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(socket.parent))
    server = await asyncio.create_subprocess_exec(str(valkey_server()), *options, stdout=asyncio.subprocess.DEVNULL)
    store = Redis.from_url(f"unix://{socket}")
    try:
        await _until_it_answers(store)
        yield store
    finally:
        await store.aclose()
        server.kill()
        await server.wait()


async def _until_it_answers(store: Redis) -> None:
    for _ in range(200):
        try:
            await store.ping()
            return
        except (RedisError, OSError):
            await asyncio.sleep(0.05)
    pytest.fail("valkey did not start")
