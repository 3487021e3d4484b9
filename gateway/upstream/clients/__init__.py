"""What a client of a deployment is: one call out, one reply back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from gateway.wire.shapes import CHAT, Shape

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from gateway.catalog.deployments import Deployment
    from policies.labels import Label
    from retrieval.client import Passage


Verdict = Literal["hold", "pass", "unfit"]
"""What to do with a stream: hold it back, pass all of it on, or ask the deployment again."""


class Watch(Protocol):
    """Looks at a stream while nothing of it was passed on; one for one answer."""

    def see(self, payload: Mapping[str, Any]) -> Verdict:
        """What to do after this chunk of a chat completion."""
        ...


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
    shape: Shape = CHAT
    """The endpoint of the deployment that is asked, and how it answers."""
    bound: int | None = None
    """A bound from above on the prompt's tokens; None where it holds more than text."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of the gateway's own; none of a client's goes along."""
    unfit: Callable[[Mapping[str, Any]], str | None] | None = None
    """For a message of a whole answer: the name of the tool whose arguments are of no use, None if all fit."""
    watch: Callable[[], Watch] | None = None
    """The same for a stream."""


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
