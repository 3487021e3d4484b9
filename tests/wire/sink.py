"""A recording sink: a server that stands for a host which must not be reached, and remembers whatever reaches it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.wire.serving import serving

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator


@dataclass
class Sink:
    """What arrived: the number of connections, and every byte of all of them."""

    port: int = 0
    connections: int = 0
    received: bytearray = field(default_factory=bytearray)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def handle(self, reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while data := await reader.read(65536):
            self.received += data


@asynccontextmanager
async def recording_sink() -> AsyncIterator[Sink]:
    """Listen on a free loopback port until the context is left."""
    sink = Sink()
    async with serving(sink.handle) as port:
        sink.port = port
        yield sink
