"""Event loops of their own, for what serves while a test runs a command, which has one too."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractAsyncContextManager

_T = TypeVar("_T")


@contextmanager
def elsewhere(opened: Callable[[], AbstractAsyncContextManager[_T]]) -> Iterator[_T]:
    """What is opened in a loop of another thread, and closed there."""
    ready, done, found = threading.Event(), asyncio.Event(), list[_T]()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with opened() as served:
            found.append(served)
            ready.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()
