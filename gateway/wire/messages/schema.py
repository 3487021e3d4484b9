"""The bodies of the Messages endpoints: what is read of them; other fields are allowed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from gateway.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

MaxTokens = Annotated[int, Meta(ge=0, le=100_000_000)]
"""A limit on output tokens; zero asks for the prompt to be cached and nothing more."""
_PLACE = re.compile(r" - at `\$\.?(.*)`$")
_MISSING = re.compile(r"required field `(\w+)`")


class Message(Struct):
    """One message; `content` is text or a list of typed blocks."""

    role: str
    content: str | list[dict[str, Any]]


class CountTokensRequest(Struct, kw_only=True):
    """`POST /v1/messages/count_tokens`: a request for a message, without what shapes its answer."""

    model: str
    messages: list[Message]
    system: str | list[dict[str, Any]] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: dict[str, Any] | None = None
    thinking: dict[str, Any] | None = None
    output_config: dict[str, Any] | None = None


class MessagesRequest(CountTokensRequest, kw_only=True):
    """`POST /v1/messages`."""

    max_tokens: MaxTokens
    stream: bool | None = None
    stop_sequences: list[str] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    metadata: dict[str, Any] | None = None
    service_tier: str | None = None


Body = TypeVar("Body", bound=CountTokensRequest)


def read(tree: Mapping[str, Any], kind: type[Body]) -> Body:
    """The body as its type; BadRequest names the place of what is wrong, never a value."""
    try:
        body = msgspec.convert(tree, kind)
    except msgspec.ValidationError as error:
        raise _refusal(str(error)) from None
    if not body.messages:
        raise BadRequest("'messages' is empty: send at least one message", param="messages")
    return body


def _refusal(message: str) -> BadRequest:
    """What msgspec found: it names types and places, and no values where a type holds no closed set."""
    place = _PLACE.search(message)
    missing = _MISSING.search(message)
    names = [found.group(1) for found in (place, missing) if found]
    return BadRequest(_PLACE.sub("", message), param=".".join(names) or None)
