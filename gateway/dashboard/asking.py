"""Asks a question of the page: the very chat path, its answer streamed to the browser."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
import structlog
from fastapi.responses import StreamingResponse

from gateway.chat import answer, request
from gateway.chat.admit import Call
from gateway.errors import BadRequest, GatewayError
from gateway.principals import ADMIN
from gateway.wire.sse import event_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fastapi.responses import HTMLResponse
    from starlette.types import Send

    from gateway.runtime import Runtime

log = structlog.get_logger()

_ENDPOINT = "dashboard.ask"
_DECISION = "soleira-decision"


def call(runtime: Runtime, question: str, model: str, collection: str) -> Call:
    """The admin's call; BadRequest if there is nothing to ask."""
    if not question.strip():
        raise BadRequest("the question is empty: type one first")
    body = {
        "model": f"{model}@{collection}" if collection else model,
        "stream": True,
        "messages": [{"role": "user", "content": question}],
    }
    return Call(ADMIN, request.read(msgspec.json.encode(body)), runtime.new_id("req"))


class Streamed(StreamingResponse):
    """An answer on its way to the page. It ends once its decision is on record, so the page may then ask for that."""

    def __init__(self, runtime: Runtime, call: Call, refusal: Callable[[GatewayError], HTMLResponse]) -> None:
        super().__init__(())
        self._runtime = runtime
        self._call = call
        self._refusal = refusal

    async def stream_response(self, send: Send) -> None:
        """Answer the call; a browser that leaves cancels it."""
        listener = _Listener(send, self.headers, self._refusal)
        metrics = self._runtime.metrics
        began = time.monotonic()
        code = "client_left"
        try:
            with metrics.in_flight.track_inprogress():
                await answer.answer(self._runtime, self._call, listener)
            code = listener.code
        except GatewayError as error:
            code = error.code
            await listener.fail(error, {})
        except Exception as failure:  # the border of a request: nobody above could answer
            code = GatewayError.code
            log.error("request_failed", request_id=self._call.request_id, failure=failure)
            await listener.fail(GatewayError("the gateway failed; its log names the place"), {})
        finally:
            metrics.requests.labels(_ENDPOINT, str(listener.status), code).inc()
            metrics.seconds.labels(_ENDPOINT).observe(time.monotonic() - began)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Listener:
    """The browser, as the chat path sees it."""

    def __init__(self, send: Send, headers: Mapping[str, str], refusal: Callable[[GatewayError], HTMLResponse]) -> None:
        self._send = send
        self._headers = headers
        self._refusal = refusal
        self.started = False
        self.status = 0
        self.code = ""

    async def start(self, status: int, content_type: bytes, headers: Mapping[str, str]) -> None:
        self.started, self.status = True, status
        own = {_DECISION: headers[_DECISION]} if _DECISION in headers else {}
        pairs = [(name.encode("ascii"), value.encode("latin-1")) for name, value in {**self._headers, **own}.items()]
        start = {"status": status, "headers": [*pairs, (b"content-type", content_type)]}
        await self._send({"type": "http.response.start", **start})

    async def write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def finish(self, data: bytes = b"") -> None:
        await self.write(data)

    async def json(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        await self.start(status, b"application/json", headers)
        await self.write(body)

    async def fail(self, error: GatewayError, headers: Mapping[str, str], last: bytes | None = None) -> None:
        self.code = error.code
        if self.started:
            await self.write(event_of(error.body()))
            return
        await self.start(error.status, b"text/html; charset=utf-8", headers)
        await self.write(bytes(self._refusal(error).body))
