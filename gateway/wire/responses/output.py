"""The output items of a response, as they come into being from the pieces of a chat answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from gateway.wire.responses.annotations import annotation_of, logprobs_of
from gateway.wire.responses.freetext import FreeText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gateway.wire.responses.names import Names, Tool

    Event = dict[str, Any]
    Status = Literal["in_progress", "completed", "incomplete"]
    PartKind = Literal["output_text", "refusal", "reasoning_text"]

ItemT = TypeVar("ItemT", bound="_Item")


class Output:
    """The items in the order in which they began.

    Their events come one item after the other: clients take the events between an item's beginning and its end for its
    own. So what a second tool call says while the first is still unfinished waits for that.
    """

    def __init__(self, new_id: Callable[[str], str], names: Names) -> None:
        self._new_id = new_id
        self._names = names
        self._items: list[_Item] = []
        self._calls: dict[int, _Call] = {}
        self._finished = 0

    def hear(self, said: Mapping[str, Any], logprobs: object) -> Iterator[Event]:
        """Take in a delta, or a whole message; return the events that it sets free."""
        if thoughts := _text(said.get("reasoning_content")):
            self._reasoning().add("reasoning_text", thoughts)
        if text := _text(said.get("content")):
            self._message().add("output_text", text, logprobs_of(logprobs))
        if refusal := _text(said.get("refusal")):
            self._message().add("refusal", refusal)
        for annotation in objects(said.get("annotations")):
            self._message().annotate(annotation_of(annotation))
        for position, call in enumerate(objects(said.get("tool_calls"))):
            self._call(call, position).add(call)
        return self._set_free()

    def close(self, *, complete: bool) -> Iterator[Event]:
        """Finish what is open: the last item is incomplete if the answer is. An answer of nothing is an empty text."""
        if not self._items:
            self._message().add("output_text", "")
        while self._finished < len(self._items):
            is_last = self._finished == len(self._items) - 1
            yield from self._finish("incomplete" if is_last and not complete else "completed")

    def items(self) -> list[dict[str, Any]]:
        """All items so far; one that was not finished is incomplete."""
        return [item.as_object(item.status or "incomplete") for item in self._items]

    def _set_free(self) -> Iterator[Event]:
        """The events of the first unfinished item, and of those behind it as each turns out to be complete."""
        while self._finished < len(self._items):
            item = self._items[self._finished]
            yield from item.take()
            if item is self._items[-1] or not item.is_complete():
                return
            yield from self._finish("completed")

    def _finish(self, status: Status) -> Iterator[Event]:
        item = self._items[self._finished]
        self._finished += 1
        item.finish(status)
        return item.take()

    def _message(self) -> _Message:
        last = self._items[-1] if self._items else None
        return last if isinstance(last, _Message) else self._begin(_Message(len(self._items), self._new_id("msg")))

    def _reasoning(self) -> _Reasoning:
        last = self._items[-1] if self._items else None
        return last if isinstance(last, _Reasoning) else self._begin(_Reasoning(len(self._items), self._new_id("rs")))

    def _call(self, said: Mapping[str, Any], position: int) -> _Call:
        index = said.get("index")
        key = index if isinstance(index, int) else position
        if key not in self._calls:
            call_id = said.get("id") or self._new_id("call")
            self._calls[key] = self._begin(_Call(len(self._items), call_id, self._new_id, self._names))
        return self._calls[key]

    def _begin(self, item: ItemT) -> ItemT:
        self._items.append(item)
        return item


class _Item:
    """One item and the events that were not yet taken from it."""

    def __init__(self, index: int, item_id: str) -> None:
        self.id = item_id
        self.status: Status | None = None
        self._index = index
        self._events: list[Event] = []

    def as_object(self, status: Status) -> dict[str, Any]:
        """The item as it stands in an output."""
        raise NotImplementedError

    def is_complete(self) -> bool:
        """True if nothing is missing, now that another item has begun."""
        return True

    def finish(self, status: Status) -> None:
        """Close what is open."""
        self.status = status
        self._say("output_item.done", item=self.as_object(status))

    def take(self) -> Iterator[Event]:
        """Hand out the events so far."""
        events, self._events = self._events, []
        return iter(events)

    def _say(self, kind: str, **members: Any) -> None:
        self._events.append({"type": f"response.{kind}", "output_index": self._index, **members})

    def _tell(self, kind: str, **members: Any) -> None:
        self._say(kind, item_id=self.id, **members)


class _Part:
    """A content part."""

    def __init__(self, kind: PartKind) -> None:
        self.kind = kind
        self.pieces: list[str] = []
        self.logprobs: list[dict[str, Any]] = []
        self.annotations: list[dict[str, Any]] = []

    def as_object(self) -> dict[str, Any]:
        text = "".join(self.pieces)
        if self.kind == "refusal":
            return {"type": self.kind, "refusal": text}
        if self.kind == "reasoning_text":
            return {"type": self.kind, "text": text}
        # Copies, as an event that shows a part may have to wait while the part grows.
        lists = {"annotations": list(self.annotations), "logprobs": list(self.logprobs)}
        return {"type": self.kind, "text": text, **lists}


class _Spoken(_Item):
    """An item that consists of content parts."""

    def __init__(self, index: int, item_id: str) -> None:
        super().__init__(index, item_id)
        self._parts: list[_Part] = []
        self._say("output_item.added", item=self.as_object("in_progress"))

    def add(self, kind: PartKind, text: str, logprobs: Sequence[dict[str, Any]] = ()) -> None:
        """Add a piece of text."""
        part = self._part(kind)
        if not text:
            return
        part.pieces.append(text)
        part.logprobs.extend(logprobs)
        extra = {"logprobs": list(logprobs)} if kind == "output_text" else {}
        self._tell(f"{kind}.delta", content_index=len(self._parts) - 1, delta=text, **extra)

    def finish(self, status: Status) -> None:
        self._close_part()
        super().finish(status)

    def contents(self) -> list[dict[str, Any]]:
        return [part.as_object() for part in self._parts]

    def _part(self, kind: PartKind) -> _Part:
        """The part that is open, if it is of this kind; else a new one."""
        if self._parts and self._parts[-1].kind == kind:
            return self._parts[-1]
        self._close_part()
        part = _Part(kind)
        self._parts.append(part)
        self._tell("content_part.added", content_index=len(self._parts) - 1, part=part.as_object())
        return part

    def _close_part(self) -> None:
        if not self._parts:
            return
        part = self._parts[-1].as_object()
        whole = {key: value for key, value in part.items() if key not in ("type", "annotations")}
        index = len(self._parts) - 1
        self._tell(f"{part['type']}.done", content_index=index, **whole)
        self._tell("content_part.done", content_index=index, part=part)


class _Message(_Spoken):
    """What the assistant says."""

    def annotate(self, annotation: dict[str, Any]) -> None:
        """Add a citation to the text."""
        part = self._part("output_text")
        part.annotations.append(annotation)
        self._tell(
            "output_text.annotation.added",
            content_index=len(self._parts) - 1,
            annotation_index=len(part.annotations) - 1,
            annotation=annotation,
        )

    def as_object(self, status: Status) -> dict[str, Any]:
        return {"id": self.id, "type": "message", "status": status, "role": "assistant", "content": self.contents()}


class _Reasoning(_Spoken):
    """What the assistant thinks, as it is: there is no summary of it."""

    def as_object(self, status: Status) -> dict[str, Any]:
        return {"id": self.id, "type": "reasoning", "status": status, "summary": [], "content": self.contents()}


class _Call(_Item):
    """A call of a tool. Its beginning is told once its name is known: that says what kind of tool it is."""

    def __init__(self, index: int, call_id: str, new_id: Callable[[str], str], names: Names) -> None:
        super().__init__(index, new_id("fc"))
        self._call_id = call_id
        self._new_id = new_id
        self._names = names
        self._tool: Tool | None = None
        self._arguments: list[str] = []
        self._free: FreeText | None = None
        self._seen_unfit = -1

    def add(self, said: Mapping[str, Any]) -> None:
        """Add a piece of the call; what comes after its end is left out."""
        if self.status is not None:
            return
        function = said.get("function")
        given = function if isinstance(function, dict) else {}
        name, piece = given.get("name"), given.get("arguments")
        if self._tool is None and name and isinstance(name, str):
            self._introduce(name)
        if piece and isinstance(piece, str):
            self._arguments.append(piece)
            if self._tool is not None:
                self._tell_more(piece)

    def is_complete(self) -> bool:
        """True if the arguments are a JSON object: models that call several functions may mix their arguments."""
        if self._seen_unfit == len(self._arguments):
            return False
        if self._tool is not None and _is_object("".join(self._arguments)):
            return True
        self._seen_unfit = len(self._arguments)
        return False

    def finish(self, status: Status) -> None:
        tool = self._tool or self._introduce("")
        if self._free is None:
            self._tell("function_call_arguments.done", name=tool.name, arguments="".join(self._arguments))
        else:
            self._tell_delta(self._free.end())
            self._tell("custom_tool_call_input.done", input=self._free.text)
        super().finish(status)

    def as_object(self, status: Status) -> dict[str, Any]:
        kind, said = "function_call", {"arguments": "".join(self._arguments)}
        if self._free is not None:
            kind, said = "custom_tool_call", {"input": self._free.text}
        namespace = self._tool.namespace if self._tool else None
        return {
            "id": self.id,
            "type": kind,
            "status": status,
            "call_id": self._call_id,
            **({} if namespace is None else {"namespace": namespace}),
            "name": self._tool.name if self._tool else "",
            **said,
        }

    def _introduce(self, name: str) -> Tool:
        self._tool = tool = self._names.tool(name)
        if tool.kind == "custom":
            self.id, self._free = self._new_id("ctc"), FreeText()
        empty = {"arguments": ""} if self._free is None else {}
        self._say("output_item.added", item={**self.as_object("in_progress"), **empty})
        self._tell_more("".join(self._arguments))
        return tool

    def _tell_more(self, piece: str) -> None:
        self._tell_delta(piece if self._free is None else self._free.add(piece))

    def _tell_delta(self, delta: str) -> None:
        if delta:
            kind = "function_call_arguments" if self._free is None else "custom_tool_call_input"
            self._tell(f"{kind}.delta", delta=delta)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _text(content: object) -> str:
    """A content that is a text, or parts with texts, as some upstreams answer."""
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in objects(content))
    return "".join(text for text in texts if isinstance(text, str))


def objects(value: object) -> list[dict[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
