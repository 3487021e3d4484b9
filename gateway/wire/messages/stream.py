"""Puts what a chat stream says into content blocks, of which one is open at a time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from gateway.wire.messages import arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Event = dict[str, Any]

SIGNATURE = "c29sZWlyYQ=="
"""Stands where Anthropic signs its thoughts: clients drop thoughts without one, and these must come back.

It is base64, as clients expect it, and the same everywhere, so that it is told from one of Anthropic's.
"""


@dataclass(slots=True)
class _Block:
    """A content block: what it starts as, and the deltas of it that were not sent yet."""

    start: dict[str, Any]
    kind: Literal["thinking", "text", "tool_use"]
    waiting: list[Event] = field(default_factory=list)
    opened: bool = False
    arguments: list[str] = field(default_factory=list)

    @property
    def ready(self) -> bool:
        return self.kind != "tool_use" or bool(self.start["name"])

    @property
    def finished(self) -> bool:
        """True if nothing can follow in this block once another one has begun."""
        if self.kind != "tool_use":
            return True
        return bool(self.arguments) and "}" in self.arguments[-1] and arguments.is_whole("".join(self.arguments))


class Blocks:
    """The blocks of one answer, in the order they began.

    The first one is sent as it comes. One that begins before the first is finished waits: the calls of a chat stream
    may interleave, and it does not say when one of them ends.
    """

    def __init__(self) -> None:
        self._queue: deque[_Block] = deque()
        self._calls: dict[int, _Block] = {}
        self._index = 0

    @property
    def called(self) -> bool:
        return bool(self._calls)

    def think(self, text: str) -> None:
        start = {"type": "thinking", "thinking": "", "signature": ""}
        self._last("thinking", start).waiting.append({"type": "thinking_delta", "thinking": text})

    def say(self, text: str) -> None:
        self._last("text", {"type": "text", "text": ""}).waiting.append({"type": "text_delta", "text": text})

    def cite(self, citation: Mapping[str, Any]) -> None:
        """Add a citation to the text it follows; after a tool call there is none, and the answer will go on."""
        if self._queue and self._queue[-1].kind == "text":
            self._queue[-1].waiting.append({"type": "citations_delta", "citation": citation})

    def call(self, index: int, call: Mapping[str, Any]) -> None:
        """Begin a tool call, or go on with it."""
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        if index not in self._calls:
            start: dict[str, Any] = {"type": "tool_use", "id": call.get("id") or "", "name": "", "input": {}}
            self._calls[index] = self._begin("tool_use", start)
        block = self._calls[index]
        block.start["name"] = block.start["name"] or function.get("name") or ""
        piece = function.get("arguments")
        if isinstance(piece, str) and piece:
            block.arguments.append(piece)
            block.waiting.append({"type": "input_json_delta", "partial_json": piece})

    def events(self, *, ending: bool = False) -> Iterator[Event]:
        """The events that can be sent by now; all that are left if the answer ends."""
        while self._queue and (self._queue[0].ready or ending):
            block = self._queue[0]
            yield from self._opened(block)
            if not ending and (len(self._queue) == 1 or not block.finished):
                return
            yield from self._closed(block)
            self._queue.popleft()
            self._index += 1

    def _last(self, kind: Literal["thinking", "text"], start: dict[str, Any]) -> _Block:
        """The last block, if it is of this kind, else a new one."""
        return self._queue[-1] if self._queue and self._queue[-1].kind == kind else self._begin(kind, start)

    def _begin(self, kind: Literal["thinking", "text", "tool_use"], start: dict[str, Any]) -> _Block:
        block = _Block(start, kind)
        self._queue.append(block)
        return block

    def _opened(self, block: _Block) -> Iterator[Event]:
        if not block.opened:
            block.opened = True
            yield {"type": "content_block_start", "index": self._index, "content_block": block.start}
        for delta in block.waiting:
            yield {"type": "content_block_delta", "index": self._index, "delta": delta}
        block.waiting.clear()

    def _closed(self, block: _Block) -> Iterator[Event]:
        if block.kind == "thinking":
            delta = {"type": "signature_delta", "signature": SIGNATURE}
            yield {"type": "content_block_delta", "index": self._index, "delta": delta}
        yield {"type": "content_block_stop", "index": self._index}
