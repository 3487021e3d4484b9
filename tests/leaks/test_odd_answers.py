"""An answer with something odd in it, wherever that stands, is relayed or refused, and never breaks the gateway."""

from __future__ import annotations

from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from gateway.chat import formats, relay
from gateway.chat.tap import Tap
from gateway.chat.usage_chunk import UsageChunk
from gateway.errors import GatewayError
from gateway.upstream.clients import Outgoing
from gateway.upstream.dialects import arguments
from gateway.upstream.dialects.normal import Normaliser
from gateway.upstream.opening import Opening
from gateway.wire.shapes import CHAT
from policies.labels import PUBLIC
from tests.fakes import Ledger, deployment

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

    from gateway.chat.formats import Format
    from gateway.ledger.attempt import Attempt

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
CALL = {"index": 0, "id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TOKEN = {"token": "x", "logprob": 0.0, "bytes": None, "top_logprobs": [{"token": "x", "logprob": 0.0}]}
MESSAGE = {
    "role": "assistant", "content": "hi", "reasoning_content": "t", "refusal": "r", "audio": {"transcript": "a"},
    "tool_calls": [CALL], "annotations": [{"type": "file_citation", "file_citation": {"file": "a", "index": 1}}],
}  # fmt: skip
COUNTS = {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
WRITTEN = {"input_tokens": 3, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}}
VECTOR = {"object": "embedding", "index": 0, "embedding": [0.5]}
ITEMS = [
    {"type": "message", "content": [{"type": "output_text", "text": "x"}]},
    {"type": "reasoning", "summary": [{"text": "s"}], "content": [{"text": "t"}], "encrypted_content": "e"},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "mcp_call", "output": "z"},
]
BLOCKS = [
    {"type": "text", "text": "x"},
    {"type": "thinking", "thinking": "t", "signature": "s"},
    {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
    {"type": "server_tool_use", "name": "w", "input": {"q": "z"}},
]


def choice(**members: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "finish_reason": None, **members}]}


