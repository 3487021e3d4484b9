"""Remembers what was said above a key's default, so that a conversation keeps its label when it goes on.

Kept are fingerprints, never words. They count wherever they come up again, in whatever message and whoever asks; what
was rewritten (a summary or a translation typed into a new chat) is a new text with the label of its own findings.
"""

from __future__ import annotations

import asyncio
import hmac
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import structlog

from gateway.db import marks
from gateway.errors import Unavailable
from gateway.privacy.fingerprints import Fingerprints, last_sentence_end, words_of
from gateway.privacy.label import Source
from policies.labels import PUBLIC

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.ledger.writer import Writer
    from policies.labels import Label

log = structlog.get_logger()

_NOT_WORDS = frozenset({"role", "type", "id", "tool_call_id"})
_CLEARED = 20_000
"""Answers that are known to be harmless; of older ones a phrase may raise a conversation that goes on."""
_SAID_BY_EVERYBODY = 4
"""Words: `sim`, `muito obrigado`, `good morning`."""
_LAST_STEPS = 200
"""How far back a reader who stopped an answer may have been behind what was sent."""


class Conversations:
    """The marks of one ledger. A request is looked up in the database only if memory says that it may be there."""

    def __init__(self, engine: AsyncEngine, writer: Writer, secret: bytes, known: Iterable[str]) -> None:
        self._engine = engine
        self._writer = writer
        self.fingerprints = Fingerprints(hmac.digest(secret, b"soleira conversation marks", "sha256"))
        self._short = {_short(digest) for digest in known}
        self._unwritten: dict[str, Label] = {}
        """Marks that the ledger did not take: they hold for as long as this process lives."""
        self.under_way: set[Trail] = set()
        """Answers that are not at their end: a reader may stop one and ask at any moment."""
        self._cleared: OrderedDict[str, None] = OrderedDict()

    def clear(self, texts: Iterable[str]) -> None:
        """Note an answer to a request that was not above its default: what it says verbatim needs no mark.

        Models share phrases; without this, one that was once said in private would bar every other conversation.
        """
        for text in texts:
            self._cleared[self.fingerprints.whole(words_of(text))] = None
        while len(self._cleared) > _CLEARED:
            self._cleared.popitem(last=False)

    def gave(self, text: str) -> bool:
        """True of a text, word for word, that was such an answer's; forgotten when the process ends."""
        return self.fingerprints.whole(words_of(text)) in self._cleared

    async def marks_of(self, messages: Sequence[Mapping[str, Any]]) -> list[Source]:
        """The labels that messages of this request are remembered with."""
        if not self._short and not self.under_way:
            return []
        said = {digest: index for index, message in enumerate(messages) for digest in self._digests(message)}
        found = await self._find(said)
        for trail in self.under_way:
            for digest in trail.steps & said.keys():
                found[digest] = found.get(digest, PUBLIC) | trail.label
        sources = {Source(f"messages[{said[digest]}], seen before", label) for digest, label in found.items()}
        return sorted(sources, key=str)

    async def remember(self, digests: Collection[str], label: Label) -> None:
        """Mark fingerprints; one that is marked already keeps what it had beside this."""
        before = await self._find(digests)
        joined = {digest: before.get(digest, PUBLIC) | label for digest in digests}
        new = {digest: wanted for digest, wanted in joined.items() if before.get(digest) != wanted}
        self._short.update(map(_short, new))
        try:
            await asyncio.gather(*(self._writer.mark(*mark) for mark in new.items()))
        except Unavailable as failure:
            log.error("marks_not_written", count=len(new), failure=failure)
            self._unwritten.update(new)

    async def remember_messages(self, messages: Sequence[Mapping[str, Any]], label: Label) -> None:
        """Mark what was labelled by hand; instructions to the model belong to all conversations alike."""
        said = (message for message in messages if message.get("role") not in ("system", "developer"))
        await self.remember({digest for message in said for digest in self._digests(message)}, label)

    def _digests(self, message: Mapping[str, Any]) -> set[str]:
        """What is so short that everybody says it counts in answers only."""
        shortest = 1 if message.get("role") == "assistant" else _SAID_BY_EVERYBODY
        digests: set[str] = set()
        for text in _texts("", message):
            words = words_of(text)
            whole = self.fingerprints.whole(words)
            if len(words) >= shortest and whole not in self._cleared:
                digests |= {whole, *self.fingerprints.parts(text, words)}
        return digests

    async def _find(self, digests: Iterable[str]) -> dict[str, Label]:
        likely = [digest for digest in digests if _short(digest) in self._short]
        found = await marks.find(self._engine, likely) if likely else {}
        for digest in self._unwritten.keys() & set(likely):
            found[digest] = found.get(digest, PUBLIC) | self._unwritten[digest]
        return found


class Trail:
    """Marks one answer while it is given: nothing goes out whose words are not remembered."""

    def __init__(self, conversations: Conversations, label: Label) -> None:
        self._conversations = conversations
        self.label = label
        self._done: set[str] = set()
        self._read: dict[int, int] = {}
        """For each text up to where its sentences are marked."""
        self._steps: dict[str, None] = {}

    @property
    def steps(self) -> Set[str]:
        """The whole of what had gone out at each step: a reader may stop at any of them."""
        return self._steps.keys()

    async def follow(self, texts: Sequence[str]) -> None:
        """Mark what the texts have grown by. To be called before it is sent."""
        self._conversations.under_way.add(self)
        prints = self._conversations.fingerprints
        new: set[str] = set()
        for index, text in enumerate(texts):
            start = self._read.get(index, 0)
            new |= prints.parts(text[start:], words_of(text[start:]))
            self._read[index] = last_sentence_end(text, start)
            self._steps[prints.whole(words_of(text))] = None
        await self._mark(new)

    async def end(self, texts: Sequence[str], *, complete: bool) -> None:
        """Mark the texts as a whole, and if they were cut off, wherever the reader may have been."""
        prints = self._conversations.fingerprints
        whole = {digest for text in texts for digest in prints.of(text)}
        await self._mark(whole if complete else whole.union([*self._steps][-_LAST_STEPS:]))
        self._conversations.under_way.discard(self)

    async def _mark(self, digests: set[str]) -> None:
        new = digests - self._done
        self._done |= new
        if new:
            await self._conversations.remember(new, self.label)


def text_in(content: object) -> str:
    """The text of a message's content: a string, or the texts of its parts as the one text that they are."""
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _texts(name: str, value: object) -> Iterator[str]:
    """The texts in a message: its content as one, and every other string that could hold words."""
    if isinstance(value, str):
        if name not in _NOT_WORDS:
            yield value
    elif isinstance(value, list):
        if name == "content":
            yield text_in(value)
        for part in value:
            yield from _texts("", part)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _texts(key, part)


def _short(digest: str) -> int:
    """Eight bytes are enough to say `perhaps`, at a fraction of the memory."""
    return int(digest[:16], 16)
