"""The official client, told to be strict, accepts what is rendered."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anthropic
import msgspec
import pytest

from gateway.errors import ModelNotFound, UpstreamCut
from gateway.wire.lanes import Usage
from gateway.wire.messages import Messages, error_body
from tests.wire.upstream import Script, answer, delta, fake_upstream, finish, stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TREE: dict[str, Any] = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]}
USAGE = Usage(fresh=7, cached=24, output=3, reasoning=2)
CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": "é"}'}}
MESSAGE = {"reasoning_content": "Hm.", "content": "Olá 👋", "tool_calls": [CALL]}


def rendering() -> Messages:
    return Messages(TREE, model="m", created=1, new_id=lambda kind: f"{kind}_1")


def chunk(**part: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": part, "finish_reason": None}]}


@asynccontextmanager
async def client(url: str) -> AsyncIterator[anthropic.AsyncAnthropic]:
    base_url = url.removesuffix("/v1")
    async with anthropic.AsyncAnthropic(
        base_url=base_url, api_key="k", max_retries=0, _strict_response_validation=True
    ) as asking:
        yield asking


async def test_a_whole_message_is_read_strictly() -> None:
    chat = {"choices": [{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls"}]}
    async with fake_upstream(answer(rendering().whole(chat, USAGE))) as server:
        async with client(server.url) as asking:
            message = await asking.messages.create(**TREE)

    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (7, 24)


async def test_a_stream_is_put_together_strictly() -> None:
    render = rendering()
    pieces = [chunk(reasoning_content="Hm."), chunk(content="Olá "), chunk(content="👋"), chunk(tool_calls=[CALL])]
    events = [*map(render.chunk, pieces), render.chunk(finish("tool_calls")), render.end(USAGE)]
    async with fake_upstream(stream(*events)) as server:
        async with client(server.url) as asking:
            async with asking.messages.stream(**TREE) as streaming:
                text = "".join([piece async for piece in streaming.text_stream])
                message = await streaming.get_final_message()

    assert text == "Olá 👋"
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert message.content[-1].type == "tool_use"
    assert message.content[-1].input == {"a": "é"}
    assert (message.usage.input_tokens, message.usage.output_tokens) == (7, 5)


async def test_a_stream_that_fails_raises_in_the_client() -> None:
    render = rendering()
    failure = UpstreamCut("the answer ended early").body()["error"]
    assert isinstance(failure, dict)
    script = stream(render.chunk(delta("Ol")), render.failed(failure))
    async with fake_upstream(script) as server:
        async with client(server.url) as asking:
            with pytest.raises(anthropic.APIStatusError, match="the answer ended early"):
                async with asking.messages.stream(**TREE) as streaming:
                    await streaming.get_final_message()


async def test_a_refusal_is_the_clients_own_kind_of_error() -> None:
    error = ModelNotFound("there is no model 'm'")
    inner = error.body()["error"]
    assert isinstance(inner, dict)
    script: Script = answer(msgspec.json.encode(error_body(inner, "req_1")), status=error.status)
    async with fake_upstream(script) as server:
        async with client(server.url) as asking:
            with pytest.raises(anthropic.NotFoundError, match="no model"):
                await asking.messages.create(**TREE)
