"""Answers a request: admits it, dispatches it along its route, relays what comes, records how it ended."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

import structlog

from gateway.chat import relay
from gateway.chat.admit import Admission, Refused, admit, is_ordinary, limited_account
from gateway.chat.attempts import Attempts, most_tokens
from gateway.chat.keeping import Keeping
from gateway.chat.outgoing import prepared, usage_chunk
from gateway.chat.pulse import KEEP_ALIVE, Pulse, pulse
from gateway.chat.tap import Tap
from gateway.errors import GatewayError, Unavailable
from gateway.ledger.price import as_usd
from gateway.privacy.conversations import Trail
from gateway.upstream import dispatch
from gateway.upstream.dialects.normal import Normaliser
from gateway.wire.shapes import CHAT
from policies.pack import AUTO

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.catalog.deployments import Deployment
    from gateway.chat.admit import Call
    from gateway.chat.outgoing import Prepared
    from gateway.chat.request import Request
    from gateway.db.decisions import DecisionRecord
    from gateway.ledger.attempt import Attempt
    from gateway.ledger.limits import Grant
    from gateway.response_cache import Kept
    from gateway.runtime import Runtime
    from gateway.upstream.clients import Outgoing
    from gateway.wire.shapes import Rendering

Finish = Callable[[], Awaitable[None]]
"""Sends the last of an answer, after settlement and record: whoever has the answer finds both in the ledger."""

log = structlog.get_logger()

_CLIENT_LEFT = 499
_LANES = {"embeddings": "embedding", "rerank": "rerank"}
"""Where the input belongs of endpoints that write nothing."""
_EVENT_STREAM = b"text/event-stream; charset=utf-8"


class Listener(Protocol):
    """Whoever the answer goes to."""

    async def start(self, status: int, content_type: bytes, headers: Mapping[str, str]) -> None: ...
    async def write(self, data: bytes) -> None: ...
    async def finish(self, data: bytes = b"") -> None: ...
    async def json(self, status: int, body: bytes, headers: Mapping[str, str]) -> None: ...
    async def fail(self, error: GatewayError, headers: Mapping[str, str], last: bytes | None = None) -> None:
        """Refuse; `last` is what a stream ends with that has begun, None: the endpoint's usual form."""
        ...


async def answer(runtime: Runtime, call: Call, listener: Listener) -> None:
    """Answer the call or refuse it; either way that is on record."""
    pack = runtime.packs.current.pack
    account = limited_account(pack, call)
    async with runtime.limits.enter(pack, call.principal.limits, account, most_tokens(pack, call)) as grant:
        grant.used(0)  # a request that is refused uses nothing
        await _remember_request(runtime, call)
        try:
            admission = await admit(runtime, call)
        except Refused as refused:
            await runtime.writer.record(refused.record)
            await listener.fail(refused.error, {**headers_of(refused.record), **grant.headers()})
            return
        await _Answering(runtime, admission, listener, grant).run()


