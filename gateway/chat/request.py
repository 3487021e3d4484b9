"""Reads a chat request: what the gateway needs to know of it, over the spans it leaves as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from gateway.errors import BadRequest
from gateway.wire import spans
from gateway.wire.schemas import ChatCompletionRequest
from gateway.wire.usage import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.wire.spans import Body

_PICTURE_TOKENS = 1_600
"""What vision models charge for a large picture: 1,568 (Claude, 1.15 megapixels), 1,105 (GPT-4o, 1024 x 1024 high)."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat request: `model` without its collections, and the body as the client wrote it."""

    body: Body
    fields: ChatCompletionRequest
    texts: tuple[tuple[str, str], ...]
    """Every decoded string with its place."""
    model: str
    collections: tuple[str, ...]
    prompt_tokens: int
    """A bound from above on the tokens of all texts, without a tokenizer; a picture is not counted as text."""

    @property
    def stream(self) -> bool:
        return bool(self.fields.stream)

    @property
    def wants_usage(self) -> bool:
        """True if the client asked for the usage chunk of a stream."""
        return self.fields.stream_options is not None and bool(self.fields.stream_options.include_usage)

    @property
    def max_output(self) -> int | None:
        """The client's limit on output tokens, thinking included."""
        return self.fields.max_completion_tokens or self.fields.max_tokens

    @property
    def choices(self) -> int:
        """How many answers are asked for at once."""
        return max(self.fields.n or 1, 1)

    @property
    def question(self) -> str:
        """The text of the last message of the user; empty if there is none."""
        for message in reversed(self.fields.messages):
            if message.role == "user":
                return _text(message.content, "\n")
        return ""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages as they were decoded, with all their fields."""
        messages: list[dict[str, Any]] = self.body.tree["messages"]
        return messages

    @property
    def needs(self) -> frozenset[str]:
        """The capabilities that the request asks for."""
        fields = self.fields
        needs = {
            "tools": bool(fields.tools),
            "parallel_tools": bool(fields.tools) and fields.parallel_tool_calls is True,
            "json_schema": (fields.response_format or {}).get("type") == "json_schema",
            "logprobs": bool(fields.logprobs),
            "vision": self._has_part("image_url"),
            "audio": self._has_part("input_audio"),
        }
        return frozenset(name for name, needed in needs.items() if needed)

    def _has_part(self, kind: str) -> bool:
        return any(
            part.get("type") == kind
            for message in self.fields.messages
            if isinstance(message.content, list)
            for part in message.content
        )


def read(raw: bytes) -> ChatRequest:
    """Read the body strictly; BadRequest names what is wrong and where."""
    body = spans.read(raw)
    try:
        fields = msgspec.convert(body.tree, ChatCompletionRequest)
    except msgspec.ValidationError as error:
        raise BadRequest(_without_content(str(error))) from None
    if not fields.messages:
        raise BadRequest("'messages' is empty: send at least one message", param="messages")
    model, _, names = fields.model.partition("@")
    collections = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if "@" in fields.model and not collections:
        raise BadRequest("'model' ends with '@': name a collection, as in 'auto@papers'", param="model")
    # What is split over the parts of a message is read as one by the model, so it is scanned as one too.
    joined = (
        ("messages", _text(message.content, "")) for message in fields.messages if isinstance(message.content, list)
    )
    texts = tuple(body.strings())
    bound = _bound(text for _, text in texts)
    return ChatRequest(body, fields, (*texts, *joined), model.strip(), collections, bound)


def _bound(texts: Iterable[str]) -> int:
    size = pictures = 0
    for text in texts:
        if text.startswith("data:"):
            pictures += 1
        else:
            size += len(text.encode())
    return estimate_tokens(size) + pictures * _PICTURE_TOKENS


def _text(content: str | list[dict[str, object]] | None, between: str) -> str:
    if isinstance(content, list):
        texts = (part.get("text") for part in content if part.get("type") == "text")
        return between.join(text for text in texts if isinstance(text, str))
    return content or ""


def _without_content(message: str) -> str:
    """msgspec names types and paths (`Expected `str`, got `int` - at `$.model``), never values."""
    return message.replace("`$", "`body")
