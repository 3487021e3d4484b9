"""The client of the house's own embedding model: it answers embeddings and rerank out of the retrieval process.

What a text is, a query or something to be found, is said by `input_type`, in the words of Cohere, Voyage and NVIDIA, or
by the prompt that it begins with. Without either it is a query: e5 wants that where texts of one kind are compared.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from gateway.errors import (
    UpstreamContextExceeded,
    UpstreamCut,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
    UpstreamUnsupported,
)
from gateway.wire import embeddings, rerank
from gateway.wire.rerank import RERANK
from retrieval.client import RetrievalError, RetrievalNotReady, RetrievalRefused

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence

    from gateway.catalog.deployments import Deployment
    from gateway.upstream.clients import Outgoing, Reply
    from retrieval.client import Embedded, Ranked, Refusal, TextKind

_KINDS: Mapping[object, TextKind] = {
    None: "query",
    "query": "query",
    "search_query": "query",
    "classification": "query",
    "clustering": "query",
    "document": "document",
    "passage": "document",
    "search_document": "document",
}
_CUTTING = ("max_tokens_per_doc", "max_chunks_per_doc", "truncate_prompt_tokens", "truncation", "truncate")
"""What asks to shorten long texts; here they are refused."""


class Model(Protocol):
    """The house's embedding model."""

    async def embed(self, texts: Sequence[str], kind: TextKind, dimensions: int | None = None) -> Embedded:
        """The vectors of the texts, in their order."""
        ...

    async def rerank(self, query: str, documents: Sequence[str]) -> Ranked:
        """How near each document is to the query, in their order."""
        ...


class EmbedderClient:
    """Answers in OpenAI's and Cohere's shapes."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @asynccontextmanager
    async def send(self, deployment: Deployment, outgoing: Outgoing) -> AsyncIterator[Reply]:
        """Open a reply; UpstreamRefused names what the model cannot do."""
        tree = msgspec.json.decode(outgoing.body)
        with _failures(deployment, tree):
            _check_cutting(deployment, tree)
            async with asyncio.timeout(deployment.limits.first_byte):
                answer = await (self._rerank(tree) if outgoing.shape.path == RERANK.path else self._embed(tree))
        yield EmbedderReply(msgspec.json.encode({**answer, "model": deployment.model}))

    async def _embed(self, tree: Mapping[str, Any]) -> dict[str, Any]:
        inputs = embeddings.read_input(tree)
        if inputs.tokens:
            raise _unsupported(
                "'input' holds token ids, and this model has a vocabulary of its own: send text", "input"
            )
        dimensions = embeddings.read_dimensions(tree)
        embedded = await self._model.embed(inputs.texts, _kind(tree), dimensions)
        data = [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(embedded.vectors)
        ]
        return {"object": "list", "data": data, "usage": _usage(embedded.tokens)}

    async def _rerank(self, tree: Mapping[str, Any]) -> dict[str, Any]:
        ranking = rerank.read(tree)
        ranked = await self._model.rerank(ranking.query, ranking.texts)
        results = [{"index": index, "relevance_score": score} for index, score in enumerate(ranked.scores)]
        return {"results": results, "usage": _usage(ranked.tokens)}


class EmbedderReply:
    """An answer made here."""

    status = 200
    stream = False

    def __init__(self, body: bytes) -> None:
        self.headers: Mapping[str, str] = {}
        self._body = body

    async def read(self, limit: int) -> bytes:
        """The whole answer; UpstreamCut if it is longer than `limit`."""
        if len(self._body) > limit:
            raise UpstreamCut(f"the vectors come to more than {limit} bytes: send fewer texts at once")
        return self._body

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The whole answer at once."""
        yield self._body


def _check_cutting(deployment: Deployment, tree: Mapping[str, Any]) -> None:
    for name in _CUTTING:
        if tree.get(name) not in (None, False, "NONE"):
            raise _unsupported(f"deployment {deployment.name!r} shortens no texts: leave out {name!r}", name)


def _kind(tree: Mapping[str, Any]) -> TextKind:
    stated = tree.get("input_type")
    if not (stated is None or isinstance(stated, str)) or stated not in _KINDS:
        known = ", ".join(f"{name!r}" for name in _KINDS if name)
        raise _unsupported(f"'input_type' must be one of {known}", "input_type")
    return _KINDS[stated]


def _usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": tokens, "total_tokens": tokens}


@contextmanager
def _failures(deployment: Deployment, tree: Mapping[str, Any]) -> Iterator[None]:
    """Failures of the retrieval process in the words of a deployment's."""
    name = deployment.name
    try:
        yield
    except RetrievalRefused as error:
        raise _refused(name, error.refusal, tree) from None
    except RetrievalNotReady as error:
        message = f"deployment {name!r} needs the retrieval process, which is not ready: try again in a few seconds"
        raise UpstreamUnavailable(message, retry_after=str(error.retry_after)) from None
    except RetrievalError:
        raise UpstreamError(f"deployment {name!r} failed: the retrieval process gave no answer") from None
    except TimeoutError:
        raise UpstreamTimeout(f"deployment {name!r} did not answer within its time limit") from None


def _refused(name: str, refusal: Refusal, tree: Mapping[str, Any]) -> UpstreamRefused:
    if refusal.reason == "dimensions":
        return _unsupported(f"deployment {name!r} gives vectors of {refusal.limit} numbers only", "dimensions")
    place = _place(refusal.index, tree)
    message = f"{place!r} is longer than the {refusal.limit} tokens deployment {name!r} reads at once: split it"
    error = UpstreamContextExceeded(message, status=400)
    error.param = place
    return error


def _place(index: int | None, tree: Mapping[str, Any]) -> str:
    if index is None:
        return "query"
    if "documents" in tree:
        return f"documents[{index}]"
    return "input" if isinstance(tree["input"], str) else f"input[{index}]"


def _unsupported(message: str, param: str) -> UpstreamUnsupported:
    error = UpstreamUnsupported(message, status=400)
    error.param = param
    return error
