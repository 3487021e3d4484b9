"""Remembers which messages were above their key's default, so that a conversation keeps its label when it goes on.

Kept are keyed digests of messages, never messages. A message counts wherever it comes up again, whatever was edited
around it; what was rewritten (a summary typed into a new chat) is a new text with the label of its own findings.
"""

from __future__ import annotations

import asyncio
import hmac
import unicodedata
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import structlog

from gateway.db import marks
from gateway.errors import Unavailable
from gateway.privacy.label import Source
from policies.labels import PUBLIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.ledger.writer import Writer
    from policies.labels import Label

log = structlog.get_logger()


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
        self._unwritten: dict[str, Label] = {}
        """Marks that the ledger did not take: they hold for as long as this process lives."""

    async def marks_of(self, principal: str, messages: Sequence[Mapping[str, Any]]) -> list[Source]:
        """The labels that messages of this request are remembered with."""
        if not self._short:
            return []
        digests = {self._digest(principal, Message.read(message)): i for i, message in enumerate(messages)}
        likely = [digest for digest in digests if _short(digest) in self._short]
        if not likely:
            return []
        found = await self._find(likely)
        return [Source(f"messages[{digests[digest]}], seen before", label) for digest, label in found.items()]

    async def remember(self, principal: str, messages: Iterable[Message], label: Label) -> None:
        """Mark messages; one that is marked already keeps what it had beside this."""
        digests = [self._digest(principal, message) for message in messages if message.text.strip() or message.calls]
        before = await self._find([digest for digest in digests if _short(digest) in self._short])
        joined = {digest: before.get(digest, label) | label for digest in digests}
        self._short.update(map(_short, joined))
        try:
            await asyncio.gather(*(self._writer.mark(*mark) for mark in joined.items()))
        except Unavailable as failure:
            log.error("marks_not_written", count=len(joined), failure=failure)
            self._unwritten.update(joined)

    async def _find(self, digests: Sequence[str]) -> dict[str, Label]:
        written = await marks.find(self._engine, digests)
        for digest in self._unwritten.keys() & set(digests):
            written[digest] = written.get(digest, PUBLIC) | self._unwritten[digest]
        return written

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
