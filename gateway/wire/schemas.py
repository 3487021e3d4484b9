"""The request bodies of the endpoints: what the gateway reads of them; everything else passes as it came."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

Tokens = Annotated[int, Meta(ge=1, le=100_000_000)]
"""A limit on output tokens; the upper bound lies beyond any model and keeps sums of holds exact."""
ChatTokens = Annotated[int, Meta(ge=0, le=100_000_000)]
"""The same in a chat, where OpenAI's specification knows no lower bound: the deployment judges a limit of nothing."""
Choices = Annotated[int, Meta(ge=1, le=128)]


class StreamOptions(Struct):
    """`stream_options` of a chat completion."""

    include_usage: bool | None = None


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
    max_tokens: ChatTokens | None = None
    max_completion_tokens: ChatTokens | None = None
    n: Choices | None = None
    tools: list[dict[str, Any]] | None = None
    parallel_tool_calls: bool | None = None
    response_format: dict[str, Any] | None = None
    logprobs: bool | None = None
    modalities: list[str] | None = None
    audio: dict[str, Any] | None = None
