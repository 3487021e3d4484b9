"""How an upstream's own endpoint `/responses` answers, said as a chat completion would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gateway.wire.shapes import strings_of

Object = Mapping[str, Any]

_FINISH = {"max_output_tokens": "length", "content_filter": "content_filter"}
_FAILED = ("failed", "cancelled")
_ENDED = ("response.completed", "response.incomplete")
_NAMES = ("type", "id", "call_id", "status")
_BESIDE = 1_000_000
"""From here on count the calls of tools that a chat does not have: no answer has so many items."""
_NO_TEXT = ("response.audio.delta", "response.output_audio.delta")


class ResponsesShape:
    """`/responses`."""

    path = "/responses"

    def is_answer(self, payload: Object) -> bool:
        return isinstance(payload.get("output"), list)

    def error(self, payload: Object) -> object | None:
        """The error of a response that failed, of an event `error`, or of a body that is nothing but an error."""
        if payload.get("type") == "error":
            return payload.get("error") or payload
        response = _response(payload)
        if response.get("status") in _FAILED or payload.get("type") == "response.failed":
            return response.get("error") or {"message": "the response failed", "code": "server_error"}
        return None if "output" in response else payload.get("error") or None

    def heard(self, payload: Object) -> Object:
        """Text, thoughts, tool calls, the end and the usage; of a stream each from the event that tells it first."""
        if isinstance(payload.get("output"), list):
            return _whole(payload)
        kind = payload.get("type")
        if kind in _ENDED:
            return _ended(_response(payload))
        if kind == "response.output_item.added":
            return _begun(payload)
        if kind == "response.output_item.done":
            return _done(_object(payload.get("item")), payload.get("output_index"))
        if isinstance(kind, str) and kind.endswith(".delta") and kind not in _NO_TEXT:
            return _delta(kind, payload)
        return {}

    def rename(self, payload: dict[str, Any], model: str) -> bool:
        holder = payload["response"] if isinstance(payload.get("response"), dict) else payload
        if "model" not in holder or holder["model"] == model:
            return False
        holder["model"] = model
        return True


RESPONSES = ResponsesShape()


def _response(payload: Object) -> Object:
    """The response that an event carries, else the payload itself."""
    return _object(payload.get("response")) or payload


def _delta(kind: str, payload: Object) -> Object:
    piece = payload.get("delta")
    if not isinstance(piece, str):
        return {}
    if kind.startswith("response.output_text"):
        return _chunk({"content": piece})
    if kind.startswith("response.reasoning"):
        return _chunk({"reasoning_content": piece})
    if kind.startswith("response.refusal"):
        return _chunk({"refusal": piece})
    # Every other delta is what some tool is called with.
    return _chunk({"tool_calls": [{"index": payload.get("output_index"), "function": {"arguments": piece}}]})


def _begun(payload: Object) -> Object:
    """A tool call begins with its name; all that the others have comes in deltas."""
    item = _object(payload.get("item"))
    if item.get("type") != "function_call":
        return {}
    return _chunk({"tool_calls": [{"index": payload.get("output_index"), **_call(item)}]})


def _done(item: Object, position: object) -> Object:
    """What an item holds that no delta told."""
    said = _beside(item)
    index = _BESIDE + position if isinstance(position, int) else _BESIDE
    return _chunk({"tool_calls": [{"index": index, "function": {"arguments": said}}]}) if said else {}


def _ended(response: Object) -> Object:
    return {**_chunk({}, _reason(response)), **_usage(response)}


def _whole(response: Object) -> Object:
    message: dict[str, Any] = {"role": "assistant", "content": "".join(_texts(response, "message", "text"))}
    if thoughts := "".join(_texts(response, "reasoning", "text")):
        message["reasoning_content"] = thoughts
    if refusal := "".join(_texts(response, "message", "refusal")):
        message["refusal"] = refusal
    calls = [{"index": index, **_call(item)} for index, item in enumerate(_items(response, "function_call"))]
    others = [said for item in _all_items(response) if (said := _beside(item))]
    calls += [{"index": _BESIDE + n, "function": {"arguments": said}} for n, said in enumerate(others)]
    if calls:
        message["tool_calls"] = calls
    return {"choices": [{"index": 0, "message": message, "finish_reason": _reason(response)}], **_usage(response)}


def _texts(response: Object, kind: str, key: str) -> Iterator[str]:
    """The texts of all parts of the items of a kind; of thoughts also their summaries."""
    for item in _items(response, kind):
        for parts in (item.get("summary"), item.get("content")):
            for part in parts if isinstance(parts, list) else ():
                text = _object(part).get(key)
                if isinstance(text, str):
                    yield text


def _items(response: Object, kind: str) -> list[Object]:
    return [item for item in _all_items(response) if item.get("type") == kind]


def _all_items(response: Object) -> list[Object]:
    items = response.get("output")
    return [item for item in map(_object, items) if item] if isinstance(items, list) else []


def _beside(item: Object) -> str:
    """What an item says beside text, thoughts and function calls: other tools with their results, sealed thoughts."""
    kind = item.get("type")
    if kind == "reasoning":
        return "\n".join(strings_of(item.get("encrypted_content")))
    if kind in ("message", "function_call"):
        return ""
    return "\n".join(strings_of({name: value for name, value in item.items() if name not in _NAMES}))


def _call(item: Object) -> dict[str, Any]:
    function = {"name": item.get("name"), "arguments": item.get("arguments") or ""}
    return {"id": item.get("call_id"), "type": "function", "function": function}


def _reason(response: Object) -> str:
    incomplete = _object(response.get("incomplete_details")).get("reason")
    if incomplete is not None or response.get("status") == "incomplete":
        return _FINISH.get(str(incomplete), "length")
    return "tool_calls" if _items(response, "function_call") else "stop"


def _usage(response: Object) -> dict[str, Any]:
    stated = _object(response.get("usage"))
    if not stated:
        return {}
    return {
        "service_tier": response.get("service_tier"),
        "usage": {
            "prompt_tokens": stated.get("input_tokens"),
            "completion_tokens": stated.get("output_tokens"),
            "total_tokens": stated.get("total_tokens"),
            "prompt_tokens_details": stated.get("input_tokens_details"),
            "completion_tokens_details": stated.get("output_tokens_details"),
        },
    }


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def _object(value: object) -> Object:
    return value if isinstance(value, Mapping) else {}
