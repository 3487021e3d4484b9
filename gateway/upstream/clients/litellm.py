"""The client of deployments that do not speak OpenAI's protocol: litellm translates, in a process of its own."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.errors import GatewayError, NotLocal, UpstreamError, UpstreamStarting, UpstreamUnavailable
from gateway.upstream.guard import Target
from gateway.upstream.tickets import TICKET
from policies.labels import Level, Sensitivity
from policies.zones import Addresses, Zone

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from gateway.catalog.deployments import Deployment
    from gateway.upstream.clients import Client, Outgoing, Reply
    from gateway.upstream.tickets import Ticket, Tickets
    from gateway.wire.shapes import Shape

API_BASE = "soleira-api-base"
"""The header that tells the litellm process where the provider is."""
MODEL = "soleira-litellm-model"
"""The header that tells it the model, in litellm's naming."""

_ANTHROPIC = "anthropic"
_LITELLM = "litellm"

_NATIVE = "/messages"
_OLLAMA = ("ollama/", "ollama_chat/")
_PROCESS = Zone("litellm", Sensitivity(Level.SECRET), Addresses(frozenset({"loopback"})))
"""The litellm process itself: on this machine, behind a socket, and without a way out but the exit."""


def needs_litellm(deployment: Deployment, shape: Shape) -> bool:
    """True if the deployment does not have this endpoint in a protocol that the gateway speaks itself."""
    if deployment.engine == _ANTHROPIC:
        return shape.path != _NATIVE
    return deployment.engine == _LITELLM


class LitellmClient:
    """Asks a deployment by way of the litellm process, which has a ticket for one request and no key."""

    def __init__(self, client: Client, tickets: Tickets, socket: Path) -> None:
        self._client = client
        self._tickets = tickets
        self._socket = socket

    @asynccontextmanager
    async def send(self, deployment: Deployment, outgoing: Outgoing) -> AsyncIterator[Reply]:
        """Open a reply in OpenAI's form; UpstreamError if there is none, in the words that a direct call would have."""
        if deployment.upstream_model.startswith(_OLLAMA):
            raise NotLocal(f"deployment {deployment.name!r}: write `engine: ollama`, which checks where its models run")
        async with AsyncExitStack() as stack:
            ticket = stack.enter_context(self._tickets.issue(deployment, outgoing.label))
            sent = replace(outgoing, headers=_headers(deployment, ticket))
            try:
                reply = await stack.enter_async_context(self._client.send(self._process(deployment), sent))
            except UpstreamError as error:
                raise _explained(ticket, error) from None
            yield reply

    def _process(self, deployment: Deployment) -> Deployment:
        """The litellm process in the deployment's place, with its name and its limits."""
        at = f"unix:{self._socket}:/v1"
        return replace(deployment, base_url=at, engine=_LITELLM, zone=_PROCESS, api_key=None)


def _headers(deployment: Deployment, ticket: Ticket) -> dict[str, str]:
    """Headers for the litellm process alone; the exit passes none of them on."""
    target = Target.of(deployment)
    base = target.url if target is not None else ""
    if deployment.engine == _ANTHROPIC:  # litellm puts `/v1/messages` behind it
        return {
            TICKET: ticket.number,
            MODEL: f"anthropic/{deployment.upstream_model}",
            API_BASE: base.removesuffix("/v1"),
        }
    return {TICKET: ticket.number, MODEL: deployment.upstream_model, API_BASE: base}


def _explained(ticket: Ticket, error: UpstreamError) -> GatewayError:
    """What failed: the deployment, as the exit saw it, or else the litellm process, before or after it asked."""
    if ticket.failure is not None:
        return ticket.failure
    if isinstance(error, UpstreamUnavailable) and not ticket.asked:
        return UpstreamStarting(
            f"deployment {ticket.deployment.name!r} needs the litellm process, which does not answer: it takes some "
            "seconds to start, and is started with the house if a deployment of the pack needs it",
            retry_after="5",
        )
    error.billed = ticket.asked
    return error
