"""Keeps children running until this process is asked to end."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from gateway.supervisor.children import Child

_STOPPED_BY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def keep(children: Sequence[Child], welcome: Coroutine[None, None, None], say: Callable[[str], None]) -> None:
    """Keep the children until a signal, then stop them in the opposite order; raise what one was refused for."""
    stop = asyncio.Event()

    def asked() -> None:
        if stop.is_set():
            for child in children:
                child.kill()
        stop.set()

    with _signals(asked):
        async with AsyncExitStack() as house:
            for child in children:
                await house.enter_async_context(child)
            house.push_async_callback(_cancel, asyncio.create_task(welcome))
            asked_to_stop = asyncio.create_task(stop.wait())
            house.push_async_callback(_cancel, asked_to_stop)
            ended, _ = await asyncio.wait(
                [asked_to_stop, *(child.kept for child in children)], return_when=asyncio.FIRST_COMPLETED
            )
            for task in ended:
                task.result()
            say("Stopping (Ctrl-C again to end at once) ...")
    say("Stopped.")


async def _cancel(task: asyncio.Task[object]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@contextmanager
def _signals(asked: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in _STOPPED_BY:
        loop.add_signal_handler(number, asked)
    try:
        yield
    finally:
        for number in _STOPPED_BY:
            loop.remove_signal_handler(number)
