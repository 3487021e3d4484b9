"""The endpoints that models answer: plain ASGI applications before FastAPI's own routes, since this is the hot path."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import msgspec
import structlog

from gateway.api.auth import key_in
from gateway.api.http import ClientLeft, Exchange
from gateway.chat import answer, count, formats, request
from gateway.chat.admit import Call
from gateway.errors import BadRequest, Forbidden, GatewayError
from gateway.wire import messages, spans
from policies.labels import Label, Sensitivity, join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Receive, Scope, Send

    from gateway.chat.formats import Format
    from gateway.principals import Principal
    from gateway.runtime import Runtime

Work = Callable[["Runtime", Exchange], Awaitable[None]]
"""Answers one exchange."""

log = structlog.get_logger()

_Read = TypeVar("_Read")

_INLINE_BYTES = 1 << 20


class Endpoint:
    """The border of a request: whatever happens inside, the client gets an answer in its endpoint's form."""

    def __init__(self, runtime: Runtime, form: Format, work: Work | None = None) -> None:
        self._runtime = runtime
        self._form = form
        self._work = work or partial(_infer, form)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send, self._form, self._runtime.new_id("req"))
        metrics = self._runtime.metrics
        began = time.monotonic()
        with metrics.in_flight.track_inprogress():
            try:
                await self._work(self._runtime, exchange)
            except ClientLeft:
                exchange.code = "client_left"
            except GatewayError as error:
                await exchange.fail(error, {})
            except Exception as failure:  # the border of a request: nobody above could answer
                log.error("request_failed", request_id=exchange.request_id, failure=failure)
                await exchange.fail(GatewayError("the gateway failed; its log names the place"), {})
        metrics.requests.labels(self._form.name, str(exchange.status), exchange.code).inc()
        metrics.seconds.labels(self._form.name).observe(time.monotonic() - began)


async def _infer(form: Format, runtime: Runtime, exchange: Exchange) -> None:
    principal = await _caller(runtime, exchange)
    asked_label = label_in(exchange.headers(b"soleira-label"))
    asked = await _read(await exchange.body(), partial(request.read, form=form))
    tags = exchange.headers(b"soleira-tag")
    tag = ",".join(tags) if tags else None  # a header said twice is a list, and no list is a tag
    call = Call(principal, asked, exchange.request_id, asked_label, tag, _declines_cache(exchange))
    async with exchange.while_connected():
        await answer.answer(runtime, call, exchange)


async def _caller(runtime: Runtime, exchange: Exchange) -> Principal:
    """The principal; Forbidden for one who only reads figures."""
    principal = await runtime.principals.verify(key_in(exchange.header))
    if principal.role == "reader":
        raise Forbidden("this key reads figures and calls no model: ask the owner for a key of role 'caller'")
    return principal


def _declines_cache(exchange: Exchange) -> bool:
    wishes = ",".join(exchange.headers(b"cache-control")).lower()
    return "no-cache" in wishes or "no-store" in wishes


async def _read(body: bytes, reader: Callable[[bytes], _Read]) -> _Read:
    """Read the body; a large one beside the loop, which has others to serve."""
    return reader(body) if len(body) <= _INLINE_BYTES else await asyncio.to_thread(reader, body)


async def count_tokens(runtime: Runtime, exchange: Exchange) -> None:
    """Count a request's tokens: exactly where the deployment that would be asked counts, else a bound from above."""
    principal = await _caller(runtime, exchange)
    asked_label = label_in(exchange.headers(b"soleira-label"))
    body = await exchange.body()
    bound = await _read(body, _bound)
    async with exchange.while_connected():
        try:
            asked = await _read(body, partial(request.read, form=formats.COUNT_TOKENS))
            counted = await count.count(runtime, Call(principal, asked, exchange.request_id, asked_label))
        except GatewayError:
            counted = None  # nobody could be asked it; its bound is known all the same
    tokens, headers = (bound, {}) if counted is None else (counted.tokens, counted.headers)
    await exchange.json(200, msgspec.json.encode({"input_tokens": tokens}), headers)


def _bound(body: bytes) -> int:
    return messages.count_tokens(spans.read(body).tree)


PATHS: dict[str, Format] = {
    "/v1/chat/completions": formats.CHAT_COMPLETIONS,
    "/v1/completions": formats.COMPLETIONS,
    "/v1/responses": formats.RESPONSES,
    "/v1/messages": formats.MESSAGES,
    "/v1/embeddings": formats.EMBEDDINGS,
    "/v1/rerank": formats.RERANK,
    "/v2/rerank": formats.RERANK,
}
"""Where each endpoint is found; all of them are POST."""


def label_in(values: Sequence[str]) -> Label | None:
    """Join the `soleira-label` headers: `private`, `private+health`."""
    written = [part for value in values for part in value.split(",") if part.strip()]
    try:
        return join(Label(Sensitivity.parse(part)) for part in written) if written else None
    except ValueError as error:
        raise BadRequest(f"the header soleira-label: {error}", param="soleira-label") from None
