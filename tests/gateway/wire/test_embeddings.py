"""Embeddings come in the form that the client asked for, whatever form the upstream chose."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import BadRequest, UpstreamError
from gateway.wire.embeddings import (
    EMBEDDINGS,
    MOST_INPUTS,
    Format,
    Inputs,
    encode,
    read_dimensions,
    read_format,
    read_input,
)
from gateway.wire.lanes import Usage
from gateway.wire.usage import read_usage
from tests.wire.upstream import answer, fake_upstream

VECTORS = [[0.5, -0.25, 1.0], [0.125, 0.0, -2.0]]
singles = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=40)


def packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def payload(*embeddings: object, **more: Any) -> dict[str, Any]:
    """An upstream's answer."""
    data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(embeddings)]
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    return {"object": "list", "model": "up", "data": data, "usage": usage, **more}


def vectors(body: dict[str, Any]) -> list[Any]:
    return [item["embedding"] for item in body["data"]]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("a", Inputs(texts=("a",))),
        (["a", "b"], Inputs(texts=("a", "b"))),
        ([1, 2, 3], Inputs(tokens=((1, 2, 3),))),
        ([[1, 2], [0]], Inputs(tokens=((1, 2), (0,)))),
        (["a"] * MOST_INPUTS, Inputs(texts=("a",) * MOST_INPUTS)),
        (list(range(8192)), Inputs(tokens=(tuple(range(8192)),))),
    ],
)
def test_texts_and_token_ids_are_read(given: object, read: Inputs) -> None:
    assert read_input({"input": given}) == read


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (None, "input"),
        ("", "input"),
        ([], "input"),
        ({"text": "canary"}, "input"),
        (["canary", ""], "input[1]"),
        (["canary", 5], "input[1]"),
        (["canary", [5]], "input[1]"),
        ([5, "canary"], "input"),
        ([5, -1], "input"),
        ([5, True], "input"),
        ([5, 1.5], "input"),
        ([[5], []], "input[1]"),
        ([[5], "canary"], "input[1]"),
        ([[5], [None]], "input[1]"),
        ([None], "input[0]"),
        (["canary"] * (MOST_INPUTS + 1), "input"),
    ],
)
def test_what_is_no_input_is_refused_by_its_place_and_not_quoted(given: object, place: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_input({"input": given})

    assert refused.value.param == place
    assert "canary" not in str(refused.value)


def test_the_bound_counts_every_input_and_the_longest_alone() -> None:
    texts, tokens = Inputs(texts=("abc" * 10, "é")), Inputs(tokens=((1, 2, 3), (4,)))

    assert (texts.prompt_tokens, texts.longest, len(texts)) == (11, 10, 2)
    assert (tokens.prompt_tokens, tokens.longest, len(tokens)) == (4, 3, 2)


def test_nobody_can_look_into_token_ids() -> None:
    assert Inputs(texts=("a",)).readable
    assert not Inputs(tokens=((1,),)).readable


@pytest.mark.parametrize(("given", "read"), [(None, "float"), ("float", "float"), ("base64", "base64")])
def test_two_formats_are_known(given: object, read: Format) -> None:
    assert read_format({"encoding_format": given}) == read
    assert read_format({}) == "float"


@pytest.mark.parametrize("given", ["hex", "", 1, ["float"], {"canary": 1}])
def test_other_formats_are_refused(given: object) -> None:
    with pytest.raises(BadRequest) as refused:
        read_format({"encoding_format": given})

    assert refused.value.param == "encoding_format"
    assert "hex" not in str(refused.value)


def test_dimensions_are_whole_and_positive() -> None:
    assert read_dimensions({}) is None
    assert read_dimensions({"dimensions": 256}) == 256
    for given_ in (0, -1, 1.5, "256", True):
        with pytest.raises(BadRequest) as refused:
            read_dimensions({"dimensions": given_})
        assert refused.value.param == "dimensions"


@pytest.mark.parametrize("upstream", [VECTORS, [packed(vector) for vector in VECTORS]], ids=["numbers", "base64"])
def test_the_client_gets_the_form_it_asked_for(upstream: list[object]) -> None:
    said = payload(*upstream)

    assert vectors(encode(said, "float")) == VECTORS
    assert vectors(encode(said, "base64")) == [packed(vector) for vector in VECTORS]


@given(singles)
def test_base64_is_little_endian_single_precision_and_loses_nothing(vector: list[float]) -> None:
    (text,) = vectors(encode(payload(vector), "base64"))

    assert list(struct.unpack(f"<{len(vector)}f", base64.b64decode(text))) == vector
    assert vectors(encode(payload(text), "float")) == [vector]


def test_vectors_stand_in_the_order_of_the_inputs() -> None:
    said = payload(*VECTORS)
    said["data"].reverse()

    assert vectors(encode(said, "float")) == VECTORS


def test_a_vector_too_few_or_too_many_is_an_upstream_error() -> None:
    said = payload(*VECTORS)

    assert vectors(encode(said, "float", inputs=2)) == VECTORS
    for inputs in (1, 3):
        with pytest.raises(UpstreamError):
            encode(said, "float", inputs=inputs)


def test_numbers_that_were_asked_for_and_came_are_not_touched() -> None:
    said = payload([0.1, 3, -1e-9])

    assert encode(said, "float") == said


def test_what_an_upstream_left_out_is_filled_in() -> None:
    said = {"data": [{"embedding": [1.0], "encoding_format": "base64"}, {"embedding": [2.0]}], "model": "up"}

    filled = encode(said, "float", Usage(fresh=9, estimated=True))

    assert filled["object"] == "list"
    assert filled["data"][0] == {"object": "embedding", "index": 0, "embedding": [1.0]}
    assert filled["data"][1]["index"] == 1
    assert filled["usage"] == {"prompt_tokens": 9, "total_tokens": 9}


@pytest.mark.parametrize(
    "embedding",
    [None, [], "", "no base64!", "AAA=", "AAAA", [None], ["1"], [[1.0]], [1e300], 5, packed([float("nan")])],
)
def test_what_holds_no_vector_is_no_answer(embedding: object) -> None:
    assert not EMBEDDINGS.is_answer(payload([1.0], embedding))


def test_an_answer_is_told_from_an_error() -> None:
    error = {"message": "overloaded"}

    assert EMBEDDINGS.is_answer(payload(*VECTORS))
    assert not EMBEDDINGS.is_answer({"data": []})
    assert not EMBEDDINGS.is_answer({"error": error})
    assert EMBEDDINGS.error({"error": error}) == error
    assert EMBEDDINGS.error(payload(*VECTORS, error=None)) is None


@pytest.mark.parametrize(
    ("stated", "heard"),
    [
        ({"prompt_tokens": 7, "total_tokens": 7}, Usage(fresh=7)),
        ({"total_tokens": 7}, Usage(fresh=7)),
        ({"prompt_tokens": 7}, Usage(fresh=7)),
        ({"prompt_tokens": 0, "total_tokens": 0}, Usage()),
        ({"prompt_tokens": 7, "completion_tokens": 0, "total_tokens": 7}, Usage(fresh=7)),
        (
            {"prompt_tokens": 7, "total_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}},
            Usage(fresh=4, cached=3),
        ),
        ({}, None),
        (None, None),
        ({"prompt_tokens": "7"}, None),
    ],
)
def test_usage_is_heard_wherever_it_stands_and_never_made_up(stated: object, heard: Usage | None) -> None:
    assert read_usage(EMBEDDINGS.heard(payload([1.0], usage=stated))) == heard


def test_the_model_is_called_by_the_name_that_was_asked() -> None:
    said = payload([1.0])

    assert EMBEDDINGS.rename(said, "mine")
    assert said["model"] == "mine"
    assert not EMBEDDINGS.rename(said, "mine")


@pytest.mark.parametrize("upstream", [VECTORS, [packed(vector) for vector in VECTORS]], ids=["numbers", "base64"])
@pytest.mark.parametrize("asked", ["base64", "float", None])
async def test_the_official_client_reads_both_forms(upstream: list[object], asked: Format | None) -> None:
    """The client asks for base64 by itself where nobody says otherwise, and then decodes it."""
    body = encode(payload(*upstream), asked or "base64")
    async with fake_upstream(answer(body)) as server:
        client = openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0)
        found = await client.embeddings.create(
            model="m", input=["a", "b"], encoding_format=openai.omit if asked is None else asked
        )
        await client.close()

    sent = json.loads(server.requests[0].body)
    got = [item.embedding for item in found.data]
    assert sent["encoding_format"] == (asked or "base64")
    assert got == ([packed(vector) for vector in VECTORS] if asked == "base64" else VECTORS)
    assert found.usage.total_tokens == 7