class _Answering:
    """One admitted call on its way."""

    def __init__(self, runtime: Runtime, admission: Admission, listener: Listener, grant: Grant) -> None:
        self._runtime = runtime
        self._admission = admission
        self._listener = listener
        self._grant = grant
        self._keeping = Keeping(runtime.cache, admission)
        self._answered: Attempt | None = None
        """The attempt that answered, from its beginning to its end."""
        self._record = admission.record
        self._tap = Tap(admission.prompt_tokens, _LANES.get(admission.call.request.format.endpoint, "fresh"))
        self._attempts = Attempts(runtime, admission, self._tap)
        self._rendering: Rendering | None = None
        self._sent: dict[str, Prepared] = {}
        """What each deployment of the route was asked."""
        self._pulse: Pulse | None = None
        self._started = False
        # An answer has the label of its request: above what is ordinary, it keeps it later on.
        ordinary = is_ordinary(admission.loaded.pack, admission.call.principal, admission.label)
        self._trail = None if ordinary else Trail(runtime.conversations, admission.label)

    async def run(self) -> None:
        """Answer; the decision's record tells how that ended, also when the client leaves."""
        # Queued before the first hold, so that both are one commit; what becomes of it is awaited at the end.
        entered = asyncio.ensure_future(self._runtime.writer.record(self._record))
        self._record = replace(self._record, status=GatewayError.status, code=GatewayError.code)
        try:
            finish = await self._given()
        except asyncio.CancelledError:
            self._record = replace(self._record, status=_CLIENT_LEFT, code=None)
            raise
        except GatewayError as error:
            self._record = replace(self._record, status=error.status, code=error.code)
            finish = partial(self._listener.fail, error, self._headers(), self._broken_off(error))
        finally:
            await asyncio.shield(asyncio.ensure_future(self._conclude(entered)))
        if self._answered is not None:
            # Before the last bytes: whoever has the whole answer gets it again from here.
            await self._keeping.keep(self._answered)
        await finish()

    async def _given(self) -> Finish:
        """The answer, out of the response cache where it is kept there, else from the route; all but its last bytes."""
        found = await self._keeping.found()
        if found is not None:
            return await self._again(*found)
        return await (self._stream() if self._request.stream else self._whole())

    async def _again(self, deployment: Deployment, kept: Kept) -> Finish:
        async with self._attempts.open_again(deployment, kept) as record:
            record.bytes_out = len(kept.body)
        zone, name = deployment.zone.name, deployment.name
        self._record = replace(self._record, zone=zone, deployment=name, status=200, code=None)
        headers = {**self._final_headers(record), "soleira-cache": "hit"}
        if not self._request.stream:
            return partial(self._listener.json, 200, kept.body, headers)
        await self._listener.start(200, _EVENT_STREAM, headers)
        await self._listener.write(kept.body)
        return partial(self._listener.finish, relay.closing(headers, self._request.format.done))

    async def _whole(self) -> Finish:
        async with dispatch.answer(self._runtime.upstreams, self._dispatched()) as given:
            rewrite = self._answered_by(given)
            body = relay.whole(given.body or b"", given.payload or {}, rewrite, self._tap)
            self._note(given.attempt)
            given.attempt.bytes_out = len(body)
        self._keeping.see(body)
        self._answered = given.attempt
        self._record = replace(self._record, status=200, code=None)
        return partial(self._listener.json, 200, body, self._final_headers(given.attempt))

    async def _stream(self) -> Finish:
        async with (
            pulse(self._beat, self._admission.loaded.pack.keep_alive) as self._pulse,
            dispatch.answer(self._runtime.upstreams, self._dispatched()) as given,
        ):
            rewrite = self._answered_by(given)
            await self._start()
            if given.events is not None:
                try:
                    await relay.streamed(given.events, rewrite, self._tap, self._writing(given.attempt))
                finally:  # also where the client left: what went by so far is known best here
                    self._note(given.attempt)
        self._answered = given.attempt
        self._record = replace(self._record, status=200, code=None)
        closing = relay.closing(self._final_headers(given.attempt), self._request.format.done)
        return partial(self._listener.finish, closing)

    @property
    def _request(self) -> Request:
        return self._admission.call.request

    def _broken_off(self, error: GatewayError) -> bytes:
        """What a stream that has begun ends with: its rendering's own failure, or its endpoint's."""
        if self._rendering is not None:
            return self._rendering.failed(error.inner())
        return self._request.format.broken_off(error, self._record.request_id, self._tap.last)

    async def _start(self) -> None:
        """Send status and headers, unless a keep-alive did that already."""
        if not self._started:
            self._started = True
            await self._listener.start(200, _EVENT_STREAM, self._headers())

    async def _beat(self) -> None:
        """Let the client know that the answer is awaited; its first event is still anybody's of the route."""
        await self._start()
        await self._listener.write(KEEP_ALIVE)

    def _note(self, record: Attempt) -> None:
        """Write down what went by."""
        usage = self._tap.usage
        # What an endpoint without an answer in words did not say is known no better than when it was held.
        record.usage = None if usage.estimated and self._request.chat is None else usage
        record.service_tier = self._tap.service_tier
        record.answered_by(self._tap.model)

    def _headers(self) -> dict[str, str]:
        sent = self._sent.get(self._record.deployment or "")
        known = {**headers_of(self._record), **self._grant.headers()}
        if sent is None:
            return known
        dropped = {"soleira-dropped-params": ", ".join(sent.dropped)} if sent.dropped else {}
        limited = {} if sent.limit is None else {"soleira-max-output": str(sent.limit)}
        return known | dropped | limited

    def _final_headers(self, record: Attempt) -> dict[str, str]:
        return {**self._headers(), "soleira-cost-usd": as_usd(record.cost_nano_usd)}

    def _answered_by(self, given: dispatch.Answer) -> relay.Rewrite:
        """Note who answers; what that means for the answer on its way to the client."""
        deployment, request = given.deployment, self._request
        shape = self._sent[deployment.name].outgoing.shape
        self._record = replace(self._record, zone=deployment.zone.name, deployment=deployment.name)
        asked = request.model if request.model != AUTO else deployment.model
        if shape is not request.format.shape and request.format.rendering is not None:
            created = int(self._runtime.now().timestamp())
            self._rendering = request.format.rendering(request.body.tree, asked, created, self._runtime.new_id)
        return relay.Rewrite(
            shape=shape,
            normaliser=Normaliser(self._runtime.new_id, _tool_choice(request)) if shape is CHAT else None,
            rendering=self._rendering,
            model=None if asked == deployment.upstream_model else asked,
            is_own=deployment.is_called,
            usage=usage_chunk(request, shape.path),
            finish=None if request.format.finish is None else partial(request.format.finish, request.body.tree),
            closing=request.format.closing_event if self._rendering is None else None,
            passages=self._admission.passages,
        )

    async def _conclude(self, entered: asyncio.Future[None]) -> None:
        """Record how it ended. That the ledger cannot be written now must not spoil an answer given and settled."""
        self._grant.used(self._attempts.tokens)
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
        return dispatch.Call(self._admission.route, self._outgoing, self._attempts.open)

    def _outgoing(self, deployment: Deployment) -> Outgoing:
        """What this deployment is sent; what of the request it is not sent is remembered."""
        limit = self._attempts.limit(deployment)
        sent = self._sent[deployment.name] = prepared(self._admission, deployment, self._salt(), limit)
        return sent.outgoing

    def _salt(self) -> str:
        """Keeps callers apart in a prefix cache that they share: whose prompts are in it can be told by its speed."""
        name = self._admission.call.principal.name
        return hmac.digest(self._runtime.secret, b"cache salt " + name.encode(), "sha256").hex()[:32]

    def _writing(self, record: Attempt) -> Callable[[bytes], Awaitable[None]]:
        async def write(data: bytes) -> None:
            if self._trail is not None:
                await self._trail.follow(self._tap.texts)
            if self._pulse is not None:
                self._pulse.said()
            self._keeping.see(data)
            await self._listener.write(data)
            record.bytes_out += len(data)

        return write


async def _remember_request(runtime: Runtime, call: Call) -> None:
    """What was labelled by hand keeps its label where it comes up again without that hand."""
    label = call.asked_label
    if label is None or is_ordinary(runtime.packs.current.pack, call.principal, label):
        return
    await runtime.conversations.remember_messages(call.request.messages, label)


def _tool_choice(request: Request) -> object:
    return None if request.chat is None else request.chat.tree.get("tool_choice")


def headers_of(record: DecisionRecord) -> dict[str, str]:
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
