"""Keeps a silent stream alive with comments, which SSE clients skip: proxies and clients close what says nothing."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

KEEP_ALIVE = b": keep-alive\n\n"


class Pulse:
    """Knows when something was last said."""

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().time
        self._said = self._clock()

    def said(self) -> None:
        """Note that something is being said now."""
        self._said = self._clock()

    async def keep(self, beat: Callable[[], Awaitable[None]], seconds: float) -> None:
        """Call `beat` whenever nothing was said for so many seconds, until cancelled."""
        while True:
            await asyncio.sleep(max(self._said + seconds - self._clock(), 0))
            if self._clock() >= self._said + seconds:
                self.said()
                await beat()


@asynccontextmanager
async def pulse(beat: Callable[[], Awaitable[None]], seconds: float) -> AsyncGenerator[Pulse, None]:
    """Keep the pulse for as long as the context is open; a beat under way ends before the context does."""
    kept = Pulse()
    beating = asyncio.create_task(kept.keep(beat, seconds))
    try:
        yield kept
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
