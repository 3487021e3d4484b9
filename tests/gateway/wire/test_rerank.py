"""Rerank answers come in Cohere's shape, whichever dialect the upstream speaks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.errors import BadRequest, UpstreamError
from gateway.wire.lanes import Usage
from gateway.wire.rerank import MOST_DOCUMENTS, RERANK, Ranking, changes, ranked, read
from gateway.wire.usage import read_usage

DOCUMENTS = ["um", "dois", "três"]
USAGE = Usage(fresh=11)

COHERE = {
    "id": "r-1",
    "results": [{"index": 2, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}],
    "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
}
VLLM = {
    "id": "rerank-1",
    "model": "up",
    "usage": {"prompt_tokens": 11, "total_tokens": 11},
    "results": [
        {"index": 2, "document": {"text": "três", "multi_modal": None}, "relevance_score": 0.9},
        {"index": 0, "document": {"text": "um", "multi_modal": None}, "relevance_score": 0.1},
    ],
}
LLAMA_SERVER = {  # an old one: in the order of the documents, and `top_n` is not looked at
    "model": "up",
    "object": "list",
    "usage": {"prompt_tokens": 11, "total_tokens": 11},
    "results": [
        {"index": 0, "relevance_score": 0.1},
        {"index": 1, "relevance_score": -4.5},
        {"index": 2, "relevance_score": 0.9},
    ],
}
VOYAGE = {
    "object": "list",
    "data": [{"index": 0, "relevance_score": 0.1}, {"index": 2, "relevance_score": 0.9}],
    "usage": {"total_tokens": 11},
}
SCORES = {"results": [{"index": 0, "score": 0.1}, {"index": 2, "score": 0.9}]}


def request(**more: Any) -> dict[str, Any]:
    return {"model": "m", "query": "quantos?", "documents": DOCUMENTS, **more}


def test_texts_and_objects_are_read() -> None:
    titled = {"title": "Canção", "text": "dois"}

    ranking = read(request(documents=["um", titled], top_n=9, return_documents=True))

    assert ranking == Ranking("quantos?", ("um", titled), 2, True)
    assert ranking.texts == ("um", "dois")
    assert read(request()).top_n == 3
    assert not read(request()).return_documents


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"query": ""}, "query"),
        ({"query": {"text": "canary"}}, "query"),
        ({"documents": []}, "documents"),
        ({"documents": "canary"}, "documents"),
        ({"documents": ["a", 5]}, "documents[1]"),
        ({"documents": ["a", {"image": "canary"}]}, "documents[1]"),
        ({"documents": ["a", {"text": None}]}, "documents[1]"),
        ({"documents": ["a"] * (MOST_DOCUMENTS + 1)}, "documents"),
        ({"top_n": 0}, "top_n"),
        ({"top_n": True}, "top_n"),
        ({"top_n": "1"}, "top_n"),
        ({"return_documents": "canary"}, "return_documents"),
        ({"rank_fields": ["canary"]}, "rank_fields"),
    ],
)
def test_what_cannot_be_ranked_is_refused_by_its_place_and_not_quoted(more: dict[str, Any], place: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read(request(**more))

    assert refused.value.param == place
    assert "canary" not in str(refused.value)


def test_an_upstream_is_sent_texts_and_nothing_else_of_a_document() -> None:
    mixed = changes(read(request(documents=["um", {"text": "dois", "title": "x"}])))

    assert json.loads(mixed["documents"]) == ["um", "dois"]
    assert changes(read(request())) == {}


def test_the_bound_reads_the_query_with_each_document() -> None:
    ranking = Ranking("q" * 30, ("a" * 3, "b" * 60), 2, False)

    assert (ranking.prompt_tokens, ranking.longest) == (41, 30)


@pytest.mark.parametrize("payload", [COHERE, VLLM, LLAMA_SERVER, VOYAGE, SCORES])
def test_every_dialect_comes_out_in_one_shape(payload: dict[str, Any]) -> None:
    assert RERANK.is_answer(payload)

    answer = ranked(payload, read(request(top_n=2)), USAGE, "rerank-new")

    assert answer["results"] == [{"index": 2, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]
    assert answer["usage"] == {"prompt_tokens": 11, "total_tokens": 11}
    assert answer["meta"]["tokens"] == {"input_tokens": 11, "output_tokens": 0}
    assert answer["id"] == payload.get("id", "rerank-new")


def test_what_cohere_bills_is_kept() -> None:
    answer = ranked(COHERE, read(request()), USAGE, "rerank-new")

    assert answer["meta"]["billed_units"] == {"search_units": 1}
    assert answer["meta"]["api_version"] == {"version": "2"}


def test_documents_come_back_as_the_client_wrote_them_and_only_if_asked() -> None:
    titled = {"title": "Canção", "text": "três"}

    answer = ranked(VLLM, read(request(documents=["um", "dois", titled], return_documents=True)), USAGE, "r")
    without = ranked(VLLM, read(request()), USAGE, "r")

    assert [result["document"] for result in answer["results"]] == [titled, {"text": "um"}]
    assert all(result.keys() == {"index", "relevance_score"} for result in without["results"])


@pytest.mark.parametrize(
    "results",
    [
        [{"index": 3, "relevance_score": 1.0}],
        [{"index": 1, "relevance_score": 1.0}, {"index": 1, "relevance_score": 0.5}],
    ],
    ids=["unknown", "twice"],
)
def test_a_document_that_was_not_sent_is_an_upstream_error(results: list[dict[str, Any]]) -> None:
    with pytest.raises(UpstreamError):
        ranked({"results": results}, read(request()), USAGE, "r")


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"results": []},
        {"results": "x"},
        {"results": [{"index": 0}]},
        {"results": [{"index": 0, "relevance_score": None}]},
        {"results": [{"index": -1, "relevance_score": 1.0}]},
        {"results": [{"relevance_score": 1.0}]},
        {"results": [0.5]},
    ],
)
def test_what_ranks_nothing_is_no_answer(payload: dict[str, Any]) -> None:
    assert not RERANK.is_answer(payload)


def test_an_error_inside_a_success_is_seen() -> None:
    assert RERANK.error({"error": {"message": "overloaded"}}) == {"message": "overloaded"}
    assert RERANK.error(VLLM) is None


@pytest.mark.parametrize(
    ("payload", "heard"),
    [
        (VLLM, Usage(fresh=11)),
        (VOYAGE, Usage(fresh=11)),
        (COHERE, Usage(searches=1)),
        ({**COHERE, "meta": {"tokens": {"input_tokens": 11, "output_tokens": 0}}}, Usage(fresh=11)),
        ({**COHERE, "meta": {"billed_units": {"total_tokens": 11}}}, Usage(fresh=11)),
        ({**COHERE, "usage": {"prompt_tokens": 0, "total_tokens": 0}}, Usage(searches=1)),  # a gateway before Cohere
        (
            {**COHERE, "meta": {"billed_units": {"search_units": 2.0}}},
            Usage(searches=2),
        ),  # with a point
        ({**SCORES, "usage": {"cost": 0.001, "search_units": 1, "total_tokens": 150}}, Usage(searches=1)),  # OpenRouter
        ({**COHERE, "meta": {"billed_units": {"search_units": 0}}}, Usage()),
        ({**COHERE, "meta": {"billed_units": {"search_units": 0, "input_tokens": 11}}}, Usage(fresh=11)),  # SiliconFlow
        ({**SCORES, "usage": {"total_tokens": 0}}, Usage()),
        (SCORES, None),
        ({"results": [], "usage": {"total_tokens": "11"}, "meta": []}, None),
    ],
)
def test_usage_is_heard_wherever_it_stands_and_never_made_up(payload: dict[str, Any], heard: Usage | None) -> None:
    assert read_usage(RERANK.heard(payload)) == heard


def test_the_model_is_called_by_the_name_that_was_asked() -> None:
    payload = dict(VOYAGE)

    assert RERANK.rename(payload, "mine")
    assert ranked(payload, read(request()), USAGE, "r")["model"] == "mine"
    assert not RERANK.rename(payload, "mine")
