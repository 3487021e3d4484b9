"""An upstream that ends each call as its prompt asks for, and keeps its own account of every token."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_PIECES = 4
_HANG_SECONDS = 60.0
STATUSES = frozenset({"400", "429", "500"})


@dataclass
class Counts:
    """What the upstream knows: calls by how they were to end, and the tokens that it told of."""

    calls: dict[str, int] = field(default_factory=dict)
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0
    release: asyncio.Event = field(default_factory=asyncio.Event)
    """Set: calls that wait (`wait`) may end."""

    @property
    def total(self) -> int:
        return sum(self.calls.values())


_COUNTS = web.AppKey("counts", Counts)


@asynccontextmanager
async def counting_upstream() -> AsyncIterator[tuple[str, Counts]]:
    """Serve on a free loopback port; yields the base URL and the account."""
    counts = Counts()
    app = web.Application()
    app[_COUNTS] = counts
    app.router.add_post("/v1/chat/completions", _answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"http://127.0.0.1:{port}/v1", counts
    finally:
        counts.release.set()
        await runner.cleanup()


def usage_of(words: list[str]) -> dict[str, Any]:
    """The usage of a prompt that says `ok 7 3 5 2`: 7 tokens in, 3 of them cached, 5 out, 2 of them thoughts."""
    prompt, cached, completion, reasoning = (int(word) for word in words)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


async def _answer(request: web.Request) -> web.StreamResponse:
    counts: Counts = request.app[_COUNTS]
    body = json.loads(await request.read())
    ending, *words = body["messages"][-1]["content"].split()
    counts.calls[ending] = counts.calls.get(ending, 0) + 1
    if ending in STATUSES:
        return web.json_response({"error": {"message": "no", "type": "test"}}, status=int(ending))
    if ending == "timeout":
        await asyncio.sleep(_HANG_SECONDS)
    if ending == "wait":
        await counts.release.wait()
        if request.transport is None or request.transport.is_closing():
            return web.Response()
    usage = usage_of(words or ["7", "3", "5", "2"])
    if not body.get("stream"):
        _count(counts, usage)
        return web.json_response(_chunk({"message": {"role": "assistant", "content": "Olá"}}, "stop", usage))
    try:
        return await _stream(request, counts, ending, usage)
    except ConnectionResetError:  # the client left, or died
        return web.Response()


async def _stream(request: web.Request, counts: Counts, ending: str, usage: dict[str, Any]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for _ in range(_PIECES):
        await response.write(_event(_chunk({"delta": {"content": "Olá "}}, None)))
        if ending == "slow":
            await asyncio.sleep(0.2)
    if ending == "cut":
        assert request.transport is not None
        request.transport.abort()
        return response
    _count(counts, usage)
    await response.write(_event(_chunk({"delta": {}}, "stop")))
    await response.write(_event({**_chunk({}, None), "choices": [], "usage": usage}))
    await response.write(b"data: [DONE]\n\n")
    return response


def _count(counts: Counts, usage: dict[str, Any]) -> None:
    counts.prompt += usage["prompt_tokens"]
    counts.cached += usage["prompt_tokens_details"]["cached_tokens"]
    counts.completion += usage["completion_tokens"]
    counts.reasoning += usage["completion_tokens_details"]["reasoning_tokens"]


def _chunk(choice: dict[str, Any], finish: str | None, usage: dict[str, Any] | None = None) -> dict[str, Any]:
    told = {} if usage is None else {"usage": usage}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, **choice, "finish_reason": finish}],
        **told,
    }


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
