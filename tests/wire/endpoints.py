"""The endpoints that answer with text, as their clients and as upstreams of their own speak them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.gateway.house import ADMIN_KEY, deployment

Json = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """What a model says, in no endpoint's words; `usage` is prompt, cached, completion, reasoning."""

    text: str = ""
    thoughts: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    usage: tuple[int, int, int, int] | None = None
    ending: str = "stop"


@dataclass
class Heard:
    """What a client understood of an answer; `ending` is `failed` after an error, `open` where nothing closed it."""

    text: str = ""
    thoughts: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    usage: tuple[int, int, int, int] | None = None
    ending: str = "open"
    error: Json = field(default_factory=dict)

    @property
    def said(self) -> Said:
        return Said(self.text, self.thoughts, self.calls, self.usage, self.ending)


@dataclass(frozen=True)
class Given:
    """What came back, as it came."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        answer: Json = json.loads(self.body)
        return answer


@dataclass(frozen=True)
class Endpoint:
    """One endpoint; `native` if the deployment has it itself, so that upstream and client speak the same."""

    kind: str
    native: bool
    whole: Callable[[Said], Json]
    """What the upstream answers."""
    events: Callable[[Said], list[Json]]
    read_whole: Callable[[Json], Heard]
    """What a client understands."""
    read_events: Callable[[Sequence[tuple[str | None, str]]], Heard]
    has_thoughts: bool = True
    has_calls: bool = True

    @property
    def name(self) -> str:
        return f"{self.kind}-native" if self.native and self.kind != "chat" else self.kind

    @property
    def path(self) -> str:
        return "/v1/chat/completions" if self.kind == "chat" else f"/v1/{self.kind}"

    @property
    def upstream_path(self) -> str:
        return self.path if self.native else "/v1/chat/completions"

    def deployment(self, url: str, **more: Any) -> Json:
        """A deployment that serves this endpoint in this way, under the endpoint's name."""
        named = {"capabilities": [self.kind, "tools", "reasoning", "vision", "json_schema"]} if self.native else {}
        if self.kind == "chat":
            named = {}
        return deployment(str(more.pop("name", self.name)), url, **{**named, **more})

    def asking(self, *, stream: bool, text: str = "Quando vence o aluguel?", **more: Any) -> Json:
        """A request with one question; a stream is asked for its usage where that must be asked for."""
        asked: Json = {"model": self.name, "stream": stream}
        questions: dict[str, Json] = {
            "chat": {"messages": [{"role": "user", "content": text}]},
            "completions": {"prompt": text},
            "responses": {"input": text},
            "messages": {"messages": [{"role": "user", "content": text}], "max_tokens": 500},
        }
        if self.kind in ("chat", "completions") and stream:
            asked["stream_options"] = {"include_usage": True}
        return asked | questions[self.kind] | more

    def calling(self, *, stream: bool) -> Json:
        """The same with two tools to call."""
        schema = {"type": "object", "properties": {"cidade": {"type": "string"}}}
        names = ("clima", "hora")
        if self.kind == "messages":
            return self.asking(stream=stream, tools=[{"name": name, "input_schema": schema} for name in names])
        if self.kind == "responses":
            flat = [{"type": "function", "name": name, "parameters": schema} for name in names]
            return self.asking(stream=stream, tools=flat)
        functions = [{"type": "function", "function": {"name": name, "parameters": schema}} for name in names]
        return self.asking(stream=stream, tools=functions)

    def read(self, given: Given) -> Heard:
        """What a client understands of an answer with status 200, and that every event of it is well formed."""
        if given.headers["content-type"].startswith("text/event-stream"):
            return self.read_events(list(events_in(given.body)))
        return self.read_whole(given.json)


