"""The request body of `/responses`: what is read of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta, Struct

from gateway.errors import BadRequest
from gateway.wire.schemas import Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACE = re.compile(r"`\$\.?([^`]*)`")


class TextOptions(Struct):
    """`text`: the form of the answer."""

    format: dict[str, Any] | None = None
    verbosity: str | None = None


class ReasoningOptions(Struct):
    """`reasoning`: how hard to think, and what to say of it."""

    effort: str | None = None
    summary: str | None = None
    mode: str | None = None
    context: str | None = None


class ResponsesRequest(Struct):
    """`POST /v1/responses`. Unknown fields are allowed and passed on."""

    model: str
    input: str | list[dict[str, Any]] | None = None
    instructions: str | None = None
    stream: bool | None = None
    max_output_tokens: Tokens | None = None
    temperature: float | None = None
    top_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: int | None = None
    text: TextOptions | None = None
    reasoning: ReasoningOptions | None = None
    include: list[str] | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    truncation: str | None = None
    metadata: dict[str, Any] | None = None
    store: bool | None = None
    background: bool | None = None
    previous_response_id: str | None = None
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    service_tier: str | None = None


def read(tree: Mapping[str, Any]) -> ResponsesRequest:
    """Read the body; BadRequest names the place and the type that it should have, never what stands there."""
    try:
        return msgspec.convert(tree, ResponsesRequest)
    except msgspec.ValidationError as error:
        place = _PLACE.search(str(error))
        raise BadRequest(str(error).replace("`$", "`body"), param=place.group(1) if place else None) from None
