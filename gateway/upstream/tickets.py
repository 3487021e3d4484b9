"""Tickets of the litellm process: each lets one request out, for as long as the call it belongs to lasts."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from gateway.catalog.deployments import Deployment
    from gateway.errors import GatewayError
    from policies.labels import Label

TICKET = "soleira-ticket"
"""The header that says for which call a request is made."""
TARGET = "soleira-target"
"""The header that says where it is to go: a whole URL."""
PLACEHOLDER = "soleira-deployment-key"
"""What the litellm process has in place of a key."""


@dataclass
class Ticket:
    """One call of a deployment: one request may be made for it, to the deployment's own origin."""

    number: str
    deployment: Deployment
    label: Label
    asked: bool = False
    """True once a request was made: the deployment may have charged for it."""
    failure: GatewayError | None = None
    """Why that request failed, if it did."""
    relay: asyncio.Task[Any] | None = field(default=None, repr=False)
    """What carries that request, while it does."""


class Tickets:
    """The tickets that are valid now."""

    def __init__(self) -> None:
        self._valid: dict[str, Ticket] = {}

    @contextmanager
    def issue(self, deployment: Deployment, label: Label) -> Iterator[Ticket]:
        """A ticket that is valid as long as the context is open; leaving it hangs up."""
        ticket = Ticket(secrets.token_urlsafe(24), deployment, label)
        self._valid[ticket.number] = ticket
        try:
            yield ticket
        finally:
            del self._valid[ticket.number]
            if ticket.relay is not None:
                ticket.relay.cancel()

    def find(self, number: str) -> Ticket | None:
        return self._valid.get(number)
