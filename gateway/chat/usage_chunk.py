"""Takes the usage out of a stream's chunks, and says it once, in a chunk of its own, where the client asked for it."""

from __future__ import annotations

from typing import Any

from gateway.wire.shapes import choices_of
from gateway.wire.sse import event_of
from gateway.wire.usage import joined


class UsageChunk:
    """Upstreams say their usage first, in between, last, twice, beside what they say or within a choice.

    OpenAI says it last, with empty `choices`, and clients rely on that.
    """

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._kept: dict[str, Any] = {}
        self._raw = b""

    def take(self, chunk: dict[str, Any], raw: bytes) -> bool:
        """Take what the chunk (`raw`, unless it was changed) says of usage; True if that changed it."""
        stated = chunk.get("usage")
        taken = isinstance(stated, dict) or ("usage" in chunk and not self._shown)
        if taken:
            del chunk["usage"]
        for choice in choices_of(chunk):
            if isinstance(choice.get("usage"), dict):
                of_choice = choice.pop("usage")
                stated, taken = stated or of_choice, True
        if isinstance(stated, dict):
            self._keep(chunk, stated, raw)
        return taken

    def _keep(self, chunk: dict[str, Any], stated: dict[str, Any], raw: bytes) -> None:
        """Keep what is told by now, as the ledger does; in the upstream's own bytes if these are all of it."""
        before = self._kept.get("usage")
        told = joined(before or {}, stated)
        if told is before:
            return
        head = {name: value for name, value in chunk.items() if name != "choices"}
        self._kept = {**head, "choices": [], "usage": told}
        self._raw = raw if told == stated and not chunk.get("choices") else b""

    def last(self) -> bytes:
        """The chunk to end with: the upstream's own bytes where it had one; nothing if none is due."""
        if not (self._shown and self._kept):
            return b""
        return self._raw or event_of(self._kept)
