"""Reads server-sent events wherever the network cuts them, every byte kept, and writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from gateway.errors import UpstreamCut

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_EVENT_BYTES = 8 * 1024 * 1024

# Atomic groups: CRLF is one line end, never a CR and then an empty line.
_BLANK_LINE = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
_LONGEST_BLANK_LINE = 4
_BOM = b"\xef\xbb\xbf"

DONE = b"data: [DONE]\n\n"
"""What closes a complete stream of OpenAI's."""

Kind = Literal["data", "done", "other"]


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `raw` is what came, its end included; `data` its joined data lines, None if it has none."""

    raw: bytes
    data: bytes | None

    @property
    def kind(self) -> Kind:
        """`done` is the closing `[DONE]`; `other` holds no data: comments, a bare `event:`, blank lines."""
        if self.data is None:
            return "other"
        return "done" if self.data.strip() == b"[DONE]" else "data"


class Events:
    """An incremental parser. What it returns, joined with `rest()`, is what it was fed."""

    def __init__(self) -> None:
        self._pending = b""
        self._after_cr = False

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that are complete with `data`."""
        events: list[Event] = []
        if self._after_cr and data:
            # An event that ended with CR was handed out at once; its LF, if there is one, comes by itself.
            self._after_cr = False
            if data.startswith(b"\n"):
                events.append(Event(b"\n", None))
                data = data[1:]
        buffer = self._pending + data
        start = 0
        search_from = max(0, len(self._pending) - _LONGEST_BLANK_LINE)
        while end := _BLANK_LINE.search(buffer, search_from):
            raw = buffer[start : end.end()]
            events.append(Event(raw, _data(raw)))
            start = search_from = end.end()
        self._keep(buffer, start)
        return events

    def rest(self) -> bytes:
        """The incomplete tail."""
        return self._pending

    def end(self) -> Event | None:
        """At the end of the stream: the tail, if it is a whole event that only lacks its blank line."""
        raw = self._pending + b"\n\n"
        last = Event(raw, _data(raw))
        self._pending = b""
        return last if last.kind == "done" or _is_json(last.data) else None

    def _keep(self, buffer: bytes, start: int) -> None:
        self._pending = buffer[start:]
        if start and not self._pending:
            self._after_cr = buffer.endswith(b"\r")
        if len(self._pending) > MAX_EVENT_BYTES:
            raise UpstreamCut(f"the upstream sent an event of more than {MAX_EVENT_BYTES} bytes")


def _data(raw: bytes) -> bytes | None:
    lines = [_value(line) for line in raw.removeprefix(_BOM).splitlines() if _is_data(line)]
    return b"\n".join(lines) if lines else None


def _is_data(line: bytes) -> bool:
    return line.startswith(b"data:") or line == b"data"


def _value(line: bytes) -> bytes:
    return line[5:].removeprefix(b" ")


def _is_json(data: bytes | None) -> bool:
    try:
        msgspec.json.decode(data or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def event_of(value: Mapping[str, Any]) -> bytes:
    """An object as an event without a name."""
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
