"""`POST /v1/chat/completions`: a plain ASGI application before FastAPI's own routes, since this is the hot path."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import structlog

from gateway.api.auth import key_in
from gateway.api.http import ClientLeft, Exchange
from gateway.chat import answer, request
from gateway.chat.admit import Call
from gateway.errors import BadRequest, GatewayError
from policies.labels import Label, Sensitivity, join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Receive, Scope, Send

    from gateway.runtime import Runtime

log = structlog.get_logger()

_ENDPOINT = "chat.completions"
_INLINE_BYTES = 1 << 20


class ChatCompletions:
    """Answers chat completions for one runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send, self._runtime.new_id("req"))
        metrics = self._runtime.metrics
        began = time.monotonic()
        with metrics.in_flight.track_inprogress():
            try:
                await self._answer(exchange)
            except ClientLeft:
                exchange.code = "client_left"
            except GatewayError as error:
                await exchange.fail(error, {})
            except Exception as failure:  # the border of a request: nobody above could answer
                log.error("request_failed", request_id=exchange.request_id, failure=failure)
                await exchange.fail(GatewayError("the gateway failed; its log names the place"), {})
        metrics.requests.labels(_ENDPOINT, str(exchange.status), exchange.code).inc()
        metrics.seconds.labels(_ENDPOINT).observe(time.monotonic() - began)

    async def _answer(self, exchange: Exchange) -> None:
        principal = await self._runtime.principals.verify(key_in(exchange.header))
        asked_label = label_in(exchange.headers(b"soleira-label"))
        chat = await _read(await exchange.body())
        call = Call(principal, chat, exchange.request_id, asked_label)
        async with exchange.while_connected():
            await answer.answer(self._runtime, call, exchange)


async def _read(body: bytes) -> request.ChatRequest:
    """Read the body; a large one beside the loop, which has others to serve."""
    return request.read(body) if len(body) <= _INLINE_BYTES else await asyncio.to_thread(request.read, body)


def label_in(values: Sequence[str]) -> Label | None:
    """Join the `soleira-label` headers: `private`, `private+health`."""
    written = [part for value in values for part in value.split(",") if part.strip()]
    try:
        return join(Label(Sensitivity.parse(part)) for part in written) if written else None
    except ValueError as error:
        raise BadRequest(f"the header soleira-label: {error}", param="soleira-label") from None
