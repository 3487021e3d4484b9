"""Says a chat answer as a message, whole or event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from gateway.wire.lanes import Usage
from gateway.wire.messages import arguments, reasons
from gateway.wire.messages.errors import error_body
from gateway.wire.messages.stream import SIGNATURE, Blocks
from gateway.wire.messages.tokens import bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Object = dict[str, Any]


class Messages:
    """The rendering of one answer to the request `tree`, under the name `model`; of its time a message says nothing."""

    def __init__(self, tree: Mapping[str, Any], model: str, created: int, new_id: Callable[[str], str]) -> None:
        self._tree = tree
        self._model = model
        self._id = new_id("msg")
        self._started = False
        self._blocks = Blocks()
        self._refused = False
        self._choice: Object = {}
        """The choice that ended the answer."""

    def whole(self, answer: Mapping[str, Any], usage: Usage) -> Object:
        choice = _first(answer)
        message = _object(choice.get("message"))
        return self._message(_content(message), usage) | self._stop(
            choice, called=bool(_list(message.get("tool_calls"))), refused=bool(message.get("refusal"))
        )

    def chunk(self, chunk: Mapping[str, Any]) -> bytes:
        choice = _first(chunk)
        self._hear(_object(choice.get("delta")))
        if choice.get("finish_reason"):
            self._choice = choice
        return self._start() + _encoded(self._blocks.events())

    def end(self, usage: Usage) -> bytes:
        stop = self._stop(self._choice, called=self._blocks.called, refused=self._refused)
        closing: list[Object] = [
            {"type": "message_delta", "delta": stop, "usage": reasons.usage_of_message(usage)},
            {"type": "message_stop"},
        ]
        return self._start() + _encoded(self._blocks.events(ending=True)) + _encoded(closing)

    def failed(self, error: Mapping[str, Any]) -> bytes:
        return _encoded([error_body(error, None)])

    def _start(self) -> bytes:
        """The first event, once. The upstream counts at the end; until then the input is the bound that is known."""
        if self._started:
            return b""
        self._started = True
        message = self._message([], Usage(fresh=bound(self._tree), estimated=True))
        return _encoded([{"type": "message_start", "message": message}])

    def _message(self, content: list[Object], usage: Usage) -> Object:
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": reasons.usage_of_message(usage),
        }

    def _hear(self, delta: Object) -> None:
        if thought := _text(delta.get("reasoning_content")):
            self._blocks.think(thought)
        for name in ("content", "refusal"):
            if text := _text(delta.get(name)):
                self._refused = self._refused or name == "refusal"
                self._blocks.say(text)
        for citation in _citations(delta):
            self._blocks.cite(citation)
        for position, call in enumerate(_list(delta.get("tool_calls"))):
            index = call.get("index")
            self._blocks.call(index if isinstance(index, int) else position, call)

    def _stop(self, choice: Object, *, called: bool, refused: bool) -> Object:
        """Why it ended. The sequence that stopped it is known where an engine names it: vLLM's and SGLang's fields."""
        asked = self._tree.get("stop_sequences") or ()
        named = [choice.get(name) for name in ("stop_reason", "matched_stop")]
        sequence = next((name for name in named if isinstance(name, str) and name in asked), None)
        reason = reasons.stop_reason(choice.get("finish_reason"), called=called, refused=refused)
        if sequence is not None and reason == "end_turn":
            reason = "stop_sequence"
        return {"stop_reason": reason, "stop_sequence": sequence if reason == "stop_sequence" else None}


def _content(message: Object) -> list[Object]:
    content: list[Object] = []
    if thought := _text(message.get("reasoning_content")):
        content.append({"type": "thinking", "thinking": thought, "signature": SIGNATURE})
    if text := _text(message.get("content")) + _text(message.get("refusal")):
        citations = _citations(message)
        content.append({"type": "text", "text": text, **({"citations": citations} if citations else {})})
    for call in _list(message.get("tool_calls")):
        function = _object(call.get("function"))
        given = arguments.to_object(_text(function.get("arguments")))
        name, identifier = _text(function.get("name")), _text(call.get("id"))
        content.append({"type": "tool_use", "id": identifier, "name": name, "input": given})
    return content


def _citations(part: Object) -> list[Object]:
    """The citations of a message or delta, each as one of a search result: it names its source, and quotes nothing."""
    found = []
    for number, annotation in enumerate(_list(part.get("annotations"))):
        file, page = _object(annotation.get("file_citation")), _object(annotation.get("url_citation"))
        source = _text(file.get("file")) or _text(page.get("url"))
        if source:
            index = file.get("index")
            found.append(
                {
                    "type": "search_result_location",
                    "cited_text": "",
                    "source": source,
                    "title": file.get("heading") or page.get("title"),
                    "search_result_index": index - 1 if isinstance(index, int) else number,
                    "start_block_index": 0,
                    "end_block_index": 1,
                }
            )
    return found


def _first(answer: Mapping[str, Any]) -> Object:
    """The one choice that was asked for."""
    return next(iter(_list(answer.get("choices"))), {})


def _text(value: object) -> str:
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in _list(value))
    return value if isinstance(value, str) else ""


def _object(value: object) -> Object:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Object]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _encoded(events: Iterable[Object]) -> bytes:
    return b"".join(
        b"event: " + str(event["type"]).encode() + b"\ndata: " + msgspec.json.encode(event) + b"\n\n"
        for event in events
    )
