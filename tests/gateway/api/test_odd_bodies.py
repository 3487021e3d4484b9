"""Whatever stands where in a request or in a deployment's answer: nothing that comes in makes the gateway fail."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from tests.gateway.house import ADMIN_KEY, deployment, house
from tests.wire.upstream import DONE, answer, completion, fake_upstream, finish, stream

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.house import House

FUNCTION = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a"}]},
            {
                "role": "assistant",
                "content": "b",
                "reasoning_content": "c",
                "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "1", "content": "d"},
        ],
        "tools": [{"type": "function", "function": FUNCTION}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}},
        "stream_options": {"include_usage": True},
        "modalities": ["text"],
        "max_tokens": 5,
        "reasoning_effort": "high",
    },
    "/v1/completions": {"prompt": ["a"], "max_tokens": 5, "logprobs": None, "stream_options": {"include_usage": True}},
    "/v1/responses": {
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "b"}]},
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "c"}]},
        ],
        "tools": [{"type": "function", **FUNCTION}],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
        "text": {"format": {"type": "json_schema", "name": "x", "schema": {"type": "object"}}, "verbosity": "low"},
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["message.output_text.logprobs"],
        "metadata": {"a": "b"},
        "max_output_tokens": 5,
    },
    "/v1/messages": {
        "system": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "b", "signature": "c"},
                    {"type": "tool_use", "id": "1", "name": "f", "input": {"a": "b"}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "d"}]}],
            },
        ],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}},
        "stop_sequences": ["x"],
        "metadata": {"user_id": "u"},
        "max_tokens": 5,
    },
    "/v1/embeddings": {"input": ["a"], "encoding_format": "float", "dimensions": 4},
    "/v1/rerank": {"query": "a", "documents": [{"text": "b"}], "top_n": 1, "return_documents": True},
}
ODD: tuple[Any, ...] = (None, [[None]], {"type": [None], "index": {}}, -1.5, "\x00")


def altered(body: Any) -> Iterator[Any]:
    """The body with one member or element after the other put in the place of something odd."""
    places: Any = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for name, inner in places:
        for odd in (*ODD, *altered(inner)):
            changed = copy.copy(body)
            changed[name] = odd
            yield changed


@pytest.mark.parametrize("path", BODIES)
async def test_nothing_odd_in_a_request_makes_the_gateway_fail(tmp_path: Path, path: str) -> None:
    model = "e" if path in ("/v1/embeddings", "/v1/rerank") else "m"
    bodies = [{"model": model, **body} for body in altered(BODIES[path])]

    async with fake_upstream(answer(completion(), ending="keep")) as up:
        embedder = deployment("e", up.url, zone="device", capabilities=["embeddings", "rerank"])
        async with house(tmp_path, [deployment("m", up.url, zone="device"), embedder]) as home:
            async with asking(home) as ask:
                answers = await asyncio.gather(*(ask(path, body) for body in bodies))

    assert len(bodies) >= 20
    assert [(body, text) for body, (status, text) in zip(bodies, answers, strict=True) if status == 500] == []


CALL = {"index": 0, "id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SAID = {"role": "assistant", "content": "a", "reasoning_content": "b", "refusal": None, "tool_calls": [CALL]}
USAGE = {
    "prompt_tokens": 3,
    "completion_tokens": 2,
    "total_tokens": 5,
    "prompt_tokens_details": {"cached_tokens": 1},
    "completion_tokens_details": {"reasoning_tokens": 1},
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"])
async def test_nothing_odd_in_an_answer_makes_the_gateway_fail(tmp_path: Path, path: str, streamed: bool) -> None:
    choice = {"index": 0, "delta" if streamed else "message": SAID, "finish_reason": "stop", "logprobs": None}
    whole = {"id": "c", "object": "o", "model": "m", "service_tier": "default", "choices": [choice], "usage": USAGE}
    answers = list(altered(whole))
    scripts = [stream(odd, finish(), DONE) if streamed else answer(odd) for odd in answers]
    question: dict[str, Any] = {"/v1/completions": {"prompt": "a"}, "/v1/responses": {"input": "a"}}.get(
        path, {"messages": [{"role": "user", "content": "a"}]}
    )
    body = {"model": "m", "max_tokens": 5, "stream": streamed, **question}

    async with fake_upstream(*scripts) as up, house(tmp_path, [deployment("m", up.url)]) as home:
        async with asking(home) as ask:
            told = [await ask(path, body) for _ in answers]

    assert [(odd, text) for odd, (status, text) in zip(answers, told, strict=True) if failed(status, text)] == []


def failed(status: int, text: str) -> bool:
    """True if the gateway itself stumbled, also where its answer had begun."""
    return status == 500 or "the gateway failed" in text


@asynccontextmanager
async def asking(home: House) -> AsyncIterator[Callable[[str, Any], Awaitable[tuple[int, str]]]]:
    """Yield what posts a body and returns the status and the text of the answer."""
    headers = {"authorization": f"Bearer {ADMIN_KEY}"}
    async with aiohttp.ClientSession(headers=headers) as session:

        async def ask(path: str, body: Any) -> tuple[int, str]:
            async with session.post(home.url + path, json=body) as response:
                return response.status, await response.text()

        yield ask
