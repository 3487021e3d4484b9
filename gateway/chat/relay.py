"""Relays an answer to the client: verbatim, with its usage tapped, or changed where something must change."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import msgspec

from gateway.chat import passages as citing
from gateway.errors import UpstreamCut
from gateway.wire.shapes import CHAT, choices_of, error_in, object_of
from gateway.wire.sse import event_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from gateway.chat.tap import Tap
    from gateway.chat.usage_chunk import UsageChunk
    from gateway.upstream.dialects.normal import Normaliser
    from gateway.wire.lanes import Usage
    from gateway.wire.shapes import Rendering, Shape
    from gateway.wire.sse import Event
    from retrieval.client import Passage

_KIND = re.compile(r"[\w.]+\Z")
_LINGER_SECONDS = 5.0
"""How long an upstream may stay open after its answer is complete."""


Write = Callable[[bytes], Awaitable[None]]
"""Sends bytes to the client."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What of an answer must change on its way; nothing at all means: verbatim."""

    shape: Shape = CHAT
    """The endpoint that the deployment was asked at."""
    normaliser: Normaliser | None = None
    """Puts a chat's thoughts and tool calls where clients look for them."""
    rendering: Rendering | None = None
    """Says a chat in the form of the endpoint that the client asked."""
    model: str | None = None
    """The name to answer under, where the upstream knows the model by another one."""
    is_own: Callable[[str], bool] = lambda _model: True
    """True of the names that the upstream has for it; a reply by some other model keeps that one's name."""
    usage: UsageChunk | None = None
    """Says a stream's usage last, or keeps what only the ledger asked for; None: it stays where it stands."""
    closing: str | None = None
    """The event that must close a complete stream, should the upstream leave it out."""
    passages: Sequence[Passage] = ()
    """What citations may refer to."""
    finish: Callable[[dict[str, Any], Usage], dict[str, Any]] | None = None
    """Puts a whole answer into the form that was asked for."""


def whole(body: bytes, answer: dict[str, Any], rewrite: Rewrite, tap: Tap) -> bytes:
    """Return a JSON answer byte for byte, unless something must change."""
    changed = rewrite.normaliser is not None and rewrite.normaliser.whole(answer)
    tap.see(rewrite.shape.heard(answer), model=_model_in(answer))
    if rewrite.passages:
        answer["choices"] = [_cited(choice, rewrite.passages) for choice in choices_of(answer)]
    if rewrite.rendering is not None:
        return msgspec.json.encode(rewrite.rendering.whole(answer, tap.usage))
    if rewrite.finish is not None:
        answer, changed = rewrite.finish(answer, tap.usage), True
    changed = _renamed(answer, rewrite) or changed
    return msgspec.json.encode(answer) if changed or rewrite.passages else body


async def streamed(batches: AsyncIterator[list[Event]], rewrite: Rewrite, tap: Tap, write: Write) -> None:
    """Relay a stream up to its end, or up to its `[DONE]`, which is left out.

    Raises UpstreamCut if the stream ends before its answer did, or holds an error.
    """
    async for batch in _until_settled(batches, tap):
        out: list[bytes] = []
        try:
            for event in takewhile(_is_before_the_end, batch):
                out.extend(_relayed(event, rewrite, tap))
        finally:
            if out:  # what came before an error is the client's
                await write(b"".join(out))
        if not all(map(_is_before_the_end, batch)):
            break
    if not tap.finished:
        raise UpstreamCut("the deployment's answer ended before it was complete")
    if last := _last(rewrite, tap):
        await write(last)


def _last(rewrite: Rewrite, tap: Tap) -> bytes:
    """What a complete answer ends with, but for the closing comment."""
    if rewrite.rendering is not None:
        return rewrite.rendering.end(tap.usage)
    if rewrite.closing is not None and tap.last.get("type") != rewrite.closing:
        return _event({"type": rewrite.closing})
    return b"" if rewrite.usage is None else rewrite.usage.last()


def _is_before_the_end(event: Event) -> bool:
    return event.kind != "done"


