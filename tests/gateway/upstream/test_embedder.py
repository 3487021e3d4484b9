"""The house's own model answers in the shapes of the endpoints, and names what it cannot do."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from gateway.catalog.deployments import Limits
from gateway.errors import (
    UpstreamContextExceeded,
    UpstreamCut,
    UpstreamError,
    UpstreamTimeout,
    UpstreamUnavailable,
    UpstreamUnsupported,
)
from gateway.upstream.clients import Outgoing
from gateway.upstream.clients.embedder import EmbedderClient
from gateway.wire.embeddings import EMBEDDINGS
from gateway.wire.lanes import Usage
from gateway.wire.rerank import RERANK
from gateway.wire.usage import read_usage
from policies.labels import PRIVATE
from retrieval.client import Embedded, Ranked, Refusal, RetrievalError, RetrievalNotReady, RetrievalRefused
from tests.fakes import deployment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.wire.shapes import Shape
    from retrieval.client import TextKind

AT = replace(deployment("", name="e5-small"), engine="embedder", model="e5-small")


@dataclass
class FakeModel:
    """Makes vectors of text lengths, or fails as it is told."""

    failure: Exception | None = None
    silent: bool = False
    asked: list[tuple[Sequence[str], TextKind, int | None]] = field(default_factory=list)

    async def embed(self, texts: Sequence[str], kind: TextKind, dimensions: int | None = None) -> Embedded:
        self.asked.append((texts, kind, dimensions))
        await self._trouble()
        return Embedded([[float(len(text)), 0.5] for text in texts], 4 * len(texts))

    async def rerank(self, query: str, documents: Sequence[str]) -> Ranked:
        await self._trouble()
        return Ranked([float(document.count(query)) for document in documents], 9)

    async def _trouble(self) -> None:
        if self.silent:
            await asyncio.sleep(60)
        if self.failure is not None:
            raise self.failure


async def ask(model: FakeModel, shape: Shape, body: dict[str, Any], *, limit: int = 1_000_000) -> dict[str, Any]:
    at = replace(AT, limits=Limits(first_byte=0.05)) if model.silent else AT
    outgoing = Outgoing(msgspec.json.encode({"model": "e5-small", **body}), PRIVATE, False, shape=shape)
    async with EmbedderClient(model).send(at, outgoing) as reply:
        answer = msgspec.json.decode(await reply.read(limit))
        assert msgspec.json.decode(b"".join([chunk async for chunk in reply.chunks()])) == answer
        assert (reply.status, reply.stream) == (200, False)
    assert isinstance(answer, dict)
    return answer


async def test_vectors_come_in_the_shape_of_the_endpoint_with_their_usage() -> None:
    answer = await ask(FakeModel(), EMBEDDINGS, {"input": ["a", "bcd"]})

    assert EMBEDDINGS.is_answer(answer)
    assert [item["embedding"] for item in answer["data"]] == [[1.0, 0.5], [3.0, 0.5]]
    assert answer["model"] == "e5-small"
    assert read_usage(EMBEDDINGS.heard(answer)) == Usage(fresh=8)


async def test_documents_are_ranked_in_the_shape_of_the_endpoint_with_their_usage() -> None:
    answer = await ask(FakeModel(), RERANK, {"query": "sol", "documents": ["lua", {"text": "sol e sol"}]})

    assert RERANK.is_answer(answer)
    assert [result["relevance_score"] for result in answer["results"]] == [0.0, 2.0]
    assert read_usage(RERANK.heard(answer)) == Usage(fresh=9)


@pytest.mark.parametrize(
    ("stated", "kind"),
    [
        ({}, "query"),
        ({"input_type": None}, "query"),
        ({"input_type": "query"}, "query"),
        ({"input_type": "search_query"}, "query"),
        ({"input_type": "clustering"}, "query"),
        ({"input_type": "passage"}, "document"),
        ({"input_type": "document"}, "document"),
        ({"input_type": "search_document"}, "document"),
    ],
)
async def test_a_text_is_a_query_unless_the_client_says_otherwise(stated: dict[str, Any], kind: TextKind) -> None:
    model = FakeModel()

    await ask(model, EMBEDDINGS, {"input": "a", "dimensions": 2, **stated})

    assert model.asked == [(("a",), kind, 2)]


@pytest.mark.parametrize(
    ("shape", "body", "param"),
    [
        (EMBEDDINGS, {"input": [1, 2]}, "input"),
        (EMBEDDINGS, {"input": "a", "input_type": "canary"}, "input_type"),
        (EMBEDDINGS, {"input": "a", "input_type": ["canary"]}, "input_type"),
        (EMBEDDINGS, {"input": "a", "truncate": "END"}, "truncate"),
        (EMBEDDINGS, {"input": "a", "truncate_prompt_tokens": 5}, "truncate_prompt_tokens"),
        (RERANK, {"query": "q", "documents": ["a"], "max_tokens_per_doc": 5}, "max_tokens_per_doc"),
    ],
)
async def test_what_it_cannot_do_is_refused_by_name_and_another_may_try(
    shape: Shape, body: dict[str, Any], param: str
) -> None:
    model = FakeModel()

    with pytest.raises(UpstreamUnsupported) as refused:
        await ask(model, shape, body)

    assert (refused.value.param, refused.value.status, refused.value.code) == (param, 400, "unsupported_parameter")
    assert refused.value.may_fall_back
    assert not refused.value.billed
    assert "canary" not in str(refused.value)
    assert not model.asked


async def test_a_client_that_asks_for_no_cutting_is_served() -> None:
    body = {"input": "a", "truncate": "NONE", "truncation": False}

    assert EMBEDDINGS.is_answer(await ask(FakeModel(), EMBEDDINGS, body))


@pytest.mark.parametrize(
    ("shape", "body", "index", "place"),
    [
        (EMBEDDINGS, {"input": "a"}, 0, "input"),
        (EMBEDDINGS, {"input": ["a", "b"]}, 1, "input[1]"),
        (RERANK, {"query": "q", "documents": ["a", "b"]}, 1, "documents[1]"),
        (RERANK, {"query": "q", "documents": ["a"]}, None, "query"),
    ],
)
async def test_a_text_that_is_too_long_is_named(
    shape: Shape, body: dict[str, Any], index: int | None, place: str
) -> None:
    model = FakeModel(RetrievalRefused(Refusal("too_long", index, 700, 510)))

    with pytest.raises(UpstreamContextExceeded) as refused:
        await ask(model, shape, body)

    assert (refused.value.param, refused.value.code) == (place, "context_length_exceeded")
    assert "510" in str(refused.value)


async def test_other_dimensions_than_the_models_are_refused() -> None:
    model = FakeModel(RetrievalRefused(Refusal("dimensions", None, 128, 384)))

    with pytest.raises(UpstreamUnsupported, match="384") as refused:
        await ask(model, EMBEDDINGS, {"input": "a", "dimensions": 128})

    assert refused.value.param == "dimensions"


@pytest.mark.parametrize("shape", [EMBEDDINGS, RERANK])
async def test_without_retrieval_it_is_unavailable_for_a_while(shape: Shape) -> None:
    body = {"input": "a", "query": "q", "documents": ["a"]}

    with pytest.raises(UpstreamUnavailable) as failure:
        await ask(FakeModel(RetrievalNotReady("canary", 2)), shape, body)
    with pytest.raises(UpstreamError) as broken:
        await ask(FakeModel(RetrievalError("canary")), shape, body)

    assert failure.value.retry_after == "2"
    assert "canary" not in f"{failure.value} {broken.value}"


async def test_it_keeps_the_limits_of_its_deployment() -> None:
    with pytest.raises(UpstreamTimeout):
        await ask(FakeModel(silent=True), EMBEDDINGS, {"input": "a"})

    with pytest.raises(UpstreamCut):
        await ask(FakeModel(), EMBEDDINGS, {"input": "a"}, limit=10)
