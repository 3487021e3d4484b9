"""The provider's responses, with the items and the events of the Open Responses specification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.wire.provider.chat import CREATED, tools_offered
from tests.wire.provider.mind import Asked, Call, Said, Tool, cut, say

_ECHOED: dict[str, Any] = {
    "background": False,
    "frequency_penalty": 0.0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "presence_penalty": 0.0,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": None,
    "safety_identifier": None,
    "service_tier": "default",
    "store": False,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
}
"""What a response repeats of its request, with what it says where the request said nothing."""


def response(body: Mapping[str, Any]) -> dict[str, Any]:
    """A whole response."""
    said = say(_asked(body))
    return _ended(body, said, list(_items(said, "completed")))


def events(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same as a stream of numbered events."""
    for number, event in enumerate(_events(body)):
        yield {**event, "sequence_number": number}


def _events(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    said = say(_asked(body))
    begun = _response(body, [], "in_progress")
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    items = list(_items(said, "completed"))
    for index, item in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": index, "item": _unfinished(item)}
        yield from _said_in(item, said, {"item_id": item["id"], "output_index": index})
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    ended = _ended(body, said, items)
    yield {"type": f"response.{ended['status']}", "response": ended}


def _said_in(item: Mapping[str, Any], said: Said, place: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if item["type"] == "function_call":
        kind = "response.function_call_arguments"
        for piece in cut(item["arguments"]):
            yield {"type": f"{kind}.delta", **place, "delta": piece}
        yield {"type": f"{kind}.done", **place, "arguments": item["arguments"], "name": item["name"]}
        return
    is_text = item["type"] == "message"
    kind, pieces = ("output_text", said.pieces) if is_text else ("reasoning_text", said.thoughts)
    more: dict[str, Any] = {"logprobs": []} if is_text else {}
    place, part = {**place, "content_index": 0}, item["content"][0]
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    for piece in pieces:
        yield {"type": f"response.{kind}.delta", **place, "delta": piece, **more}
    yield {"type": f"response.{kind}.done", **place, "text": "".join(pieces), **more}
    yield {"type": "response.content_part.done", **place, "part": part}


def _asked(body: Mapping[str, Any]) -> Asked:
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    texts = [text for item in items for text in _texts(item.get("content", item.get("output")))]
    last = max((n for n, item in enumerate(items) if item.get("role") == "user"), default=0)
    functions = [tool for tool in body.get("tools") or () if tool["type"] == "function"]
    tools = [Tool(tool["name"], tool.get("parameters") or {}) for tool in functions]
    choice = body.get("tool_choice")
    form = (body.get("text") or {}).get("format") or {}
    return Asked(
        [*filter(None, [body.get("instructions")]), *texts],
        question=" ".join(_texts(items[last].get("content"))),
        pictures=sum(part["type"] == "input_image" for part in _parts(items[last].get("content"))),
        results=[" ".join(_texts(i["output"])) for i in items[last:] if i.get("type") == "function_call_output"],
        tools=tools_offered(tools, choice, choice["name"] if isinstance(choice, dict) else None),
        at_most_one=body.get("parallel_tool_calls") is False,
        schema=form["schema"] if form.get("type") == "json_schema" else None,
        thinks=(body.get("reasoning") or {}).get("effort") not in (None, "none"),
        limit=body.get("max_output_tokens"),
    )


def _parts(content: Any) -> list[Mapping[str, Any]]:
    return content if isinstance(content, list) else []


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in _parts(content) if part["type"] in ("input_text", "output_text")]


def _items(said: Said, status: str) -> Iterator[dict[str, Any]]:
    if said.thoughts:
        content = [{"type": "reasoning_text", "text": said.thought}]
        yield {"id": "rs_1", "type": "reasoning", "summary": [], "content": content, "status": status}
    if said.pieces:
        part = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
        whole = "incomplete" if said.reason == "length" else status
        yield {"id": "msg_1", "type": "message", "role": "assistant", "status": whole, "content": [part]}
    for call in said.calls:
        yield _call(call, status)


def _call(call: Call, status: str) -> dict[str, Any]:
    return {
        "id": f"fc_{call.id}",
        "type": "function_call",
        "status": status,
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    }


def _unfinished(item: Mapping[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"arguments": ""} if item["type"] == "function_call" else {"content": []}
    return {**item, **empty, "status": "in_progress"}


def _response(body: Mapping[str, Any], output: list[dict[str, Any]], status: str) -> dict[str, Any]:
    echoed = {name: body.get(name) or otherwise for name, otherwise in _ECHOED.items()}
    head = {"id": "resp_1", "object": "response", "created_at": CREATED, "model": body["model"], "status": status}
    ending = {"completed_at": None, "error": None, "incomplete_details": None, "output": output, "usage": None}
    return {**echoed, **head, **ending}


def _ended(body: Mapping[str, Any], said: Said, output: list[dict[str, Any]]) -> dict[str, Any]:
    cut_off = said.reason == "length"
    return {
        **_response(body, output, "incomplete" if cut_off else "completed"),
        "completed_at": None if cut_off else CREATED + 1,
        "incomplete_details": {"reason": "max_output_tokens"} if cut_off else None,
        "usage": {
            "input_tokens": said.prompt_tokens,
            "input_tokens_details": {"cached_tokens": said.cached_tokens, "cache_write_tokens": 0},
            "output_tokens": said.output_tokens,
            "output_tokens_details": {"reasoning_tokens": said.reasoning_tokens},
            "total_tokens": said.prompt_tokens + said.output_tokens,
        },
    }
