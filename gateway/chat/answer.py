"""Answers a chat request: admits it, dispatches it along its route, relays what comes, records how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

import msgspec
import structlog

from gateway.chat import passages as injecting
from gateway.chat import relay
from gateway.chat.admit import Admission, Refused, admit, is_ordinary
from gateway.chat.tap import Tap
from gateway.errors import GatewayError, Unavailable
from gateway.ledger.attempt import Attempt, attempt
from gateway.ledger.entries import Hold
from gateway.ledger.price import as_usd, estimate
from gateway.privacy.conversations import Trail
from gateway.upstream import dispatch
from gateway.upstream.clients import Outgoing
from policies.pack import AUTO

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from gateway.catalog.deployments import Deployment
    from gateway.chat.admit import Call
    from gateway.db.decisions import DecisionRecord
    from gateway.runtime import Runtime
    from gateway.telemetry import Metrics

Finish = Callable[[], Awaitable[None]]
"""Sends the last of an answer, after settlement and record: whoever has the answer finds both in the ledger."""

log = structlog.get_logger()

_CLIENT_LEFT = 499
_EVENT_STREAM = b"text/event-stream; charset=utf-8"


class Listener(Protocol):
    """Whoever the answer goes to."""

    async def start(self, status: int, content_type: bytes, headers: Mapping[str, str]) -> None: ...
    async def write(self, data: bytes) -> None: ...
    async def finish(self, data: bytes = b"") -> None: ...
    async def json(self, status: int, body: bytes, headers: Mapping[str, str]) -> None: ...
    async def fail(self, error: GatewayError, headers: Mapping[str, str]) -> None: ...


async def answer(runtime: Runtime, call: Call, listener: Listener) -> None:
    """Answer the call or refuse it; either way that is on record."""
    await _remember_request(runtime, call)
    try:
        admission = await admit(runtime, call)
    except Refused as refused:
        await runtime.writer.record(refused.record)
        await listener.fail(refused.error, _headers(refused.record))
        return
    await _Answering(runtime, admission, listener).run()


class _Answering:
    """One admitted call on its way."""

    def __init__(self, runtime: Runtime, admission: Admission, listener: Listener) -> None:
        self._runtime = runtime
        self._admission = admission
        self._listener = listener
        self._record = admission.record
        self._tap = Tap(admission.prompt_tokens)
        # An answer has the label of its request: above what is ordinary, it keeps it later on.
        ordinary = is_ordinary(admission.loaded.pack, admission.call.principal, admission.label)
        self._trail = None if ordinary else Trail(runtime.conversations, admission.label)

    async def run(self) -> None:
        """Answer; the decision's record tells how that ended, also when the client leaves."""
        # Queued before the first hold, so that both are one commit; what becomes of it is awaited at the end.
        entered = asyncio.ensure_future(self._runtime.writer.record(self._record))
        self._record = replace(self._record, status=GatewayError.status, code=GatewayError.code)
        try:
            finish = await (self._stream() if self._admission.call.request.stream else self._whole())
        except asyncio.CancelledError:
            self._record = replace(self._record, status=_CLIENT_LEFT, code=None)
            raise
        except GatewayError as error:
            self._record = replace(self._record, status=error.status, code=error.code)
            finish = partial(self._listener.fail, error, _headers(self._record))
        finally:
            await asyncio.shield(asyncio.ensure_future(self._conclude(entered)))
        await finish()

    async def _whole(self) -> Finish:
        async with dispatch.answer(self._runtime.upstreams, self._dispatched()) as given:
            self._answered_by(given.deployment)
            body = relay.whole(given.body or b"", given.payload or {}, self._rewrite(given.deployment), self._tap)
            given.attempt.usage, given.attempt.bytes_out = self._tap.usage, len(body)
        self._record = replace(self._record, status=200, code=None)
        return partial(self._listener.json, 200, body, self._final_headers(given.attempt))

    async def _stream(self) -> Finish:
        async with dispatch.answer(self._runtime.upstreams, self._dispatched()) as given:
            self._answered_by(given.deployment)
            await self._listener.start(200, _EVENT_STREAM, _headers(self._record))
            if given.events is not None:
                write = self._writing(given.attempt)
                try:
                    await relay.streamed(given.events, self._rewrite(given.deployment), self._tap, write)
                finally:  # also where the client left: what went by so far is known best here
                    given.attempt.usage = self._tap.usage
        self._record = replace(self._record, status=200, code=None)
        return partial(self._listener.finish, relay.closing(self._final_headers(given.attempt)))

    def _final_headers(self, record: Attempt) -> dict[str, str]:
        return {**_headers(self._record), "soleira-cost-usd": as_usd(record.cost_nano_usd)}

    def _answered_by(self, deployment: Deployment) -> None:
        self._record = replace(self._record, zone=deployment.zone.name, deployment=deployment.name)

    def _rewrite(self, deployment: Deployment) -> relay.Rewrite:
        request = self._admission.call.request
        asked = request.model if request.model != AUTO else deployment.model
        return relay.Rewrite(
            model=None if asked == deployment.upstream_model else asked,
            strip_usage=request.stream and not request.wants_usage,
            passages=self._admission.passages,
        )

    async def _conclude(self, entered: asyncio.Future[None]) -> None:
        """Record how it ended. That the ledger cannot be written now must not spoil an answer given and settled."""
        if self._trail is None:
            self._runtime.conversations.clear(self._tap.texts)
        else:
            await self._trail.end(self._tap.texts, complete=self._record.status == HTTPStatus.OK)
        try:
            await entered
            await self._runtime.writer.record(self._record)
        except Unavailable as failure:
            log.error("decision_not_closed", decision=self._record.id, failure=failure)

    def _dispatched(self) -> dispatch.Call:
        return dispatch.Call(self._admission.route, self._outgoing, self._attempt)

    def _outgoing(self, deployment: Deployment) -> Outgoing:
        """What this deployment is sent: the client's bytes but for the few members that must change."""
        admission, request = self._admission, self._admission.call.request
        changes: dict[str, bytes] = {}
        if request.fields.model != deployment.upstream_model:
            changes["model"] = msgspec.json.encode(deployment.upstream_model)
        if request.stream and not request.wants_usage:
            asked = request.body.tree.get("stream_options") or {}
            changes["stream_options"] = msgspec.json.encode({**asked, "include_usage": True})
        if request.collections:
            changes["messages"] = injecting.inject(request, admission.passages, admission.language)
        return Outgoing(
            body=request.body.splice(changes),
            label=admission.label,
            stream=request.stream,
            question=request.question,
            passages=admission.passages,
            language=admission.language,
        )

    @asynccontextmanager
    async def _attempt(self, deployment: Deployment, ordinal: int) -> AsyncGenerator[Attempt, None]:
        """Hold and settle one attempt, and count it once it is settled."""
        runtime, admission = self._runtime, self._admission
        request = admission.call.request
        most = deployment.max_output or request.max_output or admission.loaded.pack.max_output
        output = min(request.max_output or most, most)
        hold = Hold(
            id=runtime.new_id("att"),
            decision_id=admission.record.id,
            request_id=admission.record.request_id,
            ordinal=ordinal,
            principal=admission.record.principal,
            deployment=deployment,
            estimate=estimate(admission.prompt_tokens, output * request.choices, deployment.price),
            started_at=runtime.now(),
        )
        record: Attempt | None = None
        try:
            async with attempt(runtime.writer, hold) as record:
                yield record
        finally:
            if record is not None:
                _count(runtime.metrics, record)

    def _writing(self, record: Attempt) -> Callable[[bytes], Awaitable[None]]:
        async def write(data: bytes) -> None:
            if self._trail is not None:
                await self._trail.follow(self._tap.texts)
            await self._listener.write(data)
            record.bytes_out += len(data)

        return write


async def _remember_request(runtime: Runtime, call: Call) -> None:
    """What was labelled by hand keeps its label where it comes up again without that hand."""
    label = call.asked_label
    if label is None or is_ordinary(runtime.packs.current.pack, call.principal, label):
        return
    await runtime.conversations.remember_messages(call.request.messages, label)


def _count(metrics: Metrics, record: Attempt) -> None:
    deployment, zone = record.hold.deployment.name, record.hold.deployment.zone.name
    metrics.attempts.labels(deployment, zone, record.outcome or "failed").inc()
    metrics.cost.labels(deployment, zone).inc(record.cost_nano_usd)
    for lane in ("fresh", "cached", "output", "reasoning"):
        metrics.tokens.labels(deployment, lane).inc(getattr(record.charged, lane))


def _headers(record: DecisionRecord) -> dict[str, str]:
    """What the decision says of itself in an answer's headers."""
    headers = {
        "soleira-decision": record.id,
        "soleira-label": record.label,
        "soleira-policy": record.policy_version,
        "soleira-rule": record.rule,
        "soleira-zone": record.zone,
        "soleira-deployment": record.deployment,
    }
    return {name: value for name, value in headers.items() if value is not None}
