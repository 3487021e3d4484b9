"""The provider's chat and text completions, as OpenAI's API reference has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.wire.provider.mind import Asked, Said, Tool, cut, say

CREATED = 1_790_000_000


def completion(body: Mapping[str, Any]) -> dict[str, Any]:
    """A whole chat completion."""
    said = say(_asked(body))
    choices = [
        {
            "index": index,
            "message": _message(said),
            "finish_reason": said.reason,
            "logprobs": _logprobs(said.pieces) if body.get("logprobs") else None,
        }
        for index in range(body.get("n") or 1)
    ]
    return {**_head(body, "chat.completion"), "choices": choices, "usage": _usage(said, len(choices))}


def chunks(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same as a stream, ending with its usage where that was asked for."""
    said = say(_asked(body))
    head = _head(body, "chat.completion.chunk")
    with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    rest = {"usage": None} if with_usage else {}
    choices = body.get("n") or 1
    for index in range(choices):
        for delta in _deltas(said):
            logprobs = _logprobs([delta["content"]]) if body.get("logprobs") and delta.get("content") else None
            choice = {"index": index, "delta": delta, "finish_reason": None, "logprobs": logprobs}
            yield {**head, "choices": [choice], **rest}
        ending = {"index": index, "delta": {}, "finish_reason": said.reason, "logprobs": None}
        yield {**head, "choices": [ending], **rest}
    if with_usage:
        yield {**head, "choices": [], "usage": _usage(said, choices)}


def text_completion(body: Mapping[str, Any]) -> dict[str, Any]:
    """A whole text completion."""
    said = say(_asked_for_text(body))
    choice = {"index": 0, "text": said.text, "finish_reason": said.reason, "logprobs": None}
    return {**_head(body, "text_completion"), "choices": [choice], "usage": _usage(said)}


def text_chunks(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same as a stream."""
    said = say(_asked_for_text(body))
    head = _head(body, "text_completion")
    for text, reason in [*((piece, None) for piece in said.pieces), ("", said.reason)]:
        yield {**head, "choices": [{"index": 0, "text": text, "finish_reason": reason, "logprobs": None}]}
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": _usage(said)}


def tools_offered(tools: Sequence[Tool], choice: object, name: str | None) -> Sequence[Tool]:
    """The tools that the choice leaves to be called."""
    if choice == "none":
        return ()
    return [tool for tool in tools if name in (None, tool.name)]


def _asked(body: Mapping[str, Any]) -> Asked:
    messages = body["messages"]
    texts = [text for message in messages for text in _texts(message.get("content"))]
    last = max((n for n, message in enumerate(messages) if message["role"] == "user"), default=0)
    tools = [
        Tool(tool["function"]["name"], tool["function"].get("parameters") or {}) for tool in body.get("tools") or ()
    ]
    choice = body.get("tool_choice")
    named = choice["function"]["name"] if isinstance(choice, dict) else None
    form = body.get("response_format") or {}
    return Asked(
        texts,
        question=" ".join(_texts(messages[last].get("content"))),
        pictures=len([part for part in _parts(messages[last].get("content")) if part["type"] == "image_url"]),
        results=[" ".join(_texts(m.get("content"))) for m in messages[last:] if m["role"] == "tool"],
        tools=tools_offered(tools, choice, named),
        at_most_one=body.get("parallel_tool_calls") is False,
        schema=form["json_schema"]["schema"] if form.get("type") == "json_schema" else None,
        thinks=body.get("reasoning_effort") not in (None, "none"),
        limit=body.get("max_completion_tokens") or body.get("max_tokens"),
    )


def _asked_for_text(body: Mapping[str, Any]) -> Asked:
    prompt = body["prompt"]
    texts = [prompt] if isinstance(prompt, str) else [text for text in prompt if isinstance(text, str)]
    return Asked(texts, question=" ".join(texts), limit=body.get("max_tokens"))


def _parts(content: Any) -> Sequence[Mapping[str, Any]]:
    return content if isinstance(content, list) else ()


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in _parts(content) if part["type"] == "text"]


def _head(body: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": CREATED, "model": body["model"], "system_fingerprint": "fp"}


def _message(said: Said) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None, "refusal": None, "annotations": []}
    if said.thoughts:
        message["reasoning_content"] = said.thought
    if said.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in said.calls
        ]
    return message


def _deltas(said: Said) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "" if said.pieces else None, "refusal": None}
    for thought in said.thoughts:
        yield {"reasoning_content": thought}
    for piece in said.pieces:
        yield {"content": piece}
    for index, call in enumerate(said.calls):
        begun = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield {"tool_calls": [begun]}
        for piece in cut(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _logprobs(pieces: Sequence[str]) -> dict[str, Any]:
    tokens = [{"token": piece, "logprob": -0.5, "bytes": list(piece.encode())} for piece in pieces]
    return {"content": [{**token, "top_logprobs": [token]} for token in tokens], "refusal": None}


def _usage(said: Said, choices: int = 1) -> dict[str, Any]:
    output = said.output_tokens * choices
    return {
        "prompt_tokens": said.prompt_tokens,
        "completion_tokens": output,
        "total_tokens": said.prompt_tokens + output,
        "prompt_tokens_details": {"cached_tokens": said.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": said.reasoning_tokens * choices},
    }
