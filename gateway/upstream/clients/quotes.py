"""The client of the built-in deployment `quotes`: it answers with sentences of the passages, verbatim and cited."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import msgspec

from gateway.errors import UpstreamCut, UpstreamUnavailable
from gateway.wire.sse import DONE, event_of
from retrieval.client import RetrievalError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence

    from gateway.catalog.deployments import Deployment
    from gateway.upstream.clients import Outgoing, Reply
    from retrieval.client import Passage, Sentence

_SENTENCES = 3
_NOTHING_FOUND = {
    "pt": "Não encontrei nada sobre isso nos documentos.",
    "en": "I found nothing about this in the documents.",
}
_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
"""No model is asked, so no token is used: a known zero."""


class Quoter(Protocol):
    """Finds the sentences of passages that answer a question best."""

    async def sentences(self, question: str, passages: Sequence[Passage], top: int) -> list[Sentence]:
        """Best first, verbatim; empty if none is near enough."""
        ...


class QuotesClient:
    """Answers without a model: never wrong by invention."""

    def __init__(self, quoter: Quoter, clock: Callable[[], float] = time.time) -> None:
        self._quoter = quoter
        self._clock = clock

    @asynccontextmanager
    async def send(self, deployment: Deployment, outgoing: Outgoing) -> AsyncIterator[Reply]:
        """Open a reply that is a well-formed chat completion."""
        try:
            sentences = await self._quoter.sentences(outgoing.question, outgoing.passages, _SENTENCES)
        except RetrievalError:
            raise UpstreamUnavailable(
                f"deployment {deployment.name!r} needs retrieval, which is not ready: try again in a few seconds",
                retry_after="2",
            ) from None
        parts = list(_parts(sentences)) or [_NOTHING_FOUND.get(outgoing.language, _NOTHING_FOUND["en"])]
        head = {"id": f"chatcmpl-{uuid4().hex}", "created": int(self._clock()), "model": deployment.model}
        yield QuotesReply(head, parts, stream=outgoing.stream)


class QuotesReply:
    """A chat completion made here."""

    status = 200

    def __init__(self, head: Mapping[str, Any], parts: Sequence[str], *, stream: bool) -> None:
        self.headers: Mapping[str, str] = {}
        self.stream = stream
        self._head = head
        self._parts = parts

    async def read(self, limit: int) -> bytes:
        """The whole answer; UpstreamCut if it is longer than `limit`."""
        content = b"".join([chunk async for chunk in self.chunks()])
        if len(content) > limit:
            raise UpstreamCut(f"the quotes come to more than {limit} bytes")
        return content

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The answer: one event a sentence, or one JSON object."""
        if not self.stream:
            yield self._completion()
            return
        for delta in [{"role": "assistant", "content": ""}, *({"content": part} for part in self._parts)]:
            yield self._event([_choice(delta, None)])
        yield self._event([_choice({}, "stop")])
        yield self._event([], usage=_USAGE)
        yield DONE

    def _completion(self) -> bytes:
        message = {"role": "assistant", "content": "".join(self._parts)}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        body = {**self._head, "object": "chat.completion", "choices": [choice], "usage": _USAGE}
        return msgspec.json.encode(body)

    def _event(self, choices: list[dict[str, Any]], **more: object) -> bytes:
        chunk = {**self._head, "object": "chat.completion.chunk", "choices": choices, **more}
        return event_of(chunk)


def _choice(delta: Mapping[str, str], finish_reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _parts(sentences: Sequence[Sentence]) -> Iterator[str]:
    for position, sentence in enumerate(sentences):
        separator = "\n\n" if position else ""
        yield f"{separator}{sentence.text.strip()} [{sentence.passage + 1}]"
