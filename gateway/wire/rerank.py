"""The wire form of reranking: a query with documents in, the documents' relevance out, in Cohere's shape.

Jina, vLLM and llama-server differ from it in where the text, the score and the usage stand; what clients get is always
Cohere's, with `usage` beside `meta`, since clients of the others look there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from gateway.errors import BadRequest, UnsupportedParameter, UpstreamError
from gateway.wire.lanes import Usage
from gateway.wire.shapes import NamedAtTop
from gateway.wire.usage import count_in, estimate_tokens

MOST_DOCUMENTS = 10_000
"""Of one request; Cohere's own limit."""
ANSWERED_HERE = frozenset({"return_documents", "rank_fields"})
"""What is not passed on: the documents are here already, and some upstreams refuse the parameters."""


class RerankRequest(Struct):
    """`POST /v1/rerank`. Unknown fields are allowed and reach the upstream byte for byte."""

    model: str
    query: str
    documents: list[str | dict[str, Any]]
    top_n: Annotated[int, Meta(ge=1)] | None = None
    return_documents: bool | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """Documents to be ranked by how well they answer a query."""

    query: str
    documents: tuple[str | Mapping[str, Any], ...]
    """As the client wrote them: texts, or objects with their text in `text`."""
    top_n: int
    return_documents: bool

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(document if isinstance(document, str) else document["text"] for document in self.documents)

    @property
    def prompt_tokens(self) -> int:
        """A bound from above. A model that compares reads the query with each document anew."""
        pairs = len(self.query.encode()) * len(self.documents) + sum(len(text.encode()) for text in self.texts)
        return estimate_tokens(pairs)

    @property
    def longest(self) -> int:
        """The same for the longest pair alone, which is what must fit a model's context."""
        longest = max(len(text.encode()) for text in self.texts)
        return estimate_tokens(len(self.query.encode()) + longest)


def read(tree: Mapping[str, Any]) -> Ranking:
    """What a request wants ranked; BadRequest names what is wrong and where, never what it says."""
    query = tree.get("query")
    if not isinstance(query, str) or not query.strip():
        raise BadRequest("'query' must be a text that is not empty", param="query")
    documents = _documents(tree.get("documents"))
    if tree.get("rank_fields") not in (None, ["text"]):
        raise UnsupportedParameter("'rank_fields' is not supported: put what counts into 'text'", param="rank_fields")
    return Ranking(query, documents, _top(tree, len(documents)), _returns_documents(tree))


def changes(ranking: Ranking) -> dict[str, bytes]:
    """The members that an upstream is sent in another form: documents as texts, all that vLLM and Cohere's v2 take."""
    if all(isinstance(document, str) for document in ranking.documents):
        return {}
    return {"documents": msgspec.json.encode(ranking.texts)}


def _documents(given: object) -> tuple[str | Mapping[str, Any], ...]:
    if not isinstance(given, list) or not given:
        raise BadRequest("'documents' must be a list of at least one text", param="documents")
    if len(given) > MOST_DOCUMENTS:
        message = f"'documents' has {len(given)} entries: send at most {MOST_DOCUMENTS} at once"
        raise BadRequest(message, param="documents")
    return tuple(_document(document, f"documents[{index}]") for index, document in enumerate(given))


def _document(document: object, place: str) -> str | Mapping[str, Any]:
    if isinstance(document, str):
        return document
    if isinstance(document, dict) and isinstance(document.get("text"), str):
        return document
    raise BadRequest(f"{place!r} must be a text, or an object with its text in 'text'", param=place)


def _top(tree: Mapping[str, Any], documents: int) -> int:
    top = tree.get("top_n")
    if top is None:
        return documents
    if type(top) is not int or top < 1:
        raise BadRequest("'top_n' must be a whole number of at least 1", param="top_n")
    return min(top, documents)


