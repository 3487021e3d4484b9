"""Lets no more requests into a deployment than it has slots, and the others wait their turn."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from gateway.errors import UpstreamBusy

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from gateway.catalog.deployments import Deployment

_LONGEST_HINT = 60.0
_SHORTEST_HINT = 1.0


class Queues:
    """One queue for each deployment, by its name: first come, first served."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    def load(self, name: str) -> tuple[int, int]:
        """How many requests are with the deployment, and how many wait for it here."""
        line = self._lines.get(name)
        return (0, 0) if line is None else (line.running, len(line.waiting))

    def let_in(self, name: str) -> int:
        """How many requests it has let in, since this house began."""
        line = self._lines.get(name)
        return 0 if line is None else line.let_in

    def was_busy(self, name: str) -> bool:
        """True if it has requests, or had some since this was last asked."""
        line = self._lines.get(name)
        if line is None:
            return False
        stirred, line.stirred = line.stirred, False
        return stirred or any(self.load(name))

    @asynccontextmanager
    async def enter(self, deployment: Deployment, slots: int | None) -> AsyncGenerator[None, None]:
        """Hold one of so many slots (None: there is no limit); UpstreamBusy if none falls free in time."""
        clock = asyncio.get_running_loop().time
        line = self._lines.setdefault(deployment.name, _Line())
        await line.enter(deployment, slots)
        began = clock()
        try:
            yield
        finally:
            line.leave(clock() - began)


class _Line:
    """The queue of one deployment."""

    def __init__(self) -> None:
        self.running = 0
        self.let_in = 0
        self.stirred = False
        """True if a request came since somebody asked."""
        self.waiting: deque[asyncio.Future[None]] = deque()
        self._slots: int | None = None
        self._last_seconds = 0.0

    async def enter(self, deployment: Deployment, slots: int | None) -> None:
        self.stirred = True
        self._slots = slots  # a probe may have read another number since
        self._admit()
        if self._is_free():
            self._let_in()
            return
        if len(self.waiting) >= deployment.queue.waiting:
            raise self._busy(deployment, "and its queue is full")
        await self._wait(deployment)

    def leave(self, seconds: float) -> None:
        self._last_seconds = seconds
        self.running -= 1
        self._admit()

    async def _wait(self, deployment: Deployment) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        try:
            async with asyncio.timeout(deployment.queue.seconds):
                await turn
        except TimeoutError:
            self._give_up(turn)
            raise self._busy(deployment, "and none fell free in time") from None
        except asyncio.CancelledError:
            self._give_up(turn)
            raise

    def _give_up(self, turn: asyncio.Future[None]) -> None:
        """Leave the queue without a hole; a slot that was given at this very moment goes to the next."""
        if turn in self.waiting:
            self.waiting.remove(turn)
        elif turn.done() and not turn.cancelled():
            self.running -= 1
            self._admit()

    def _admit(self) -> None:
        while self.waiting and self._has_slot():
            turn = self.waiting.popleft()
            if not turn.done():
                self._let_in()
                turn.set_result(None)

    def _let_in(self) -> None:
        self.running += 1
        self.let_in += 1

    def _is_free(self) -> bool:
        return not self.waiting and self._has_slot()

    def _has_slot(self) -> bool:
        return self._slots is None or self.running < self._slots

    def _busy(self, deployment: Deployment, why: str) -> UpstreamBusy:
        """Tells to come back about when the next slot falls free, if requests take as long as the last one did."""
        hint = min(max(self._last_seconds / max(self._slots or 1, 1), _SHORTEST_HINT), _LONGEST_HINT)
        return UpstreamBusy(
            f"all slots of deployment {deployment.name!r} are taken, {why}: try again, or ask another model",
            retry_after=str(math.ceil(hint)),
        )
