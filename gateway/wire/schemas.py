"""The request bodies of the endpoints: what the gateway reads of them; everything else passes as it came."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class StreamOptions(Struct):
    """`stream_options` of a chat completion."""

    include_usage: bool = False


class ChatMessage(Struct):
    """One message; `content` is text or a list of typed parts."""

    role: str
    content: str | list[dict[str, Any]] | None = None


class ChatCompletionRequest(Struct):
    """`POST /v1/chat/completions`. Unknown fields are allowed and reach the upstream byte for byte."""

    model: str
    messages: list[ChatMessage]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = None
    tools: list[dict[str, Any]] | None = None
    parallel_tool_calls: bool | None = None
    response_format: dict[str, Any] | None = None
    logprobs: bool | None = None