async def ask(url: str, endpoint: Endpoint, body: Json | bytes, headers: Mapping[str, str] | None = None) -> Given:
    """Post to the endpoint: bytes as they are, anything else as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    own = {"authorization": f"Bearer {ADMIN_KEY}", "content-type": "application/json", **(headers or {})}
    async with (
        aiohttp.ClientSession() as session,
        session.post(url + endpoint.path, data=io.BytesIO(content), headers=own) as response,
    ):
        return Given(response.status, response.headers, await response.read())


def events_in(body: bytes) -> Iterator[tuple[str | None, str]]:
    """The name and the data of each event, as the specification of server-sent events has them read."""
    name: str | None = None
    data: list[str] = []
    for line in body.decode().removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        label, colon, value = line.partition(":")
        if not line:
            if data:
                yield name, "\n".join(data)
            name, data = None, []
        elif label == "data":
            data.append(value.removeprefix(" ") if colon else "")
        elif label == "event":
            name = value.removeprefix(" ")
    assert not data, "the stream ends within an event"


def pieces_of(text: str) -> list[str]:
    """A text in up to three pieces."""
    third = -(-len(text) // 3) or 1
    return [text[start : start + third] for start in range(0, len(text), third)]


# Chat completions ----------------------------------------------------------------------------------------------------

_HEAD: Json = {"id": "c-1", "created": 1, "model": "m"}


def chat_usage(said: tuple[int, int, int, int]) -> Json:
    prompt, cached, completion, reasoning = said
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


def chat_whole(said: Said) -> Json:
    message: Json = {"role": "assistant", "content": said.text or None}
    if said.thoughts:
        message["reasoning_content"] = said.thoughts
    if said.calls:
        message["tool_calls"] = [_chat_call(index, call, said.calls[index][1]) for index, call in enumerate(said.calls)]
    choice = {"index": 0, "message": message, "finish_reason": said.ending}
    usage = {} if said.usage is None else {"usage": chat_usage(said.usage)}
    return {**_HEAD, "object": "chat.completion", "choices": [choice], **usage}


def chat_events(said: Said) -> list[Json]:
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in pieces_of(said.thoughts)]
    deltas += [{"content": piece} for piece in pieces_of(said.text)]
    for index, call in enumerate(said.calls):
        deltas.append({"tool_calls": [_chat_call(index, call, "")]})
        pieces = pieces_of(call[1])
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces]
    chunks = [chat_chunk(delta) for delta in deltas] + [chat_chunk({}, said.ending)]
    return chunks if said.usage is None else [*chunks, usage_chunk(said.usage)]


def chat_chunk(delta: Json, finish: str | None = None, **more: Any) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {**_HEAD, "object": "chat.completion.chunk", "choices": [choice], **more}


def usage_chunk(said: tuple[int, int, int, int]) -> Json:
    return {**_HEAD, "object": "chat.completion.chunk", "choices": [], "usage": chat_usage(said)}


def _chat_call(index: int, call: tuple[str, str], arguments: str) -> Json:
    return {
        "index": index,
        "id": f"call_{index}",
        "type": "function",
        "function": {"name": call[0], "arguments": arguments},
    }


def read_chat_whole(answer: Json) -> Heard:
    choice = answer["choices"][0]
    message = choice["message"]
    calls = tuple((call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ())
    return Heard(
        message["content"] or "",
        message.get("reasoning_content") or "",
        calls,
        _read_chat_usage(answer.get("usage")),
        choice["finish_reason"],
    )


def read_chat_events(events: Sequence[tuple[str | None, str]]) -> Heard:
    heard = Heard()
    calls: dict[int, list[str]] = {}
    finish = None
    for data in _before_done(events):
        chunk = json.loads(data)
        if "error" in chunk:
            return _failed(heard, calls, chunk["error"])
        if chunk.get("usage"):
            assert heard.usage is None, "usage came twice"
            assert chunk["choices"] == [], "usage stands in a chunk of its own"
            heard.usage = _read_chat_usage(chunk["usage"])
            continue
        assert heard.usage is None, "usage comes last"
        for choice in chunk["choices"]:
            delta = choice["delta"]
            heard.text += delta.get("content") or ""
            heard.thoughts += delta.get("reasoning_content") or ""
            for call in delta.get("tool_calls") or ():
                _add(calls, call["index"], call["function"])
            finish = choice["finish_reason"] or finish
    heard.calls = _joined(calls)
    heard.ending = finish if finish and _is_done(events) else "open"
    return heard


def _read_chat_usage(stated: Json | None) -> tuple[int, int, int, int] | None:
    if stated is None:
        return None
    cached = (stated.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    reasoning = (stated.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
    return stated["prompt_tokens"], cached, stated["completion_tokens"], reasoning


# Text completions ----------------------------------------------------------------------------------------------------


def completion_whole(said: Said) -> Json:
    choice = {"index": 0, "text": said.text, "logprobs": None, "finish_reason": said.ending}
    usage = {} if said.usage is None else {"usage": chat_usage(said.usage)}
    return {**_HEAD, "object": "text_completion", "choices": [choice], **usage}


def completion_events(said: Said) -> list[Json]:
    def chunk(text: str, finish: str | None = None) -> Json:
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
        return {**_HEAD, "object": "text_completion", "choices": [choice]}

    chunks = [*map(chunk, pieces_of(said.text)), chunk("", said.ending)]
    if said.usage is not None:
        chunks.append({**_HEAD, "object": "text_completion", "choices": [], "usage": chat_usage(said.usage)})
    return chunks


def read_completion_whole(answer: Json) -> Heard:
    choice = answer["choices"][0]
    usage = _read_chat_usage(answer.get("usage"))
    return Heard(choice["text"], choice.get("reasoning_content") or "", (), usage, choice["finish_reason"])


def read_completion_events(events: Sequence[tuple[str | None, str]]) -> Heard:
    heard = Heard()
    finish = None
    for data in _before_done(events):
        chunk = json.loads(data)
        if "error" in chunk:
            return _failed(heard, {}, chunk["error"])
        if chunk.get("usage"):
            assert heard.usage is None, "usage came twice"
            assert chunk["choices"] == [], "usage stands in a chunk of its own"
            heard.usage = _read_chat_usage(chunk["usage"])
            continue
        assert heard.usage is None, "usage comes last"
        for choice in chunk["choices"]:
            heard.text += choice["text"]
            heard.thoughts += choice.get("reasoning_content") or ""
            finish = choice["finish_reason"] or finish
    heard.ending = finish if finish and _is_done(events) else "open"
    return heard


# Responses -----------------------------------------------------------------------------------------------------------


def response_whole(said: Said) -> Json:
    items: list[Json] = []
    if said.thoughts:
        parts = [{"type": "reasoning_text", "text": said.thoughts}]
        items.append({"id": "rs_1", "type": "reasoning", "summary": [], "content": parts, "status": "completed"})
    if said.text:
        text = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
        items.append(message)
    for index, (name, arguments) in enumerate(said.calls):
        call = {"id": f"fc_{index}", "type": "function_call", "call_id": f"call_{index}", "name": name}
        items.append({**call, "arguments": arguments, "status": "completed"})
    return {**_response(said), "output": items, "usage": response_usage(said)}


def response_usage(said: Said) -> Json | None:
    if said.usage is None:
        return None
    prompt, cached, completion, reasoning = said.usage
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": prompt + completion,
    }


def _response(said: Said) -> Json:
    cut = said.ending == "length"
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "error": None,
        "output": [],
        "usage": None,
    }


def response_events(said: Said) -> list[Json]:
    whole = response_whole(said)
    begun = {**_response(said), "status": "in_progress", "incomplete_details": None}
    events: list[Json] = [{"type": f"response.{kind}", "response": begun} for kind in ("created", "in_progress")]
    for index, item in enumerate(whole["output"]):
        events += _item_events(index, item)
    ended = "response.incomplete" if whole["status"] == "incomplete" else "response.completed"
    events.append({"type": ended, "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _item_events(index: int, item: Json) -> list[Json]:
    at = {"output_index": index, "item_id": item["id"]}
    if item["type"] == "function_call":
        added = {**item, "arguments": "", "status": "in_progress"}
        told = [
            {"type": "response.function_call_arguments.delta", **at, "delta": piece}
            for piece in pieces_of(item["arguments"])
        ]
        told.append({"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]})
    else:
        added = {**item, "content": [], "status": "in_progress"}
        part = item["content"][0]
        place = {**at, "content_index": 0}
        told = [{"type": "response.content_part.added", **place, "part": {**part, "text": ""}}]
        told += [
            {"type": f"response.{part['type']}.delta", **place, "delta": piece} for piece in pieces_of(part["text"])
        ]
        told.append({"type": f"response.{part['type']}.done", **place, "text": part["text"]})
        told.append({"type": "response.content_part.done", **place, "part": part})
    first = {"type": "response.output_item.added", "output_index": index, "item": added}
    return [first, *told, {"type": "response.output_item.done", "output_index": index, "item": item}]


def read_response_whole(answer: Json) -> Heard:
    heard = Heard()
    calls = []
    for item in answer["output"]:
        parts = item.get("content") or ()
        if item["type"] == "message":
            heard.text += "".join(part["text"] for part in parts)
        elif item["type"] == "reasoning":
            heard.thoughts += "".join(part["text"] for part in parts)
        elif item["type"] == "function_call":
            calls.append((item["name"], item["arguments"]))
    heard.calls = tuple(calls)
    heard.usage = _read_response_usage(answer.get("usage"))
    if answer["status"] == "incomplete":
        heard.ending = {"max_output_tokens": "length"}.get(answer["incomplete_details"]["reason"], "content_filter")
    elif answer["status"] == "completed":
        heard.ending = "tool_calls" if calls else "stop"
    elif answer["status"] == "failed":
        heard.ending, heard.error = "failed", answer["error"]
    return heard


def read_response_events(events: Sequence[tuple[str | None, str]]) -> Heard:
    """What the deltas say; the closing response must say the same."""
    heard = Heard()
    calls: dict[int, list[str]] = {}
    numbers = []
    for name, data in events:
        if data == "[DONE]":
            break
        event = json.loads(data)
        kind = event["type"]
        assert name == kind, "an event is named by its type"
        numbers.append(event["sequence_number"])
        if kind == "error":
            return _failed(heard, calls, event["error"])
        if kind == "response.output_item.added" and event["item"]["type"] == "function_call":
            _add(calls, event["output_index"], {"name": event["item"]["name"]})
        elif kind == "response.function_call_arguments.delta":
            _add(calls, event["output_index"], {"arguments": event["delta"]})
        elif kind == "response.output_text.delta":
            heard.text += event["delta"]
        elif kind == "response.reasoning_text.delta":
            heard.thoughts += event["delta"]
        elif kind in ("response.completed", "response.incomplete"):
            heard.calls = _joined(calls)
            whole = read_response_whole(event["response"])
            assert (whole.text, whole.thoughts, whole.calls) == (heard.text, heard.thoughts, heard.calls)
            heard = whole
    assert numbers == list(range(len(numbers))), "events are numbered"
    if heard.ending != "open" and not _is_done(events):
        heard.ending = "open"
    return heard


def _read_response_usage(stated: Json | None) -> tuple[int, int, int, int] | None:
    if stated is None:
        return None
    cached = stated["input_tokens_details"]["cached_tokens"]
    return stated["input_tokens"], cached, stated["output_tokens"], stated["output_tokens_details"]["reasoning_tokens"]


# Messages ------------------------------------------------------------------------------------------------------------

_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
_ENDINGS = {stop: ending for ending, stop in _STOPS.items()}


def message_whole(said: Said) -> Json:
    content: list[Json] = []
    if said.thoughts:
        content.append({"type": "thinking", "thinking": said.thoughts, "signature": "c2ln"})
    if said.text:
        content.append({"type": "text", "text": said.text})
    for index, (name, arguments) in enumerate(said.calls):
        content.append({"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": json.loads(arguments)})
    return {**_message(said), "content": content, "stop_reason": _STOPS[said.ending], "usage": message_usage(said)}


def message_usage(said: Said) -> Json:
    prompt, cached, completion, reasoning = said.usage or (0, 0, 0, 0)
    usage: Json = {"input_tokens": prompt - cached, "cache_read_input_tokens": cached, "output_tokens": completion}
    return {**usage, "cache_creation_input_tokens": 0, "output_tokens_details": {"thinking_tokens": reasoning}}


def _message(said: Said) -> Json:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    return {**head, "stop_reason": None, "stop_sequence": None, "usage": {**message_usage(said), "output_tokens": 1}}


def message_events(said: Said) -> list[Json]:
    events: list[Json] = [{"type": "message_start", "message": _message(said)}, {"type": "ping"}]
    blocks: list[tuple[Json, list[Json]]] = []
    if said.thoughts:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces_of(said.thoughts)]
        signed = {"type": "signature_delta", "signature": "c2ln"}
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]))
    if said.text:
        texts = [{"type": "text_delta", "text": piece} for piece in pieces_of(said.text)]
        blocks.append(({"type": "text", "text": ""}, texts))
    for index, (name, arguments) in enumerate(said.calls):
        inputs = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces_of(arguments)]
        blocks.append(({"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}, inputs))
    for index, (start, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": _STOPS[said.ending], "stop_sequence": None}
    usage = {} if said.usage is None else {"usage": message_usage(said)}
    return [*events, {"type": "message_delta", "delta": stop, **usage}, {"type": "message_stop"}]


def read_message_whole(answer: Json) -> Heard:
    heard = Heard()
    calls = []
    for block in answer["content"]:
        heard.text += block.get("text", "")
        heard.thoughts += block.get("thinking", "")
        if block["type"] == "tool_use":
            calls.append((block["name"], json.dumps(block["input"], ensure_ascii=False)))
    heard.calls = tuple(calls)
    heard.usage = _read_message_usage(answer["usage"])
    heard.ending = _ENDINGS[answer["stop_reason"]]
    return heard


def read_message_events(events: Sequence[tuple[str | None, str]]) -> Heard:
    heard = Heard()
    calls: dict[int, list[str]] = {}
    ending = "open"
    opened: int | None = None
    for name, data in events:
        event = json.loads(data)
        kind = event["type"]
        assert name == kind, "an event is named by its type"
        if kind == "error":
            return _failed(heard, calls, event["error"])
        if kind == "content_block_start":
            assert opened is None, "one block at a time"
            opened = event["index"]
            if event["content_block"]["type"] == "tool_use":
                _add(calls, opened, event["content_block"])
        elif kind == "content_block_delta":
            assert opened == event["index"], "a delta belongs to the open block"
            delta = event["delta"]
            heard.text += delta.get("text", "")
            heard.thoughts += delta.get("thinking", "")
            if "partial_json" in delta:
                _add(calls, event["index"], {"arguments": delta["partial_json"]})
        elif kind == "content_block_stop":
            opened = None
        elif kind == "message_delta":
            ending = _ENDINGS[event["delta"]["stop_reason"]]
            heard.usage = _read_message_usage(event["usage"]) if "usage" in event else None
        elif kind == "message_stop":
            heard.ending = ending
    heard.calls = _joined(calls)
    return heard


def _read_message_usage(stated: Json) -> tuple[int, int, int, int]:
    cached = stated.get("cache_read_input_tokens") or 0
    reasoning = (stated.get("output_tokens_details") or {}).get("thinking_tokens") or 0
    return stated["input_tokens"] + cached, cached, stated["output_tokens"], reasoning


# ---------------------------------------------------------------------------------------------------------------------


def _before_done(events: Sequence[tuple[str | None, str]]) -> Iterator[str]:
    for _, data in events:
        if data == "[DONE]":
            return
        yield data


def _is_done(events: Sequence[tuple[str | None, str]]) -> bool:
    return bool(events) and events[-1][1] == "[DONE]" and sum(data == "[DONE]" for _, data in events) == 1


def _add(calls: dict[int, list[str]], index: int, function: Mapping[str, Any]) -> None:
    call = calls.setdefault(index, ["", ""])
    call[0] += function.get("name") or ""
    arguments = function.get("arguments")
    assert arguments is None or isinstance(arguments, str), "arguments are text"
    call[1] += arguments or ""


def _joined(calls: Mapping[int, list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((call[0], call[1]) for _, call in sorted(calls.items()))


def _failed(heard: Heard, calls: Mapping[int, list[str]], error: Json) -> Heard:
    heard.calls, heard.ending, heard.error = _joined(calls), "failed", error
    return heard


CHAT = Endpoint("chat", True, chat_whole, chat_events, read_chat_whole, read_chat_events)
COMPLETIONS = Endpoint(
    "completions", False, chat_whole, chat_events, read_completion_whole, read_completion_events, has_calls=False
)
OWN_COMPLETIONS = Endpoint(
    "completions",
    True,
    completion_whole,
    completion_events,
    read_completion_whole,
    read_completion_events,
    has_thoughts=False,
    has_calls=False,
)
RESPONSES = Endpoint("responses", False, chat_whole, chat_events, read_response_whole, read_response_events)
OWN_RESPONSES = Endpoint("responses", True, response_whole, response_events, read_response_whole, read_response_events)
MESSAGES = Endpoint("messages", False, chat_whole, chat_events, read_message_whole, read_message_events)
OWN_MESSAGES = Endpoint("messages", True, message_whole, message_events, read_message_whole, read_message_events)

ENDPOINTS = (CHAT, COMPLETIONS, OWN_COMPLETIONS, RESPONSES, OWN_RESPONSES, MESSAGES, OWN_MESSAGES)
TRANSLATED = (CHAT, COMPLETIONS, RESPONSES, MESSAGES)
"""Those whose upstream is asked for a chat."""