async def _until_settled(batches: AsyncIterator[list[Event]], tap: Tap) -> AsyncIterator[list[Event]]:
    """The batches; once the answer is complete, what may still follow (usage, `[DONE]`) is waited for only a little."""
    while True:
        try:
            async with asyncio.timeout(_LINGER_SECONDS if tap.finished else None):
                batch = await anext(batches)
        except (StopAsyncIteration, TimeoutError):
            return
        yield batch


def _relayed(event: Event, rewrite: Rewrite, tap: Tap) -> Iterator[bytes]:
    if event.data is None:
        if rewrite.rendering is None and not _forges(event.raw):
            yield event.raw
        return
    chunk = object_of(event.data)
    if chunk is None or error_in(rewrite.shape, chunk) or chunk.get("error"):
        raise UpstreamCut("the deployment broke off its answer with an error")
    changed = rewrite.normaliser is not None and rewrite.normaliser.chunk(chunk)
    was_finished = tap.finished
    tap.see(rewrite.shape.heard(chunk), model=_model_in(chunk))
    tap.last = chunk
    if rewrite.passages and tap.finished and not was_finished:
        yield from _said(_citations(chunk, rewrite.passages, tap.text), rewrite, b"")
    yield from _said(chunk, rewrite, b"" if changed or _forges(event.raw) else event.raw)


def _forges(raw: bytes) -> bool:
    """True for a comment in which an upstream speaks as the gateway does of zones and costs."""
    return b"soleira-" in raw and any(line.startswith(b":") and b"soleira-" in line for line in raw.splitlines())


def _said(chunk: dict[str, Any], rewrite: Rewrite, raw: bytes) -> Iterator[bytes]:
    """What the client gets in place of this chunk: the same bytes (`raw`) where nothing changes."""
    if rewrite.rendering is not None:
        yield rewrite.rendering.chunk({name: value for name, value in chunk.items() if name != "usage"})
        return
    if _renamed(chunk, rewrite):
        raw = b""
    if rewrite.usage is not None and rewrite.usage.take(chunk, raw):
        raw = b""
        if not chunk.get("choices"):
            return
    yield raw or _event(chunk)


def _renamed(payload: dict[str, Any], rewrite: Rewrite) -> bool:
    """Put the name that was asked for in place of the upstream's own; True if that changed something."""
    if rewrite.model is None:
        return False
    answered = _model_in(payload)
    if answered and not rewrite.is_own(answered):
        return False
    return rewrite.shape.rename(payload, rewrite.model)


def _citations(chunk: dict[str, Any], passages: Sequence[Passage], text: str) -> dict[str, Any]:
    """A chunk of its own, before the one that ends the answer."""
    kept = {name: value for name, value in chunk.items() if name != "usage"}
    delta = {"annotations": citing.citations(passages, text)}
    return {**kept, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def _cited(choice: dict[str, Any], passages: Sequence[Passage]) -> dict[str, Any]:
    message = choice.get("message")
    if not isinstance(message, dict):
        return choice
    content = message.get("content")
    cited = citing.citations(passages, content if isinstance(content, str) else "")
    given = message.get("annotations")
    return {**choice, "message": {**message, "annotations": [*(given if isinstance(given, list) else ()), *cited]}}


def _model_in(payload: dict[str, Any]) -> str | None:
    """The model that says to have answered, wherever the endpoint puts that."""
    for holder in (payload, payload.get("response"), payload.get("message")):
        if isinstance(holder, dict) and isinstance(model := holder.get("model"), str):
            return model
    return None


def closing(headers: dict[str, str], done: bytes) -> bytes:
    """The last bytes of a complete stream: what the headers could not know yet, as a comment, then what closes it."""
    comment = ", ".join(f"{name}={value}" for name, value in headers.items())
    return b": " + comment.encode("ascii", "replace") + b"\n\n" + done


def _event(value: dict[str, Any]) -> bytes:
    """An event; those of endpoints that name their events (`type`) are named as there."""
    kind = value.get("type")
    name = b"event: " + kind.encode() + b"\n" if isinstance(kind, str) and _KIND.match(kind) else b""
    return name + event_of(value)