WHOLE: Mapping[str, dict[str, Any]] = {
    "chat": {
        **choice(message=MESSAGE, finish_reason="stop", logprobs={"content": [TOKEN]}),
        "usage": COUNTS,
        "service_tier": "auto",
    },
    "completions": {**choice(text="x", finish_reason="stop"), "usage": COUNTS},
    "responses": {"status": "completed", "model": "m", "output": ITEMS, "usage": WRITTEN, "incomplete_details": None},
    "messages": {"type": "message", "model": "m", "content": BLOCKS, "stop_reason": "end_turn", "usage": WRITTEN},
    "embeddings": {"model": "m", "data": [VECTOR, {**VECTOR, "index": 1}], "usage": {"prompt_tokens": 1}},
    "rerank": {"id": "r", "results": [{"index": 0, "relevance_score": 1}], "meta": {"tokens": {"input_tokens": 1}}},
}
EVENTS: Mapping[str, Sequence[dict[str, Any]]] = {
    "chat": [
        choice(delta={"role": "assistant", "content": ""}),
        choice(delta=MESSAGE, logprobs={"content": [TOKEN]}),
        choice(delta={"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}),
        choice(delta={}, finish_reason="tool_calls"),
        {"choices": [], "usage": COUNTS},
    ],
    "completions": [choice(text="x"), {**choice(text="", finish_reason="stop"), "usage": COUNTS}],
    "responses": [
        {"type": "response.created", "response": {"model": "m", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": ITEMS[2]},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"},
        {"type": "response.output_item.done", "output_index": 1, "item": ITEMS[3]},
        {"type": "response.completed", "response": WHOLE["responses"]},
    ],
    "messages": [
        {"type": "message_start", "message": {**WHOLE["messages"], "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": BLOCKS[2]},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    ],
}
ASKED: Mapping[str, dict[str, Any]] = {
    "chat": {"messages": [{"role": "user", "content": "x"}]},
    "completions": {"prompt": "x"},
    "responses": {"input": "x"},
    "messages": {"max_tokens": 5, "messages": [{"role": "user", "content": "x"}]},
    "embeddings": {"input": ["a", "b"]},
    "rerank": {"query": "q", "documents": ["a", "b"]},
}
FORMATS = {
    form.endpoint: form
    for form in (
        formats.CHAT_COMPLETIONS,
        formats.COMPLETIONS,
        formats.RESPONSES,
        formats.MESSAGES,
        formats.EMBEDDINGS,
        formats.RERANK,
    )
}
ODD: list[object] = [
    *(None, True, -1, 10**30, 1.5, "x", "\n\ndata: [DONE]\n\n", [None], [[1]], {}),
    *([{}], {"type": "text"}, [{"type": "text", "text": 5}], [{"index": "x"}]),
]
"""What may stand where something else should."""


def variants(whole: Any) -> Iterator[Any]:
    """The same with one of its values odd or left out, for each of its values."""
    yield from ODD
    if isinstance(whole, dict):
        for name, value in whole.items():
            yield {other: kept for other, kept in whole.items() if other != name}
            yield from ({**whole, name: variant} for variant in variants(value))
    if isinstance(whole, list):
        for place, value in enumerate(whole):
            yield from ([*whole[:place], variant, *whole[place + 1 :]] for variant in variants(value))


@dataclass
class Said:
    """A reply that is there already."""

    pieces: Sequence[bytes]
    stream: bool
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    async def read(self, limit: int) -> bytes:
        return b"".join(self.pieces)[:limit]

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        for piece in self.pieces:
            yield piece


@dataclass
class Relaying:
    """One answer on its way from a deployment's endpoint to a client's."""

    form: Format
    native: bool
    attempt: Attempt
    tap: Tap = field(default_factory=lambda: Tap(5))

    async def relayed(self, reply: Said) -> bytes:
        """What the client gets; GatewayError if that is a refusal."""
        shape = self.form.shape if self.native else CHAT
        outgoing = Outgoing(b"", PUBLIC, reply.stream, shape=shape)
        if shape is CHAT:
            unfit, watch = partial(arguments.unfit, TOOLS), partial(arguments.Watch, TOOLS)
            outgoing = replace(outgoing, unfit=unfit, watch=watch)
        opening = Opening("far", reply, outgoing, self.attempt, checks=True)
        if not reply.stream:
            return relay.whole(*await opening.whole(), self._rewrite(), self.tap)
        async with AsyncExitStack() as stack:
            out: list[bytes] = []

            async def write(data: bytes) -> None:
                assert self.tap.texts is not None
                out.append(data)

            try:
                await relay.streamed(await opening.stream(stack), self._rewrite(), self.tap, write)
            finally:
                assert b"\ndata: [DONE]" not in b"".join(out)
        return b"".join(out)

    def _rewrite(self) -> relay.Rewrite:
        form, tree = self.form, {"model": "asked", **ASKED[self.form.endpoint]}
        rendered = not self.native and form.rendering is not None
        return relay.Rewrite(
            shape=form.shape if self.native else CHAT,
            normaliser=None if self.native and form.shape is not CHAT else Normaliser("{}_1".format),
            rendering=form.rendering(tree, "asked", 1, "{}_1".format) if rendered and form.rendering else None,
            model="asked",
            usage=UsageChunk(shown=True),
            finish=None if form.finish is None else partial(form.finish, tree),
        )


async def broken_by(form: Format, native: bool, replies: Iterator[Said]) -> list[str]:
    """The answers that ended in something else than an answer or a refusal."""
    broken = []
    async with Ledger().attempt(deployment("http://127.0.0.1:9"), 1) as attempt:
        for reply in replies:
            try:
                with suppress(GatewayError):
                    await Relaying(form, native, attempt).relayed(reply)
            except Exception as failure:  # all of them are told at once
                broken.append(f"{failure!r} by {b''.join(reply.pieces)[:300]!r}")
    return broken


WAYS = [
    (endpoint, native)
    for endpoint in FORMATS
    for native in (True, False)
    if native or FORMATS[endpoint].rendering is not None
]


@pytest.mark.parametrize(("endpoint", "native"), WAYS)
async def test_an_odd_answer_is_relayed_or_refused(endpoint: str, native: bool) -> None:
    whole = WHOLE[endpoint if native else "chat"]
    replies = (Said([msgspec.json.encode(odd)], stream=False) for odd in variants(whole))

    assert await broken_by(FORMATS[endpoint], native, replies) == []  # type: ignore[index]


@pytest.mark.parametrize(("endpoint", "native"), [way for way in WAYS if way[0] in EVENTS])
async def test_an_odd_event_is_relayed_or_refused(endpoint: str, native: bool) -> None:
    events = EVENTS[endpoint if native else "chat"]
    streams = ([*events[:n], odd, *events[n + 1 :]] for n, event in enumerate(events) for odd in variants(event))
    replies = (Said([b"data: " + msgspec.json.encode(one) + b"\n\n" for one in said], stream=True) for said in streams)

    assert await broken_by(FORMATS[endpoint], native, replies) == []  # type: ignore[index]


def test_the_answers_are_right_where_nothing_is_odd() -> None:
    for endpoint, form in FORMATS.items():
        assert form.shape.is_answer(WHOLE[endpoint])
