"""A fake upstream: a raw HTTP/1.1 server that writes exactly the bytes it is told, faults included."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tests.wire.serving import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

Ending = Literal["keep", "close", "abort", "hang"]
"""`keep` the connection for the next request, `close` it, `abort` it by a reset, or `hang` until the client leaves."""


@dataclass(frozen=True)
class Script:
    """What is answered to one request: pieces of bytes with a pause before each, then an ending."""

    pieces: tuple[bytes, ...]
    pause: float = 0.0
    ending: Ending = "close"


@dataclass(frozen=True)
class Request:
    """A request as it arrived."""

    head: bytes
    body: bytes

    @property
    def path(self) -> str:
        return self.head.split(b" ", 2)[1].decode()

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}


@dataclass
class Upstream:
    """Answers the n-th request with the n-th script, later ones with the last; it says nothing of itself (GET)."""

    scripts: tuple[Script, ...]
    port: int = 0
    connections: int = 0
    requests: list[Request] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a request arrived."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a client closed its connection."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await _request(reader)
        if first is not None and first.head.startswith(b"GET "):
            await _play(_NOTHING_HERE, writer)
            return
        self.connections += 1
        async for request in _requests(first, reader):
            self.requests.append(request)
            self.asked.set()
            script = self.scripts[min(len(self.requests), len(self.scripts)) - 1]
            await _play(script, writer)
            if script.ending == "hang":
                await reader.read()
            if script.ending == "abort":
                writer.transport.abort()
            if script.ending != "keep":
                break
        if reader.at_eof():
            self.left.set()


@asynccontextmanager
async def fake_upstream(*scripts: Script) -> AsyncIterator[Upstream]:
    """Listen on a free loopback port until the context is left."""
    upstream = Upstream(scripts)
    async with serving(upstream.handle) as port:
        upstream.port = port
        yield upstream


def answer(
    body: object, *, status: int = 200, headers: Mapping[str, str] | None = None, ending: Ending = "close"
) -> Script:
    """A whole answer: JSON for anything but bytes."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Script((_head(status, {"Content-Length": str(len(content)), **(headers or {})}) + content,), ending=ending)


def stream(*events: object, pause: float = 0.0, ending: Ending = "close", end: str = "\n") -> Script:
    """A stream whose events are JSON, or bytes as they are; it ends where it is told, by closing or otherwise."""
    return Script((STREAM_HEAD, *(_event(event, end) for event in events)), pause=pause, ending=ending)


def bytewise(script: Script) -> Script:
    """The same bytes, one to a packet."""
    whole = b"".join(script.pieces)
    return Script(tuple(whole[i : i + 1] for i in range(len(whole))), pause=0.0001, ending=script.ending)


def delta(content: str, **more: object) -> dict[str, Any]:
    """A chunk of a chat stream."""
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": None}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more}


def finish(reason: str = "stop", **more: object) -> dict[str, Any]:
    """The chunk that ends a choice."""
    choice = {"index": 0, "delta": {}, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more}


def completion(content: str = "Olá", **more: object) -> dict[str, Any]:
    """A whole chat answer."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage, **more}


DONE = b"data: [DONE]\n\n"


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines: Iterable[str] = (f"{name}: {value}" for name, value in headers.items())
    return "\r\n".join([f"HTTP/1.1 {status} Said", "Content-Type: application/json", *lines, "", ""]).encode("latin-1")


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def _event(event: object, end: str) -> bytes:
    if isinstance(event, bytes):
        return event
    return f"data: {json.dumps(event, ensure_ascii=False)}{end}{end}".encode()


_NOTHING_HERE = answer({"error": {"message": "there is nothing here"}}, status=404)


async def _requests(first: Request | None, reader: asyncio.StreamReader) -> AsyncIterator[Request]:
    request = first
    while request is not None:
        yield request
        request = await _request(reader)


async def _request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    request = Request(head, b"")
    return Request(head, await reader.readexactly(int(request.headers.get("content-length", "0"))))


async def _play(script: Script, writer: asyncio.StreamWriter) -> None:
    for piece in script.pieces:
        if script.pause:
            await asyncio.sleep(script.pause)
        writer.write(piece)
        await writer.drain()
