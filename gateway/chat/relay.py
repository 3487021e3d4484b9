"""Relays an answer to the client: verbatim, with its usage tapped, or rewritten where something must change."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import msgspec

from gateway.chat import passages as citing
from gateway.chat.tap import choices_of
from gateway.errors import UpstreamCut

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from gateway.chat.tap import Tap
    from gateway.wire.sse import Event
    from retrieval.client import Passage

DONE = b"data: [DONE]\n\n"
_LINGER_SECONDS = 5.0
"""How long an upstream may stay open after its answer is complete."""


Write = Callable[[bytes], Awaitable[None]]
"""Sends bytes to the client."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What of an answer must change on its way; nothing at all means: verbatim."""

    model: str | None = None
    """The name to answer under, where the upstream knows the model by another one."""
    strip_usage: bool = False
    """Drop the usage that only the ledger asked for."""
    passages: Sequence[Passage] = ()
    """What citations may refer to."""


def whole(body: bytes, answer: dict[str, Any], rewrite: Rewrite, tap: Tap) -> bytes:
    """Return a JSON answer byte for byte, unless something must change."""
    tap.see(answer)
    if rewrite.model is None and not rewrite.passages:
        return body
    changed = dict(answer)
    if rewrite.model is not None:
        changed["model"] = rewrite.model
    if rewrite.passages:
        changed["choices"] = [_cited(choice, rewrite.passages) for choice in choices_of(answer)]
    return msgspec.json.encode(changed)


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
        yield event.raw
        return
    chunk = _object(event.data)
    if chunk is None or chunk.get("error"):
        raise UpstreamCut("the deployment broke off its answer with an error")
    was_finished = tap.finished
    tap.see(chunk)
    if rewrite.passages and tap.finished and not was_finished:
        yield _event(_citations(chunk, rewrite, tap.text))
    yield from _rewritten(chunk, rewrite, event.raw)


def _rewritten(chunk: dict[str, Any], rewrite: Rewrite, raw: bytes) -> Iterator[bytes]:
    """The event to send in place of this one: the same bytes where nothing changes."""
    changes = rewrite.model is not None and chunk.get("model") != rewrite.model
    if changes:
        chunk["model"] = rewrite.model
    if rewrite.strip_usage and "usage" in chunk:
        del chunk["usage"]
        changes = True
        if not chunk.get("choices"):
            return
    yield _event(chunk) if changes else raw


def _citations(chunk: dict[str, Any], rewrite: Rewrite, text: str) -> dict[str, Any]:
    """A chunk of its own, before the one that ends the answer."""
    kept = {name: value for name, value in chunk.items() if name != "usage"}
    if rewrite.model is not None:
        kept["model"] = rewrite.model
    delta = {"annotations": citing.citations(rewrite.passages, text)}
    return {**kept, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def _cited(choice: dict[str, Any], passages: Sequence[Passage]) -> dict[str, Any]:
    message = choice.get("message")
    if not isinstance(message, dict):
        return choice
    content = message.get("content")
    cited = citing.citations(passages, content if isinstance(content, str) else "")
    given = message.get("annotations")
    return {**choice, "message": {**message, "annotations": [*(given if isinstance(given, list) else ()), *cited]}}


def closing(headers: dict[str, str]) -> bytes:
    """The last bytes of a complete stream: what the headers could not know yet, as a comment, then `[DONE]`."""
    comment = ", ".join(f"{name}={value}" for name, value in headers.items())
    return b": " + comment.encode("ascii", "replace") + b"\n\n" + DONE


def error_event(body: dict[str, object]) -> bytes:
    """An in-band error: what a stream ends with when its status went out already."""
    return _event(body)


def _event(value: object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
