"""Gets one answer out of a route: retries, falls back until the answer begins, and settles every attempt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random

from gateway.catalog.deployments import TRANSLATED
from gateway.errors import (
    BudgetExceeded,
    UpstreamBusy,
    UpstreamError,
    UpstreamQuotaExceeded,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
    UpstreamUnfit,
    UpstreamUnreachable,
)
from gateway.upstream import counting, retry_after
from gateway.upstream.clients.litellm import needs_litellm
from gateway.upstream.cooldown import Cooldown
from gateway.upstream.opening import Opening
from gateway.upstream.queue import Queues
from policies.pack import QUOTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateway.catalog.deployments import Deployment
    from gateway.ledger.attempt import Attempt
    from gateway.upstream.clients import Client, Outgoing, Reply
    from gateway.upstream.guard import Guard
    from gateway.wire.shapes import Shape
    from gateway.wire.sse import Event

_TRIES_OF_ONE_DEPLOYMENT = 2
_BACK_OFF_SECONDS = (0.05, 0.25)


@dataclass(frozen=True, slots=True)
class Patience:
    """What one request may cost in attempts and time: no attempt begins once either is used up."""

    attempts: int = 6
    seconds: float = 900.0
    pause: float = 5.0
    """The seconds that may be waited, once, for a deployment which says when to come back, where no other is left."""


class Waking(Protocol):
    """Wakes deployments that sleep; one that is being woken is not woken twice."""

    async def wake(self, deployment: Deployment) -> None:
        """Return when it answers; UpstreamUnavailable if it does not within its time."""
        ...

    def start(self, deployment: Deployment) -> None:
        """Begin to wake it, and wait for nothing."""
        ...


def declared_slots(deployment: Deployment) -> int | None:
    """The slots that its pack states."""
    return deployment.queue.slots


def declared_context(deployment: Deployment) -> int | None:
    """The tokens it takes, as its pack states."""
    return deployment.context


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The ways out of this house, and what is known of the state of those at their end."""

    guard: Guard
    http: Client
    quotes: Client
    patience: Patience = Patience()
    others: Mapping[str, Client] = field(default_factory=dict)
    """Clients of engines that do not speak HTTP as OpenAI does, by engine."""
    cooldown: Cooldown = field(default_factory=Cooldown)
    queues: Queues = field(default_factory=Queues)
    waking: Waking | None = None
    slots: Callable[[Deployment], int | None] = declared_slots
    context: Callable[[Deployment], int | None] = declared_context

    def client(self, deployment: Deployment, shape: Shape) -> Client:
        if deployment.engine == QUOTES:
            return self.quotes
        if deployment.engine in TRANSLATED and not needs_litellm(deployment, shape):
            return self.http
        return self.others.get(deployment.engine, self.http)


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
    """A deployment's answer that has begun: a whole JSON object, or a stream that has said something."""

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
        self._cooldown = upstreams.cooldown
        self._patience = upstreams.patience
        self._call = call
        self._opened = opened
        self._ordinal = 0
        self._clock = asyncio.get_running_loop().time
        self._deadline = self._clock() + upstreams.patience.seconds
        self._route = list(call.route)
        self._failure: UpstreamError | None = None
        self._too_dear: BudgetExceeded | None = None
        self._asleep: list[Deployment] = []
        self._returns: list[_Return] = []
        self._was_unfit = False
        self._measured: set[str] = set()
        """Deployments that were asked whether the prompt fits."""

    async def first_answer(self) -> Answer:
        """Go along the route; where all of it failed, wait for the one that is back first, if that is soon."""
        try:
            return await self._round()
        except UpstreamError as error:
            if not self._may_pause(error):
                raise
        await asyncio.sleep(self._pause())
        return await self._round()

    async def _round(self) -> Answer:
        """Ask each deployment once; those that rest come last, the one whose rest is over soonest before the others."""
        resting: list[Deployment] = []
        for deployment in self._route:
            if not await self._cooldown.admits(deployment.name):
                resting.append(deployment)
            elif (begun := await self._tried(deployment)) is not None:
                return begun
        for deployment in sorted(resting, key=lambda at: self._cooldown.remaining(at.name)):
            if await self._may_disturb(deployment) and (begun := await self._tried(deployment)) is not None:
                return begun
        if self._asleep:
            return await self._woken(self._asleep.pop(0))
        raise self._failure or self._too_dear or UpstreamUnavailable("no deployment was tried")

    async def _tried(self, deployment: Deployment) -> Answer | None:
        """The answer, or None where the next deployment may be asked."""
        try:
            return await self._retried(deployment)
        except BudgetExceeded as error:  # nothing was sent; the next may cost less, or nothing
            self._too_dear = error
            self._ordinal -= 1
            return None
        except UpstreamError as error:
            if not error.may_fall_back or self._over():
                raise
            self._note(deployment, error)
            return None

    async def _may_disturb(self, deployment: Deployment) -> bool:
        """Whether a deployment that rests is asked all the same, since no other is left.

        One that named its time is waited for if that is soon. Else one request at a time may ask it, for it may take
        what is small or urgent; the others are told the time.
        """
        if not self._cooldown.named_time(deployment.name):
            return True
        refusal = self._cooldown.refusal(deployment.name)
        self._note(deployment, refusal)
        if self._cooldown.remaining(deployment.name) <= self._patience.pause:
            return False
        return await self._cooldown.takes_trial(deployment.name)

    def _note(self, deployment: Deployment, error: UpstreamError) -> None:
        """Remember how it failed, and what could be done about it once no other is left."""
        if self._failure is None or not _passes(self._failure) or _passes(error):
            self._failure = error
        if _was_not_reached(error) and deployment.wake is not None and self._upstreams.waking is not None:
            self._upstreams.waking.start(deployment)
            self._asleep.append(deployment)
        seconds = retry_after.seconds(error.retry_after, datetime.now(UTC))
        if seconds is not None and not isinstance(error, (UpstreamBusy, UpstreamQuotaExceeded)):
            self._returns.append(_Return(self._clock() + seconds, deployment))

    async def _woken(self, deployment: Deployment) -> Answer:
        """Wait for a deployment that was asleep, for it is the last hope, and ask it again."""
        if self._upstreams.waking is not None:
            try:
                async with asyncio.timeout_at(self._deadline):
                    await self._upstreams.waking.wake(deployment)
            except TimeoutError:
                raise UpstreamTimeout(f"deployment {deployment.name!r} was not awake in time") from None
        return await self._retried(deployment)

    def _may_pause(self, error: UpstreamError) -> bool:
        if not error.may_fall_back or self._over() or not self._returns:
            return False
        back_at = self._first_return().at
        return back_at <= self._clock() + self._patience.pause and back_at < self._deadline

    def _pause(self) -> float:
        """The seconds until the first is back, which then is the whole route."""
        first = self._first_return()
        self._route, self._returns = [first.deployment], []
        return max(first.at - self._clock(), _BACK_OFF_SECONDS[0])

    def _first_return(self) -> _Return:
        return min(self._returns, key=lambda back: back.at)

    async def _retried(self, deployment: Deployment) -> Answer:
        retrying = AsyncRetrying(
            stop=stop_after_attempt(_TRIES_OF_ONE_DEPLOYMENT),
            wait=wait_random(*_BACK_OFF_SECONDS),
            retry=retry_if_exception(self._may_retry),
            reraise=True,
        )
        return await retrying(self._once, deployment)

    async def _once(self, deployment: Deployment) -> Answer:
        upstreams = self._upstreams
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(upstreams.cooldown.trying(deployment.name))
            outgoing = self._call.outgoing(deployment)
            upstreams.guard.check(deployment, outgoing.label)
            await self._check_length(deployment, outgoing)
            await stack.enter_async_context(upstreams.queues.enter(deployment, upstreams.slots(deployment)))
            self._ordinal += 1
            attempt = await stack.enter_async_context(self._call.attempt(deployment, self._ordinal))
            client = upstreams.client(deployment, outgoing.shape)
            reply = await stack.enter_async_context(client.send(deployment, outgoing))
            opening = Opening(deployment.name, reply, outgoing, attempt, checks=self._may_check())
            begun = await _begun(Answer(deployment, attempt, self._ordinal, reply), opening, stack)
            if self._cooldown.state(deployment.name) != "closed":
                await self._cooldown.succeeded(deployment.name)  # a long answer need not end before others may follow
            await self._opened.enter_async_context(stack.pop_all())
            return begun

    async def _check_length(self, deployment: Deployment, outgoing: Outgoing) -> None:
        """Pass over a deployment that counts more tokens than it takes: that is no attempt, and costs nothing."""
        if deployment.name not in self._measured:
            self._measured.add(deployment.name)
            context = self._upstreams.context(deployment)
            await counting.check(self._upstreams.guard, deployment, outgoing, context)

    def _may_check(self) -> bool:
        """An unfit answer is asked for again once; the next one passes as it is, and so does one that is the last."""
        return not self._was_unfit and not self._over()

    def _may_retry(self, error: BaseException) -> bool:
        """A deployment that says when to come back is not asked before; the next one is."""
        self._was_unfit = self._was_unfit or isinstance(error, UpstreamUnfit)
        return isinstance(error, UpstreamError) and error.may_retry and error.retry_after is None and not self._over()

    def _over(self) -> bool:
        return self._ordinal >= self._patience.attempts or self._clock() >= self._deadline


@dataclass(frozen=True, slots=True)
class _Return:
    """When a deployment said to be back."""

    at: float
    deployment: Deployment


def _passes(error: UpstreamError) -> bool:
    """True of a failure that may be over later; a client told of one that stays would not come back."""
    return not isinstance(error, UpstreamRefused)


def _was_not_reached(error: UpstreamError) -> bool:
    """True if there was no connection; only a timeout of connecting costs nothing."""
    return isinstance(error, UpstreamUnreachable) or (isinstance(error, UpstreamTimeout) and not error.billed)


async def _begun(answer: Answer, opening: Opening, stack: AsyncExitStack) -> Answer:
    if opening.outgoing.stream:
        return replace(answer, events=await opening.stream(stack))
    body, payload = await opening.whole()
    return replace(answer, body=body, payload=payload)
