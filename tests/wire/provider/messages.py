"""The provider's messages, as Anthropic's API reference has them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.wire.provider.chat import tools_offered
from tests.wire.provider.mind import Asked, Said, Tool, cut, say

_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


def message(body: Mapping[str, Any]) -> dict[str, Any]:
    """A whole message."""
    said = say(asked(body))
    return {
        **_message(body, said),
        "content": list(_blocks(said)),
        "stop_reason": _REASONS[said.reason],
        "usage": _usage(said),
    }


def events(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same as a stream of events."""
    said = say(asked(body))
    yield {"type": "message_start", "message": _message(body, said)}
    yield {"type": "ping"}
    for index, block in enumerate(_blocks(said)):
        yield {"type": "content_block_start", "index": index, "content_block": _empty(block)}
        for delta in _deltas(block, said):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": _REASONS[said.reason], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": _usage(said)}
    yield {"type": "message_stop"}


def asked(body: Mapping[str, Any]) -> Asked:
    """The request, whose results of tools stand in messages of the user."""
    messages = body["messages"]
    blocks = [block for entry in messages for block in _blocks_of(entry["content"])]
    last = [*_blocks_of(messages[-1]["content"])]
    tools = [Tool(tool["name"], tool["input_schema"]) for tool in body.get("tools", ())]
    choice = body.get("tool_choice") or {}
    return Asked(
        [*_texts(_blocks_of(body.get("system", []))), *_texts(blocks)],
        question=" ".join(block["text"] for block in last if block["type"] == "text"),
        pictures=sum(block["type"] == "image" for block in last),
        results=_texts([block for block in last if block["type"] == "tool_result"]),
        tools=tools_offered(tools, choice.get("type"), choice.get("name")),
        at_most_one=bool(choice.get("disable_parallel_tool_use")),
        thinks=(body.get("thinking") or {}).get("type", "disabled") != "disabled",
        limit=body["max_tokens"],
    )


def _blocks_of(content: Any) -> list[Mapping[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(blocks: list[Mapping[str, Any]]) -> list[str]:
    inner = [block for outer in blocks if outer["type"] == "tool_result" for block in _blocks_of(outer["content"])]
    return [block["text"] for block in [*blocks, *inner] if block["type"] == "text"]


def _message(body: Mapping[str, Any], said: Said) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**_usage(said), "output_tokens": 1},
    }


def _blocks(said: Said) -> Iterator[dict[str, Any]]:
    if said.thoughts:
        yield {"type": "thinking", "thinking": said.thought, "signature": "c2lnbmVk"}
    if said.pieces:
        yield {"type": "text", "text": said.text}
    for call in said.calls:
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}


def _empty(block: Mapping[str, Any]) -> dict[str, Any]:
    empty: dict[str, dict[str, Any]] = {
        "thinking": {"thinking": "", "signature": ""},
        "text": {"text": ""},
        "tool_use": {"input": {}},
    }
    return {**block, **empty[block["type"]]}


def _deltas(block: Mapping[str, Any], said: Said) -> Iterator[dict[str, Any]]:
    if block["type"] == "thinking":
        yield from ({"type": "thinking_delta", "thinking": piece} for piece in said.thoughts)
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif block["type"] == "text":
        yield from ({"type": "text_delta", "text": piece} for piece in said.pieces)
    else:
        pieces = cut(json.dumps(block["input"]))
        yield from ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)


def _usage(said: Said) -> dict[str, Any]:
    return {
        "input_tokens": said.prompt_tokens - said.cached_tokens,
        "cache_read_input_tokens": said.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": said.output_tokens,
        "output_tokens_details": {"thinking_tokens": said.reasoning_tokens},
    }
