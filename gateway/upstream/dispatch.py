"""Gets one answer out of a route: retries, falls back until the first data event, and settles every attempt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random

from gateway.errors import UpstreamCut, UpstreamError, UpstreamUnavailable
from gateway.upstream.refusals import error_in
from gateway.wire.sse import Event, Events
from policies.pack import QUOTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateway.catalog.deployments import Deployment
    from gateway.ledger.attempt import Attempt
    from gateway.upstream.clients import Client, Outgoing, Reply
    from gateway.upstream.guard import Guard

MAX_ANSWER_BYTES = 64 * 1024 * 1024
_TRIES_OF_ONE_DEPLOYMENT = 2
_BACK_OFF_SECONDS = (0.05, 0.25)


@dataclass(frozen=True, slots=True)
class Patience:
    """What one request may cost in attempts and time: no attempt begins once either is used up."""

    attempts: int = 6
    seconds: float = 900.0


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The ways out of this house."""

    guard: Guard
    http: Client
    quotes: Client
    patience: Patience = Patience()

    def client(self, deployment: Deployment) -> Client:
        return self.quotes if deployment.engine == QUOTES else self.http


@dataclass(frozen=True, slots=True)
class Call:
    """One request to dispatch: where it may go, what goes there, and how an attempt is written down."""

    route: Sequence[Deployment]
    outgoing: Callable[[Deployment], Outgoing]
    """What a deployment is sent: its own model name, its own parameters."""
    attempt: Callable[[Deployment, int], AbstractAsyncContextManager[Attempt]]
    """Opens the ledger's record of an attempt by its ordinal, from 1."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A deployment's answer that has begun: a whole JSON object, or a stream whose first data event is there."""

    deployment: Deployment
    attempt: Attempt
    ordinal: int
    reply: Reply
    body: bytes | None = None
    """A JSON answer as it came."""
    payload: dict[str, Any] | None = None
    """The same, read."""
    events: AsyncGenerator[list[Event], None] | None = None
    """A stream's events, one list for each read of the network. It ends where the upstream ended, cut or not."""


@asynccontextmanager
async def answer(upstreams: Upstreams, call: Call) -> AsyncIterator[Answer]:
    """Open the first answer of the route; leaving the context hangs up and then settles its attempt.

    Attempts that failed are settled by then. What is raised inside the context reaches the open attempt.
    """
    async with AsyncExitStack() as opened:
        yield await _Tries(upstreams, call, opened).first_answer()


class _Tries:
    """The attempts of one request."""

    def __init__(self, upstreams: Upstreams, call: Call, opened: AsyncExitStack) -> None:
        self._upstreams = upstreams
        self._call = call
        self._opened = opened
        self._ordinal = 0
        self._clock = asyncio.get_running_loop().time
        self._deadline = self._clock() + upstreams.patience.seconds

    async def first_answer(self) -> Answer:
        failure: UpstreamError = UpstreamUnavailable("no deployment was tried")
        for deployment in self._call.route:
            try:
                return await self._retried(deployment)
            except UpstreamError as error:
                if not error.may_fall_back or self._over():
                    raise
                failure = error
        raise failure

    async def _retried(self, deployment: Deployment) -> Answer:
        retrying = AsyncRetrying(
            stop=stop_after_attempt(_TRIES_OF_ONE_DEPLOYMENT),
            wait=wait_random(*_BACK_OFF_SECONDS),
            retry=retry_if_exception(self._may_retry),
            reraise=True,
        )
        return await retrying(self._once, deployment)

    async def _once(self, deployment: Deployment) -> Answer:
        outgoing = self._call.outgoing(deployment)
        self._upstreams.guard.check(deployment, outgoing.label)
        self._ordinal += 1
        async with AsyncExitStack() as stack:
            attempt = await stack.enter_async_context(self._call.attempt(deployment, self._ordinal))
            reply = await stack.enter_async_context(self._upstreams.client(deployment).send(deployment, outgoing))
            begun = Answer(deployment, attempt, self._ordinal, reply)
            begun = await (_stream(begun, stack) if outgoing.stream else _whole(begun))
            attempt.first_byte()
            await self._opened.enter_async_context(stack.pop_all())
            return begun

    def _may_retry(self, error: BaseException) -> bool:
        """A deployment that says when to come back is not asked before; the next one is."""
        return isinstance(error, UpstreamError) and error.may_retry and error.retry_after is None and not self._over()

    def _over(self) -> bool:
        return self._ordinal >= self._upstreams.patience.attempts or self._clock() >= self._deadline


async def _whole(begun: Answer) -> Answer:
    """The whole JSON answer, checked: an error in it still falls back, for nothing was sent to the client."""
    name = begun.deployment.name
    body = await begun.reply.read(MAX_ANSWER_BYTES)
    payload = _object(body)
    if payload is None:
        raise UpstreamCut(f"deployment {name!r} answered with something that is no JSON object")
    if error := error_in(name, payload):
        raise error
    if not isinstance(payload.get("choices"), list):
        raise UpstreamCut(f"deployment {name!r} answered without 'choices'")
    return replace(begun, body=body, payload=payload)


async def _stream(begun: Answer, stack: AsyncExitStack) -> Answer:
    """The stream from its first data event on. Comments before it are dropped: they commit to nothing."""
    name = begun.deployment.name
    if not begun.reply.stream:
        raise UpstreamCut(f"deployment {name!r} answered without a stream although one was asked for")
    batches = await stack.enter_async_context(aclosing(_batches(begun.reply)))
    async for batch in batches:
        first = next((event for event in batch if event.data is not None), None)
        if first is not None:
            _check_first(name, first)
            return replace(begun, events=_joined(batch, batches))
    raise UpstreamCut(f"deployment {name!r} ended its answer before it began")


def _check_first(name: str, first: Event) -> None:
    payload = _object(first.data or b"")
    if payload is None:
        raise UpstreamCut(f"deployment {name!r} began its answer with something that is no JSON object")
    if error := error_in(name, payload):
        raise error


async def _batches(reply: Reply) -> AsyncGenerator[list[Event], None]:
    parser = Events()
    async with aclosing(reply.chunks()) as chunks:
        async for chunk in chunks:
            if events := parser.feed(chunk):
                yield events
    if last := parser.end():
        yield [last]


async def _joined(first: list[Event], others: AsyncGenerator[list[Event], None]) -> AsyncGenerator[list[Event], None]:
    yield first
    async for batch in others:
        yield batch


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
