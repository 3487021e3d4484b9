"""Remembers which messages were above their key's default, so that a conversation keeps its label when it goes on.

Kept are keyed digests of messages, never messages. A message counts wherever it comes up again, whatever was edited
around it; what was rewritten (a summary typed into a new chat) is a new text with the label of its own findings.
"""

from __future__ import annotations

import hmac
import unicodedata
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from gateway.db import marks
from gateway.privacy.label import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.ledger.writer import Writer
    from policies.labels import Label


@dataclass(frozen=True, slots=True)
class Message:
    """The parts of a message that a client sends back: its text, and its tool calls as name and arguments."""

    text: str
    calls: tuple[str, ...] = ()

    @classmethod
    def read(cls, message: Mapping[str, Any]) -> Message:
        """Read a message of a request, whatever else is in it."""
        content = message.get("content")
        if isinstance(content, list):
            texts = (part.get("text") for part in content if isinstance(part, dict))
            content = "".join(text for text in texts if isinstance(text, str))
        calls = message.get("tool_calls")
        return cls(
            content if isinstance(content, str) else "", tuple(map(_call, calls if isinstance(calls, list) else ()))
        )


class Conversations:
    """The marks of one ledger. A request is looked up in the database only if memory says that it may be there."""

    def __init__(self, engine: AsyncEngine, writer: Writer, secret: bytes, known: Iterable[str]) -> None:
        self._engine = engine
        self._writer = writer
        self._key = hmac.digest(secret, b"soleira conversation marks", "sha256")
        self._short = {_short(digest) for digest in known}

    async def marks_of(self, principal: str, messages: Sequence[Mapping[str, Any]]) -> list[Source]:
        """The labels that messages of this request are remembered with."""
        digests = {self._digest(principal, Message.read(message)): i for i, message in enumerate(messages)}
        likely = [digest for digest in digests if _short(digest) in self._short]
        if not likely:
            return []
        found = await marks.find(self._engine, likely)
        return [Source(f"messages[{digests[digest]}], seen before", label) for digest, label in found.items()]

    async def remember(self, principal: str, messages: Iterable[Message], label: Label) -> None:
        """Mark messages; one that is marked already keeps what it had beside this."""
        digests = [self._digest(principal, message) for message in messages if message.text.strip() or message.calls]
        before = await marks.find(self._engine, [digest for digest in digests if _short(digest) in self._short])
        for digest in digests:
            self._short.add(_short(digest))
            await self._writer.mark(digest, before.get(digest, label) | label)

    def _digest(self, principal: str, message: Message) -> str:
        """White space and Unicode form are no difference: front-ends change them."""
        parts = (principal, message.text) if message.text.strip() else (principal, *message.calls)
        text = "\0".join(" ".join(unicodedata.normalize("NFC", part).split()) for part in parts)
        return hmac.new(self._key, text.encode(), sha256).hexdigest()


def _call(call: object) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return ""
    return f"{function.get('name') or ''}{function.get('arguments') or ''}"


def _short(digest: str) -> int:
    """Eight bytes are enough to say `perhaps`, at a quarter of the memory."""
    return int(digest[:16], 16)
