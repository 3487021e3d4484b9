"""Looks at budgets, prices and estimates now and then, and tells each thing once at each place, over all processes."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

import structlog
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from gateway.alerts import notices
from gateway.alerts.errors import AlertNotTakenError, AlertUnusableError
from gateway.alerts.places import Message, Place, places_of
from gateway.db import alerts
from gateway.economics.calendar import day_of, window
from gateway.errors import GatewayError
from gateway.ledger import budgets
from gateway.ledger.usage import Span, report

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence

    from sqlalchemy.ext.asyncio import AsyncEngine
    from tenacity.wait import wait_base

    from gateway.alerts.notices import Notice
    from policies.pack import Pack

_T = TypeVar("_T")

log = structlog.get_logger()

POLL_SECONDS = 30.0
_TRIES = 4
_WAIT = wait_random_exponential(multiplier=2, max=30)
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=1)


@dataclass(slots=True)
class Watch:
    """What one process knows of its alerts. Nothing is asked or sent where the pack in force has none."""

    engine: AsyncEngine
    pack: Callable[[], Pack]
    """The one in force."""
    environment: Mapping[str, str]
    now: Callable[[], datetime]
    wait: wait_base = _WAIT
    """Between the tries of one message."""
    pauses: dict[str, tuple[datetime, timedelta]] = field(default_factory=dict)
    """By place: until when it is left alone after it failed, and how long that was."""

    async def run(self, seconds: float = POLL_SECONDS) -> None:
        """Look again and again; what goes wrong is logged, and tried later."""
        while True:
            try:
                await self.look()
            except GatewayError as failure:
                log.warning("alerts_not_looked_at", failure=str(failure))
            except Exception as failure:  # the border of a task: a fault here must not end it for good
                log.error("alerts_failed", failure=failure)
            await asyncio.sleep(seconds)

    async def look(self) -> None:
        """Tell at each place what it has not been told yet."""
        pack = self.pack()
        places = [place for place in places_of(pack.budgets.alerts, self.environment) if self._is_tried(place)]
        if not places:
            return
        now = self.now()
        found = [await _whole(self._found(place, pack, now)) for place in places]
        await asyncio.gather(*map(self._tell, places, found))

    async def _found(self, place: Place, pack: Pack, now: datetime) -> list[Notice]:
        """What there is to tell at a place, told or not."""
        alert, zone = place.alert, pack.budgets.zone
        found: list[Notice] = []
        if "budgets" in alert.on:
            found += notices.of_budgets(await budgets.state(self.engine, pack, now), pack.budgets)
        if "prices" in alert.on:
            found += notices.of_prices(pack, day_of(now, zone), alert.stale_after)
        if "estimates" in alert.on:
            today = await report(self.engine, Span(*window(now, "day", zone), zone))
            found += notices.of_estimates(today.total, day_of(now, zone), alert.estimated_above)
        return found

    async def _tell(self, place: Place, found: Sequence[Notice]) -> None:
        """Send what nobody has claimed before; what cannot be sent is given back, to be told later."""
        claimed: list[Notice] = []
        delivered = False
        try:
            for notice in found:
                await _whole(self._claim(place, notice, claimed))
            delivered = not claimed or await self._deliver(place, _message(place, claimed))
        finally:
            if not delivered:
                await _whole(self._give_back(place, claimed))

    async def _deliver(self, place: Place, message: Message) -> bool:
        """Send a message, several times if need be; False if the place is to be left alone for a while."""
        try:
            await delivered(place, message, self.now, self.wait)
        except (AlertNotTakenError, AlertUnusableError) as failure:
            pause = self._pause(place)
            log.warning(
                "alert_not_sent", place=place.name, failure=str(failure), again_in_seconds=int(pause.total_seconds())
            )
            return False
        self.pauses.pop(place.id, None)
        log.info("alert_sent", place=place.name, notices=[notice.id for notice in message.notices])
        return True

    async def _claim(self, place: Place, notice: Notice, claimed: list[Notice]) -> None:
        """Take it upon this process to tell, unless another has, and with it whatever it makes needless."""
        if not await alerts.claim(self.engine, _sent_id(place, notice.id), self.now()):
            return
        claimed.append(notice)
        for lesser in notice.covers:
            await alerts.claim(self.engine, _sent_id(place, lesser), self.now())

    async def _give_back(self, place: Place, claimed: Sequence[Notice]) -> None:
        for notice in claimed:
            await alerts.release(self.engine, _sent_id(place, notice.id))

    def _is_tried(self, place: Place) -> bool:
        until, _ = self.pauses.get(place.id, (self.now(), _FIRST_PAUSE))
        return until <= self.now()

    def _pause(self, place: Place) -> timedelta:
        """Leave the place alone, twice as long each time."""
        _, before = self.pauses.get(place.id, (self.now(), _FIRST_PAUSE / 2))
        pause = min(before * 2, _LONGEST_PAUSE)
        self.pauses[place.id] = (self.now() + pause, pause)
        return pause


@asynccontextmanager
async def watching(watch: Watch, seconds: float = POLL_SECONDS) -> AsyncGenerator[None, None]:
    """Keep watch for as long as the context is open; a message under way is given back before it closes."""
    task = asyncio.ensure_future(watch.run(seconds))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def delivered(place: Place, message: Message, now: Callable[[], datetime], wait: wait_base = _WAIT) -> None:
    """Send a message, again after a while where that may help; the last error if it does not."""
    tries = AsyncRetrying(
        retry=retry_if_exception(lambda error: isinstance(error, AlertNotTakenError) and error.may_pass),
        stop=stop_after_attempt(_TRIES),
        wait=wait,
        reraise=True,
    )
    async for attempt in tries:
        with attempt:
            await place.send(message, now())


async def _whole(work: Coroutine[None, None, _T]) -> _T:
    """Let short work come to its end, also where the task is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise


def _message(place: Place, found: Sequence[Notice]) -> Message:
    names = "\n".join((place.id, *(notice.id for notice in found)))
    return Message(f"alert_{hashlib.sha256(names.encode()).hexdigest()[:24]}", tuple(found))


def _sent_id(place: Place, notice_id: str) -> str:
    return f"{place.id}/{notice_id}"
