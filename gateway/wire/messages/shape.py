"""How an upstream's own Messages endpoint answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gateway.wire.messages.reasons import finish_reason, usage_of_chat
from gateway.wire.shapes import strings_of

if TYPE_CHECKING:
    from collections.abc import Mapping

Object = dict[str, Any]

_NAMES = ("type", "id", "name", "tool_use_id")
_BESIDE = 1_000_000
"""From here on count the calls of tools that a chat does not have: no answer has so many blocks."""


class MessagesShape:
    """`/messages`: a message, or the events that it grows by."""

    path = "/messages"

    def is_answer(self, payload: Mapping[str, Any]) -> bool:
        return payload.get("type") == "message" and isinstance(payload.get("content"), list)

    def error(self, payload: Mapping[str, Any]) -> object | None:
        if payload.get("type") == "error":
            return payload.get("error") or payload
        return None if payload.get("content") else payload.get("error") or None

    def heard(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        match payload.get("type"):
            case "message":
                return _whole(payload)
            case "message_start":
                return _chunk({"role": "assistant"}, None, _object(payload.get("message")).get("usage"))
            case "content_block_start":
                return _begun(payload, _object(payload.get("content_block")))
            case "content_block_delta":
                return _grown(payload, _object(payload.get("delta")))
            case "message_delta":
                stop = finish_reason(_object(payload.get("delta")).get("stop_reason"))
                return _chunk({}, stop, payload.get("usage"))
        return {}

    def rename(self, payload: dict[str, Any], model: str) -> bool:
        message = payload.get("message") if payload.get("type") == "message_start" else payload
        if not isinstance(message, dict) or "model" not in message or message["model"] == model:
            return False
        message["model"] = model
        return True


MESSAGES = MessagesShape()


def _whole(payload: Mapping[str, Any]) -> Object:
    message: Object = {"role": "assistant", "content": "", "reasoning_content": "", "tool_calls": []}
    for index, block in enumerate(_list(payload.get("content"))):
        said = _said(block, index)
        message["content"] += said.get("content", "")
        message["reasoning_content"] += said.get("reasoning_content", "")
        message["tool_calls"] += said.get("tool_calls", [])
    kept = {name: value for name, value in message.items() if value or name in ("role", "content")}
    choice = {"index": 0, "message": kept, "finish_reason": finish_reason(payload.get("stop_reason"))}
    return {"choices": [choice], **_usage(payload.get("usage"))}


def _begun(payload: Mapping[str, Any], block: Object) -> Object:
    said = _said(block, payload.get("index"))
    return _chunk(said, None, None) if said else {}


def _grown(payload: Mapping[str, Any], delta: Object) -> Object:
    match delta.get("type"):
        case "text_delta":
            said: Object = {"content": _text(delta.get("text"))}
        case "thinking_delta":
            said = {"reasoning_content": _text(delta.get("thinking"))}
        case "input_json_delta":
            function = {"arguments": _text(delta.get("partial_json"))}
            said = {"tool_calls": [{"index": payload.get("index"), "function": function}]}
        case _:
            said = _beside(delta, payload.get("index"))
    return _chunk(said, None, None)


def _said(block: Object, index: object) -> Object:
    """A content block as fields of a chat message; those of Anthropic's own tools are calls with all they say."""
    match block.get("type"):
        case "text":
            return {"content": _text(block.get("text"))}
        case "thinking":
            signature = _beside({"signature": block.get("signature")}, index)
            return {"reasoning_content": _text(block.get("thinking")), **signature}
        case "tool_use":
            given = block.get("input")
            function = {
                "name": _text(block.get("name")),
                "arguments": json.dumps(given, ensure_ascii=False) if given else "",
            }
            return {"tool_calls": [{"index": index, "id": block.get("id"), "type": "function", "function": function}]}
    return _beside(block, index)


def _beside(block: Object, index: object) -> Object:
    """What else is said, as a call: other tools with their results, citations, sealed thoughts."""
    said = "\n".join(strings_of({name: value for name, value in block.items() if name not in _NAMES}))
    place = _BESIDE + index if isinstance(index, int) else _BESIDE
    return {"tool_calls": [{"index": place, "function": {"arguments": said}}]} if said else {}


def _chunk(delta: Object, finish: str | None, usage: object) -> Object:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **_usage(usage)}


def _usage(stated: object) -> Object:
    usage = usage_of_chat(_object(stated))
    return {"usage": usage} if usage else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _object(value: object) -> Object:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Object]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
