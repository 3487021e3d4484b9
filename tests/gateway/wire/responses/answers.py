"""Pieces of chat answers, and what a client reads of the events that they become."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from gateway.wire.lanes import Usage
from gateway.wire.responses import Responses

if TYPE_CHECKING:
    from collections.abc import Callable

USAGE = Usage(fresh=7, cached=3, output=4, reasoning=2)
REQUEST = {"model": "kimi-k3", "input": "Why?"}


def rendering(request: dict[str, Any] | None = None) -> Responses:
    return Responses(request or REQUEST, "kimi-k3", 1_700_000_000, counter(), lambda: 1_700_000_009)


def counter() -> Callable[[str], str]:
    numbers = itertools.count(1)
    return lambda prefix: f"{prefix}_{next(numbers)}"


def delta(*, finish: str | None = None, logprobs: Any = None, **said: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": said, "finish_reason": finish, "logprobs": logprobs}]}


def call(index: int, arguments: str | None = None, *, name: str | None = None) -> dict[str, Any]:
    """A piece of a tool call; with its name it is the first."""
    function = {"name": name, "arguments": arguments}
    first = {"id": f"call_{index}", "type": "function"} if name else {}
    return delta(
        tool_calls=[{"index": index, **first, "function": {k: v for k, v in function.items() if v is not None}}]
    )


def said(*chunks: dict[str, Any], request: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The events of a complete stream."""
    response = rendering(request)
    return events(b"".join(map(response.chunk, chunks)) + response.end(USAGE))


def events(stream: bytes) -> list[dict[str, Any]]:
    """The events, each checked to bear the name of its type."""
    read = []
    for event in stream.decode().removesuffix("\n\n").split("\n\n"):
        name, data = event.split("\n")
        payload = json.loads(data.removeprefix("data: "))
        assert name == f"event: {payload['type']}"
        read.append(payload)
    return read


def whole(message: dict[str, Any], finish: str = "stop", request: dict[str, Any] | None = None) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return rendering(request).whole({"choices": [choice]}, USAGE)
