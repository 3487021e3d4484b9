"""The exit: the litellm process's only way out, one request for each call, through the guard."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote, urlsplit

from gateway.errors import GatewayError, UpstreamError
from gateway.upstream.clients import Outgoing
from gateway.upstream.guard import Target
from gateway.upstream.tickets import PLACEHOLDER, TARGET, TICKET
from gateway.wire.shapes import ChatShape

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    from gateway.catalog.deployments import Deployment
    from gateway.upstream.clients import Client, Reply
    from gateway.upstream.tickets import Ticket, Tickets

    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_LONGEST_BODY = 256 * 1024 * 1024
_PORTS = {"http": 80, "https": 443}
# The connection's own, what the guard sets itself, and what tells strangers about this machine.
_NOT_PASSED_ON = frozenset(
    """
    accept-encoding connection content-length content-type cookie expect forwarded host keep-alive proxy-authorization
    proxy-connection te trailer transfer-encoding upgrade user-agent via
    """.split()
)
_PREFIXES_NOT_PASSED_ON = ("soleira-", "x-stainless-", "x-forwarded-", "x-litellm-")


class _NotAllowed(Exception):
    """A request that holds no ticket for what it asks."""


class _At(ChatShape):
    """Any path below an origin."""

    def __init__(self, path: str) -> None:
        self.path = path


class Exit:
    """An ASGI application, served on a socket that only the litellm process is told of."""

    def __init__(self, client: Client, tickets: Tickets) -> None:
        self._client = client
        self._tickets = tickets

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        headers = _read(scope.get("headers", ()))
        try:
            ticket = self._stamped(scope, headers)
            target = _inside(ticket.deployment, headers.get(TARGET, ""))
            ticket.asked = True  # from here on there is no second request
        except _NotAllowed as refused:
            await _say(send, HTTPStatus.FORBIDDEN, str(refused))
            return
        ticket.relay = asyncio.current_task()
        try:
            await self._relay(ticket, _errand(ticket.deployment, target, headers), receive, send)
        finally:
            ticket.relay = None

    def _stamped(self, scope: Mapping[str, Any], headers: Mapping[str, str]) -> Ticket:
        ticket = self._tickets.find(headers.get(TICKET, ""))
        if ticket is None:
            raise _NotAllowed("no valid ticket")
        if scope.get("method") != "POST":
            raise _NotAllowed("a call is one POST; nothing else is fetched for it")
        if ticket.asked:
            raise _NotAllowed("the ticket is used: one call makes one request")
        return ticket

    async def _relay(self, ticket: Ticket, errand: _Errand, receive: Receive, send: Send) -> None:
        begun = False
        try:
            body = await _body(receive)
            outgoing = Outgoing(body, ticket.label, stream=False, shape=_At(errand.path), headers=errand.headers)
            async with self._client.send(_bare(ticket.deployment), outgoing) as reply:
                await send(_start(reply))
                begun = True
                async for chunk in reply.chunks():
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except GatewayError as error:
            ticket.failure = error
            if begun:
                raise  # the server hangs up, so that a cut answer does not look like a complete one
            await _say(send, HTTPStatus.BAD_REQUEST, "the deployment did not answer")
            return
        await send({"type": "http.response.body", "body": b""})


@dataclass(frozen=True, slots=True)
class _Errand:
    """What is asked of the deployment's origin: a path with its query, which can hold the key, and headers."""

    path: str = field(repr=False)
    headers: Mapping[str, str]


def _inside(deployment: Deployment, target: str) -> SplitResult:
    """The target, if it lies at the deployment's origin."""
    own = Target.of(deployment)
    try:
        asked = urlsplit(target)
        if own is None or asked.username is not None or _origin(asked) != _origin(urlsplit(own.url)):
            raise _NotAllowed("the target is not the deployment's own")
    except ValueError:
        raise _NotAllowed("the target is no URL") from None
    return asked


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or _PORTS.get(url.scheme)


def _bare(deployment: Deployment) -> Deployment:
    """The deployment's origin; the errand has the path, and a placeholder where the guard puts the key."""
    target = Target.of(deployment)
    if target is None:
        return deployment
    url = urlsplit(target.url)
    base = f"{url.scheme}://{url.netloc}" if target.socket is None else f"unix:{target.socket}:"
    return replace(deployment, base_url=base, engine="litellm")


def _errand(deployment: Deployment, target: SplitResult, headers: Mapping[str, str]) -> _Errand:
    """What is passed on. The key is put into a query here, into headers by the guard; without one none is pretended."""
    key = deployment.api_key
    query = target.query.replace(PLACEHOLDER, quote(key or "", safe=""))
    passed = {
        name: value
        for name, value in headers.items()
        if _is_passed_on(name) and (key is not None or PLACEHOLDER not in value)
    }
    return _Errand((target.path or "/") + (f"?{query}" if query else ""), passed)


def _is_passed_on(header: str) -> bool:
    return header not in _NOT_PASSED_ON and not header.startswith(_PREFIXES_NOT_PASSED_ON)


def _read(headers: Any) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > _LONGEST_BODY or message["type"] == "http.disconnect":
            raise UpstreamError("the request for the deployment did not arrive whole")
        if not message.get("more_body", False):
            return bytes(body)


def _start(reply: Reply) -> MutableMapping[str, Any]:
    kind = reply.headers.get("Content-Type", "application/json")
    return {
        "type": "http.response.start",
        "status": HTTPStatus.OK.value,
        "headers": [(b"content-type", kind.encode("latin-1", "replace"))],
    }


async def _say(send: Send, status: HTTPStatus, message: str) -> None:
    body = f'{{"error":{{"message":"{message}","type":"upstream_error","param":null,"code":"exit"}}}}'.encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": body})
