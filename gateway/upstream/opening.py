"""The opening of an answer: read whole, or held back as a stream, until it is sure that it is one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateway.errors import UpstreamCut, UpstreamError, UpstreamUnfit
from gateway.upstream.refusals import error_in
from gateway.wire.shapes import choices_of, object_of
from gateway.wire.sse import Event, Events
from gateway.wire.usage import joined, read_usage, service_tier, told_of_usage

if TYPE_CHECKING:
    from gateway.ledger.attempt import Attempt
    from gateway.upstream.clients import Outgoing, Reply, Verdict, Watch

_MOST_ANSWER_BYTES = 64 * 1024 * 1024
_MOST_HELD_BYTES = 1024 * 1024
_LINGER_SECONDS = 2.0
"""How long the usage of an answer is waited for that is not passed on."""
_START_UPS = frozenset({"message_start", "ping", "response.created", "response.in_progress", "response.queued"})
"""Events of other endpoints than the chat's that come before anything is said."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A reply that is about to be read: whose it is, what was asked, and who keeps its account."""

    deployment: str
    reply: Reply
    outgoing: Outgoing
    attempt: Attempt
    checks: bool
    """An answer with unfit tool arguments is refused: the deployment may be asked once more."""

    async def whole(self) -> tuple[bytes, dict[str, Any]]:
        """The whole JSON answer, checked: an error in it still falls back, for nothing was sent to the client."""
        body = await self.reply.read(_MOST_ANSWER_BYTES)
        self.attempt.first_byte()
        payload = object_of(body)
        if payload is None:
            raise UpstreamCut(f"deployment {self.deployment!r} answered with something that is no JSON object")
        if error := error_in(self.deployment, payload, self.outgoing.shape):
            raise error
        if not self.outgoing.shape.is_answer(payload):
            raise UpstreamCut(f"deployment {self.deployment!r} answered with something else than was asked of it")
        self._check_tools(self.outgoing.shape.heard(payload))
        return body, payload

    async def stream(self, stack: AsyncExitStack) -> AsyncGenerator[list[Event], None]:
        """The stream, once it says something; comments before its first data event are dropped."""
        if not self.reply.stream:
            raise await self._no_stream()
        held = _Held(self)
        batches = await stack.enter_async_context(aclosing(_batches(self.reply)))
        async for batch in batches:
            verdict = held.take(batch)
            if verdict == "pass":
                return _joined(held.events, batches)
            if verdict == "unfit":
                raise await self._unfit_stream(held, batches)
        raise UpstreamCut(f"deployment {self.deployment!r} ended its answer before it began")

    def _check_tools(self, heard: Mapping[str, Any]) -> None:
        unfit = self.outgoing.unfit if self.checks else None
        if unfit is None:
            return
        messages = [choice.get("message") for choice in choices_of(heard)]
        if any(unfit(message) is not None for message in messages if isinstance(message, Mapping)):
            self.attempt.usage = read_usage(heard)
            self.attempt.service_tier = service_tier(heard)
            raise self._unfit()

    async def _no_stream(self) -> UpstreamError:
        """The error that stands in a JSON answer to a request for a stream."""
        payload = object_of(await self.reply.read(_MOST_ANSWER_BYTES)) or {}
        nothing = UpstreamCut(f"deployment {self.deployment!r} answered without a stream although one was asked for")
        return error_in(self.deployment, payload, self.outgoing.shape) or nothing

    async def _unfit_stream(self, held: _Held, batches: AsyncGenerator[list[Event], None]) -> UpstreamUnfit:
        """Hear the rest for its usage: what is thrown away is paid all the same."""
        with suppress(TimeoutError, UpstreamError):
            async with asyncio.timeout(_LINGER_SECONDS):
                async for batch in batches:
                    held.events.extend(batch)
        told: Mapping[str, Any] = {}
        for event in held.events:
            heard = self.outgoing.shape.heard(object_of(event.data or b"") or {})
            told = joined(told, told_of_usage(heard))
            self.attempt.service_tier = service_tier(heard) or self.attempt.service_tier
        self.attempt.usage = read_usage(told) or self.attempt.usage
        return self._unfit()

    def _unfit(self) -> UpstreamUnfit:
        return UpstreamUnfit(f"deployment {self.deployment!r} called a tool with arguments that are no use to it")


class _Held:
    """The events of a stream of which nothing was passed on."""

    def __init__(self, opening: Opening) -> None:
        self.events: list[Event] = []
        self._opening = opening
        self._size = 0
        watch = opening.outgoing.watch if opening.checks else None
        self._watch: Watch | None = None if watch is None else watch()

    def take(self, batch: list[Event]) -> Verdict:
        """`pass` from the first event on that commits to the answer; `hold` and `unfit` as a Watch says it."""
        for position, event in enumerate(batch):
            verdict = self._take(event)
            if verdict != "hold":
                self.events.extend(batch[position + 1 :])
                return verdict
        return "hold"

    def _take(self, event: Event) -> Verdict:
        if event.data is None and not self.events:
            return "hold"
        self.events.append(event)
        self._size += len(event.raw)
        if event.data is None:
            return "hold"
        self._opening.attempt.first_byte()
        verdict = self._verdict(event.data)
        return "pass" if verdict == "hold" and self._size > _MOST_HELD_BYTES else verdict

    def _verdict(self, data: bytes) -> Verdict:
        name, shape = self._opening.deployment, self._opening.outgoing.shape
        payload = object_of(data)
        if payload is None:
            raise UpstreamCut(f"deployment {name!r} began its answer with something that is no JSON object")
        if error := error_in(name, payload, shape):
            raise error
        if self._watch is not None:
            return self._watch.see(shape.heard(payload))
        return "hold" if _is_silent(payload) else "pass"


def _is_silent(payload: Mapping[str, Any]) -> bool:
    """True for what opens a stream and says nothing yet: an error that follows is one before any content."""
    if "type" in payload:
        return isinstance(payload["type"], str) and payload["type"] in _START_UPS
    return not any(_speaks(choice) for choice in choices_of(payload))


def _speaks(choice: Mapping[str, Any]) -> bool:
    delta = choice.get("delta")
    said = delta if isinstance(delta, Mapping) else {}
    return bool(choice.get("finish_reason") or choice.get("text") or any(said[name] for name in said if name != "role"))


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
