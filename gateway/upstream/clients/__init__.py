"""What a client of a deployment is: one call out, one reply back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from gateway.catalog.deployments import Deployment
    from policies.labels import Label
    from retrieval.client import Passage


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What goes to one deployment, with the label that its zone is held against."""

    body: bytes
    label: Label
    stream: bool
    question: str = ""
    passages: Sequence[Passage] = ()
    language: str = "en"
    """The question's language: `pt` or `en`."""


class Reply(Protocol):
    """A deployment's answer, whose status was a success; failures come as UpstreamError from `send`."""

    status: int
    headers: Mapping[str, str]
    stream: bool
    """True if the answer is a stream of server-sent events."""

    async def read(self, limit: int) -> bytes:
        """The whole answer; UpstreamCut if it ends early or is longer than `limit`."""
        ...

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """The answer as its bytes come."""
        ...


class Client(Protocol):
    """Asks one deployment, once."""

    def send(self, deployment: Deployment, outgoing: Outgoing) -> AbstractAsyncContextManager[Reply]:
        """Open a reply; leaving the context hangs up."""
        ...
