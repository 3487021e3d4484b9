"""One HTTP exchange over ASGI: reading the body within a limit, answering, and noticing that the client left."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from gateway.errors import BodyTooLarge

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from starlette.types import Receive, Scope, Send

    from gateway.chat.formats import Format
    from gateway.errors import GatewayError

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Room for a few dozen images; more is refused while it is read."""

_PRIVATE = [(b"cache-control", b"private, no-store")]


class ClientLeft(Exception):
    """The client closed its connection before the answer was complete."""


class Exchange:
    """A request being answered.

    `started` tells whether the answer's status went out already, `code` how it failed, if it did.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, form: Format, request_id: str) -> None:
        self._form = form
        self._scope = scope
        self._receive = receive
        self._send = send
        self.request_id = request_id
        self.started = False
        self.status = 0
        self.code = ""

    def header(self, name: bytes) -> str | None:
        """The first header of that (lower-case) name."""
        headers: Iterable[tuple[bytes, bytes]] = self._scope["headers"]
        return next((value.decode("latin-1") for key, value in headers if key == name), None)

    def headers(self, name: bytes) -> list[str]:
        """All headers of that (lower-case) name."""
        return [value.decode("latin-1") for key, value in self._scope["headers"] if key == name]

    async def body(self) -> bytes:
        """Read the whole body; BodyTooLarge as soon as it passes the limit."""
        declared = self.header(b"content-length")
        if declared is not None and declared.isdigit() and int(declared) > MAX_BODY_BYTES:
            raise _too_large()
        chunks, size = [], 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientLeft
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > MAX_BODY_BYTES:
                raise _too_large()
            if not message.get("more_body", False):
                return b"".join(chunks)

    async def start(self, status: int, content_type: bytes, headers: Mapping[str, str]) -> None:
        """Send the status and the headers."""
        self.started, self.status = True, status
        own = [(name.encode("ascii"), header_value(value)) for name, value in headers.items()]
        request_id = self.request_id.encode("ascii")
        named = [(b"content-type", content_type), *((name, request_id) for name in self._form.request_id_headers)]
        fixed = [*named, *_PRIVATE]
        await self._send({"type": "http.response.start", "status": status, "headers": fixed + own})

    async def write(self, data: bytes) -> None:
        """Send a part of the body."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def finish(self, data: bytes = b"") -> None:
        """Send the last part of the body."""
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def json(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """Answer with a JSON document."""
        await self.start(status, b"application/json", {**headers, "content-length": str(len(body))})
        await self.finish(body)

    async def fail(self, error: GatewayError, headers: Mapping[str, str], last: bytes | None = None) -> None:
        """Answer with the endpoint's error body: with its status, or as the last event of a stream that has begun."""
        self.code = error.code
        if self.started:
            await self.finish(self._form.broken_off(error, self.request_id) if last is None else last)
            return
        body = self._form.error_body(error, self.request_id)
        await self.json(error.status, msgspec.json.encode(body), {**headers, **error.all_headers()})

    @asynccontextmanager
    async def while_connected(self) -> AsyncGenerator[None, None]:
        """Cancel what is inside when the client leaves, and raise ClientLeft in its place."""
        inside = asyncio.current_task()
        assert inside is not None  # noqa: S101 - for the type checker: ASGI servers run requests in tasks
        left = False

        async def watch() -> None:
            nonlocal left
            while (await self._receive())["type"] != "http.disconnect":
                pass
            left = True
            inside.cancel()

        watcher = asyncio.create_task(watch())
        try:
            yield
        except asyncio.CancelledError:
            if left and inside.uncancel() == 0:
                raise ClientLeft from None
            raise
        finally:
            watcher.cancel()


def header_value(text: str) -> bytes:
    """A header's value: other characters than printable ASCII are percent-encoded, as in a URL."""
    return b"".join(
        bytes([byte]) if 0x20 <= byte < 0x7F and byte != 0x25 else b"%%%02X" % byte for byte in text.encode("utf-8")
    )


def _too_large() -> BodyTooLarge:
    return BodyTooLarge(f"the request body is larger than {MAX_BODY_BYTES // 2**20} MiB: send fewer or smaller parts")
