"""Lets deployments that fail rest for a while, in all processes, and lets one request try whether they are back."""

from __future__ import annotations

import asyncio
import math
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import msgspec
import structlog
from redis.exceptions import RedisError
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from gateway.errors import (
    UpstreamBusy,
    UpstreamContextExceeded,
    UpstreamError,
    UpstreamRateLimited,
    UpstreamRefused,
    UpstreamUnavailable,
    UpstreamUnfit,
)
from gateway.upstream.retry_after import seconds as seconds_until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from redis.asyncio import Redis

State = Literal["closed", "open", "half_open"]
"""`closed`: it answers; `open`: it rests; `half_open`: it has rested, and one request at a time may try it."""

log = structlog.get_logger()

_FAILURES_IN_A_ROW = 3
_FIRST_REST = 5.0
_LONGEST_REST = 300.0
_LONGEST_ASKED = 3600.0
_TRIAL_SECONDS = 60
"""After that another request may try, though the first one has heard nothing yet."""
_STORE_SECONDS = 0.25
"""A store that is slow must not be worse than none."""
_CHANNEL = "soleira:cooldown"
_REST_KEY = "soleira:cooldown:rest:"
_TRIAL_KEY = "soleira:cooldown:trial:"


def _now() -> datetime:
    return datetime.now(UTC)


class Rest(msgspec.Struct, frozen=True):
    """A deployment's rest: until when (seconds since 1970), how long it is, and why."""

    name: str
    until: float
    seconds: float
    asked: bool = False
    """The deployment named the time itself. It is taken at its word: afterwards it counts as answering."""
    limited: bool = False
    """It is its rate limit that it has run into."""


@dataclass(slots=True)
class _Heard:
    """What this process knows of one deployment."""

    failures: int = 0
    """In a row."""
    rest: Rest | None = None


