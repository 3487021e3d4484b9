"""Server-sent events in every way that upstreams write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.wire.upstream import STREAM_HEAD, Script

DONE = "[DONE]"


@dataclass(frozen=True)
class Framing:
    """How events are written: line ends, and what stands before, between and within them. `|` is a line end."""

    end: str = "\n"
    before: str = ""
    between: str = ""
    above: str = ""
    below: str = ""
    colon: str = ": "
    lines: int = 1
    """How many data lines an event has."""
    last: str = "||"
    """What ends the last event."""

    def write(self, events: Sequence[Mapping[str, Any] | str]) -> bytes:
        written = [self._event(event) for event in events]
        if written:
            written[-1] = written[-1].removesuffix("||") + self.last
        return (self.before + self.between.join(written)).replace("|", self.end).encode()

    def _event(self, event: Mapping[str, Any] | str) -> str:
        data = event if isinstance(event, str) else self._split(event)
        kind = "" if isinstance(event, str) else event.get("type")
        named = f"event{self.colon}{kind}|" if kind else ""
        return f"{self.above}{named}data{self.colon}{data}|{self.below}|"

    def _split(self, event: Mapping[str, Any]) -> str:
        """The event on so many data lines: JSON may be broken wherever a comma stands between members."""
        data = json.dumps(event, ensure_ascii=False)
        assert "|" not in data
        pieces = data.split(", ", self.lines - 1)
        return f",|data{self.colon}".join(pieces)


FRAMINGS = {
    "LF": Framing(),
    "CRLF": Framing(end="\r\n"),
    "CR": Framing(end="\r"),
    "comments before": Framing(before=": OPENROUTER PROCESSING||: OPENROUTER PROCESSING||"),
    "comments between": Framing(between=": PROCESSING||"),
    "comments between, CRLF": Framing(end="\r\n", between=":||"),
    "comments glued above": Framing(above=": PROCESSING|"),
    "comments glued below": Framing(below=": PROCESSING|", end="\r\n"),
    "ids and retries": Framing(above="id: 7|retry: 100|"),
    "ids and retries below, CR": Framing(end="\r", below="id: 7|retry: 100|"),
    "pings without data": Framing(between="event: ping||"),
    "blank lines between": Framing(between="||"),
    "no blank after the colon": Framing(colon=":"),
    "several data lines": Framing(lines=3),
    "several data lines, CRLF": Framing(lines=3, end="\r\n"),
    "a byte order mark": Framing(before="\ufeff"),
    "no blank line at the end": Framing(last="|"),
    "no line end at the end": Framing(last=""),
}


def streamed(body: bytes, **more: Any) -> Script:
    """The bytes of a stream as an answer."""
    return Script((STREAM_HEAD, body), **more)