def _returns_documents(tree: Mapping[str, Any]) -> bool:
    wanted = tree.get("return_documents")
    if wanted is not None and not isinstance(wanted, bool):
        raise BadRequest("'return_documents' must be true or false", param="return_documents")
    return bool(wanted)


def ranked(payload: Mapping[str, Any], ranking: Ranking, usage: Usage, answer_id: str) -> dict[str, Any]:
    """An upstream's answer in Cohere's shape, best first and no more than asked for.

    The payload must be an answer by `RERANK`; UpstreamError if it speaks of documents that were not sent.
    """
    results = _results(payload)
    indices = [result["index"] for result in results]
    if len(set(indices)) < len(indices) or max(indices) >= len(ranking.documents):
        raise UpstreamError("the deployment ranked documents that it was not sent, or one of them twice")
    results = sorted(results, key=_score, reverse=True)[: ranking.top_n]
    named, meta = payload.get("id"), payload.get("meta")
    return {
        "id": named if isinstance(named, str) and named else answer_id,
        "model": payload.get("model"),
        "results": [_result(result, ranking) for result in results],
        "meta": _meta(meta if isinstance(meta, Mapping) else {}, usage),
        "usage": {"prompt_tokens": usage.prompt, "total_tokens": usage.prompt + usage.completion},
    }


def _result(result: Mapping[str, Any], ranking: Ranking) -> dict[str, Any]:
    shown = {"index": result["index"], "relevance_score": _score(result)}
    if not ranking.return_documents:
        return shown
    document = ranking.documents[result["index"]]
    return {**shown, "document": {"text": document} if isinstance(document, str) else document}


def _meta(stated: Mapping[str, Any], usage: Usage) -> dict[str, Any]:
    return {"tokens": {"input_tokens": usage.prompt, "output_tokens": usage.completion}, **stated}


class RerankShape(NamedAtTop):
    """`/rerank`."""

    path = "/rerank"

    def is_answer(self, payload: Mapping[str, Any]) -> bool:
        results = _results(payload)
        return bool(results) and all(map(_is_result, results))

    def error(self, payload: Mapping[str, Any]) -> object | None:
        return None if _results(payload) else payload.get("error") or None

    def heard(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Its usage: in `usage` as Jina and vLLM say it, or in `meta` as Cohere does, searches before tokens.

        Searches are what is billed where they are counted, not the tokens that may stand beside them.
        """
        usage, meta = _object(payload.get("usage")), _object(payload.get("meta"))
        billed = _object(meta.get("billed_units"))
        units = _most((usage, billed), ("search_units",))
        holders = (usage, _object(meta.get("tokens")), billed)
        prompt = None if units else _most(holders, ("prompt_tokens", "input_tokens", "total_tokens"))
        if units is None and prompt is None:
            return {}
        counts = {"prompt_tokens": prompt or 0, "completion_tokens": 0, "total_tokens": prompt or 0}
        return {"usage": {**counts, "search_units": units or 0}}


RERANK = RerankShape()


def _most(holders: Sequence[Mapping[str, Any]], names: Sequence[str]) -> int | None:
    counts = [count_in(holder, name) for holder in holders for name in names]
    return max((count for count in counts if count is not None), default=None)


def _results(payload: Mapping[str, Any]) -> Sequence[Any]:
    """`results`, or `data` as Voyage and some gateways call it."""
    for name in ("results", "data"):
        if isinstance(found := payload.get(name), list):
            return found
    return ()


def _is_result(result: object) -> bool:
    return isinstance(result, dict) and _is_count(result.get("index")) and _score_of(result) is not None


def _score(result: Mapping[str, Any]) -> float:
    score = _score_of(result)
    return 0.0 if score is None else score


def _score_of(result: Mapping[str, Any]) -> float | None:
    for name in ("relevance_score", "score"):
        score = result.get(name)
        if isinstance(score, int | float) and not isinstance(score, bool):
            return score
    return None


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