class Cooldown:
    """Rests are kept in memory, where requests look, and told to the other processes through the store.

    Without a store, and while it is away, each process has its own.
    """

    def __init__(self, store: Redis | None = None, now: Callable[[], datetime] = _now) -> None:
        self._store = store
        self._now = now
        self._heard: dict[str, _Heard] = {}
        self._trials: set[str] = set()

    def state(self, name: str) -> State:
        rest = self._rest(name)
        if rest is None:
            return "closed"
        return "open" if self.remaining(name) > 0 else "half_open"

    def remaining(self, name: str) -> float:
        """The seconds that it still rests."""
        rest = self._rest(name)
        return 0.0 if rest is None else max(rest.until - self._now().timestamp(), 0.0)

    def named_time(self, name: str) -> bool:
        """True if it rests because it said when to come back."""
        rest = self._rest(name)
        return rest is not None and rest.asked

    async def admits(self, name: str) -> bool:
        """True if a request may go there; where that makes it the trial, `trying` gives the trial back."""
        state = self.state(name)
        return state == "closed" or (state == "half_open" and await self.takes_trial(name))

    async def takes_trial(self, name: str) -> bool:
        """True for one request at a time, over all processes."""
        if name in self._trials:
            return False
        self._trials.add(name)
        if await self._is_first(name):
            return True
        self._trials.discard(name)
        return False

    def refusal(self, name: str) -> UpstreamError:
        """What to answer in place of a deployment that named a time which has not come."""
        rest, wait = self._rest(name), str(math.ceil(self.remaining(name)))
        if rest is not None and rest.limited:
            return UpstreamRateLimited(f"deployment {name!r} is at its rate limit", retry_after=wait)
        return UpstreamUnavailable(f"deployment {name!r} asked not to be asked now", retry_after=wait)

    @asynccontextmanager
    async def trying(self, name: str) -> AsyncGenerator[None, None]:
        """Take note of how an attempt ends; a client that leaves says nothing of the deployment."""
        try:
            yield
            await self.succeeded(name)
        except UpstreamError as error:
            await self.failed(name, error)
            raise
        finally:
            await self._end_trial(name)

    async def succeeded(self, name: str) -> None:
        """It answers: its failures are forgotten and its rest is over."""
        heard = self._heard.pop(name, None)
        if heard is not None and heard.rest is not None:
            log.info("deployment_answers_again", deployment=name)
            await self._tell(Rest(name, until=0.0, seconds=0.0))

    async def failed(self, name: str, error: UpstreamError) -> None:
        """Count a failure that says something of the deployment, and let it rest where that is due."""
        if not _counts(error):
            return
        state = self.state(name)
        heard = self._heard.setdefault(name, _Heard())
        heard.failures += 1
        if (rest := self._due(name, error, heard, state)) is None:
            return
        heard.rest = rest
        log.warning("deployment_rests", deployment=name, seconds=round(rest.seconds, 1), code=error.code)
        await self._tell(rest)

    async def listen(self) -> None:
        """Hear of the rests of other processes until cancelled; a lost connection is made again."""
        retrying = AsyncRetrying(
            wait=wait_random_exponential(multiplier=0.2, max=5),
            retry=retry_if_exception_type((RedisError, OSError)),
            before_sleep=_say_away,
        )
        async for attempt in retrying:
            with attempt:
                await self._read()

    def _rest(self, name: str) -> Rest | None:
        heard = self._heard.get(name)
        if heard is None or heard.rest is None:
            return None
        if heard.rest.asked and heard.rest.until <= self._now().timestamp():
            heard.rest = None
        return heard.rest

    def _due(self, name: str, error: UpstreamError, heard: _Heard, state: State) -> Rest | None:
        now = self._now()
        asked = seconds_until(error.retry_after, now)
        if asked:
            asked = min(asked, _LONGEST_ASKED)
            limited = isinstance(error, UpstreamRateLimited)
            return Rest(name, now.timestamp() + asked, asked, asked=True, limited=limited)
        if state == "half_open" and heard.rest is not None:
            longer = min(heard.rest.seconds * 2, _LONGEST_REST)
            return Rest(name, now.timestamp() + longer, longer)
        if state == "closed" and heard.failures >= _FAILURES_IN_A_ROW:
            return Rest(name, now.timestamp() + _FIRST_REST, _FIRST_REST)
        return None

    async def _is_first(self, name: str) -> bool:
        if self._store is None:
            return True
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                return bool(await self._store.set(_TRIAL_KEY + name, b"1", nx=True, ex=_TRIAL_SECONDS))
        except (RedisError, OSError):  # TimeoutError is one
            return True

    async def _end_trial(self, name: str) -> None:
        if name not in self._trials:
            return
        self._trials.discard(name)
        if self._store is not None:
            await self._quietly(self._store.delete(_TRIAL_KEY + name))

    async def _tell(self, rest: Rest) -> None:
        if self._store is None:
            return
        said = msgspec.json.encode(rest)
        # It outlives the rest, so that a process which starts later knows that a trial is due.
        kept = math.ceil(max(rest.until - self._now().timestamp(), 0.0) + rest.seconds) if rest.until else 0
        pipe = self._store.pipeline(transaction=True)
        if kept:
            pipe.set(_REST_KEY + rest.name, said, ex=kept)
        else:
            pipe.delete(_REST_KEY + rest.name)
        pipe.publish(_CHANNEL, said)
        await self._quietly(pipe.execute())

    async def _quietly(self, work: Awaitable[object]) -> None:
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                await work
        except (RedisError, OSError) as failure:
            log.warning("cooldown_not_shared", failure=failure)

    async def _read(self) -> None:
        if self._store is None:
            return
        async with self._store.pubsub() as channel:
            await channel.subscribe(_CHANNEL)
            async for key in self._store.scan_iter(match=_REST_KEY + "*"):  # what was said while nobody listened
                self._hear(await self._store.get(key))
            async for message in channel.listen():
                if message["type"] == "message":
                    self._hear(message["data"])
        raise RedisError("the cooldown channel was closed")

    def _hear(self, said: bytes | str | None) -> None:
        if said is None:
            return
        with suppress(msgspec.DecodeError):
            rest = msgspec.json.decode(said, type=Rest)
            if not rest.until:
                self._heard.pop(rest.name, None)
                return
            longest = self._now().timestamp() + _LONGEST_ASKED  # clocks of other machines may be wrong
            heard = self._heard.setdefault(rest.name, _Heard())
            heard.rest = msgspec.structs.replace(rest, until=min(rest.until, longest))


def _counts(error: UpstreamError) -> bool:
    """False for what is the request's own fault, or this house's."""
    if isinstance(error, (UpstreamBusy, UpstreamContextExceeded, UpstreamUnfit)):
        return False
    return error.may_fall_back or not isinstance(error, UpstreamRefused)


def _say_away(state: RetryCallState) -> None:
    if state.attempt_number == 1 and state.outcome is not None:
        log.warning("cooldown_channel_away", failure=state.outcome.exception())
