"""Whoever answers, the client gets thoughts in one place and tool calls that can be told apart."""

from __future__ import annotations

import copy
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.lib.streaming._deltas import accumulate_delta

from gateway.upstream.dialects.normal import Normaliser

Object = dict[str, Any]


def normaliser(tool_choice: object = None) -> Normaliser:
    numbers = count(1)
    return Normaliser(lambda kind: f"{kind}_{next(numbers)}", tool_choice)


def chunk(finish: str | None = None, **delta: Any) -> Object:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def fragment(index: int | None = None, id_: str | None = None, name: str | None = None, arguments: Any = ...) -> Object:
    function = {"name": name, "arguments": arguments}
    said = {"index": index, "id": id_, "type": "function" if id_ else None}
    return {
        **{key: value for key, value in said.items() if value is not None},
        "function": {key: value for key, value in function.items() if value is not ... and (key != "name" or value)},
    }


def calls_chunk(*fragments: Object, finish: str | None = None) -> Object:
    return chunk(finish, tool_calls=list(fragments))


def normalised(chunks: list[Object], tool_choice: object = None) -> tuple[list[Object], bool]:
    made, normal = copy.deepcopy(chunks), normaliser(tool_choice)
    changes = [normal.chunk(each) for each in made]
    return made, any(changes)


def message_of(chunks: list[Object]) -> Object:
    """The message that OpenAI's own client makes of a stream."""
    message: dict[object, object] = {}
    for each in chunks:
        for choice in copy.deepcopy(each["choices"]):
            message = accumulate_delta(message, choice["delta"])
    return message  # type: ignore[return-value]


def calls_of(chunks: list[Object]) -> list[tuple[str, str]]:
    return [(c["function"]["name"], c["function"]["arguments"]) for c in message_of(chunks)["tool_calls"]]


def spoken(**part: Any) -> tuple[Object, Object]:
    """One message, whole and as a stream's only delta."""
    return {"choices": [{"message": copy.deepcopy(part)}]}, chunk(**copy.deepcopy(part))


# Thoughts


@pytest.mark.parametrize(
    "thoughts",
    [
        {"reasoning": "hm"},
        {"reasoning_content": "hm", "reasoning": "hm"},
        {"reasoning_content": "", "reasoning": "hm"},
        {"reasoning_content": None, "reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "h"}, {"type": "reasoning.summary", "summary": "m"}]},
        {"reasoning_content": "hm", "reasoning_details": [{"text": "hm"}, {"data": "opaque"}]},
    ],
)
def test_thoughts_come_once_and_in_one_place(thoughts: Object) -> None:
    whole, streamed = spoken(content="", **thoughts)

    assert normaliser().whole(whole)
    assert normaliser().chunk(streamed)
    assert whole["choices"][0]["message"] == {"content": "", "reasoning_content": "hm"}
    assert streamed["choices"][0]["delta"] == {"content": "", "reasoning_content": "hm"}


@pytest.mark.parametrize(
    "part",
    [
        {"content": "a", "reasoning_content": "hm"},
        {"content": "a", "reasoning": None, "reasoning_content": None},
        {"content": "a", "reasoning": ""},
        {"content": "a", "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}, "odd", {"text": None}]},
        {"content": "a", "reasoning": {"odd": 1}, "reasoning_details": "odd"},
        {"content": [{"type": "text", "text": "a"}], "function_call": {"name": "f", "arguments": None}},
        {"content": "a", "tool_calls": None},
    ],
)
def test_what_is_right_or_unknown_stays_as_it_is(part: Object) -> None:
    whole, streamed = spoken(**part)
    before = copy.deepcopy((whole, streamed))

    assert not normaliser().whole(whole)
    assert not normaliser().chunk(streamed)
    assert (whole, streamed) == before


def test_details_that_repeat_what_was_said_before_are_not_said_again() -> None:
    chunks, _ = normalised([chunk(reasoning="hm"), chunk(reasoning_details=[{"text": "hm"}]), chunk(content="a")])

    assert message_of(chunks) == {"reasoning_content": "hm", "content": "a"}


def test_text_is_never_made_of_thoughts() -> None:
    chunks, _ = normalised([chunk(role="assistant", content=""), chunk(reasoning="only thoughts"), chunk("length")])

    assert message_of(chunks) == {"role": "assistant", "content": "", "reasoning_content": "only thoughts"}


# Tool calls of streams

PROPER = [
    calls_chunk(fragment(0, "a", "f", "")),
    calls_chunk(fragment(0, arguments='{"x":')),
    calls_chunk(fragment(0, arguments="1}")),
    calls_chunk(fragment(1, "b", "f", "")),
    calls_chunk(fragment(1, arguments='{"x":2}')),
    chunk("tool_calls"),
]
TWO = [("f", '{"x":1}'), ("f", '{"x":2}')]

STREAMS = {
    "proper": PROPER,
    "both index 0": [
        calls_chunk(fragment(0, "a", "f", '{"x":1}')),
        calls_chunk(fragment(0, "b", "f", '{"x":2}')),
    ],
    "both index 0, in one delta": [calls_chunk(fragment(0, "a", "f", '{"x":1}'), fragment(0, "b", "f", '{"x":2}'))],
    "both index 0, in pieces": [
        calls_chunk(fragment(0, "a", "f", "")),
        calls_chunk(fragment(0, arguments='{"x":1}')),
        calls_chunk(fragment(0, "b", "f", "")),
        calls_chunk(fragment(0, arguments='{"x":2}')),
    ],
    "index 0 and mixed pieces told by their ids": [
        calls_chunk(fragment(0, "a", "f", ""), fragment(0, "b", "f", "")),
        calls_chunk(fragment(0, "a", arguments='{"x":'), fragment(0, "b", arguments='{"x":')),
        calls_chunk(fragment(0, "b", arguments="2}"), fragment(0, "a", arguments="1}")),
    ],
    "no index": [
        calls_chunk(fragment(None, "a", "f", "")),
        calls_chunk(fragment(arguments='{"x":1}')),
        calls_chunk(fragment(None, "b", "f", '{"x":2}')),
    ],
    "no index, then pieces with one": [
        calls_chunk(fragment(None, "a", "f"), fragment(None, "b", "f")),
        calls_chunk(fragment(0, arguments='{"x":1}'), fragment(1, arguments='{"x":2}')),
    ],
    "neither index nor id": [
        calls_chunk(fragment(name="f", arguments='{"x":1}'), fragment(name="f", arguments={"x": 2}))
    ],
    "from 1": [calls_chunk(fragment(1, "a", "f", '{"x":1}')), calls_chunk(fragment(2, "b", "f", '{"x":2}'))],
    "id and name with every piece": [
        calls_chunk(fragment(0, "a", "f", '{"x":')),
        calls_chunk(fragment(0, "a", "f", "1}")),
        calls_chunk(fragment(1, "b", "f", '{"x":')),
        calls_chunk(fragment(1, "b", "f", "2}")),
    ],
    "name with every piece, no id": [
        calls_chunk(fragment(0, None, "f", '{"x":')),
        calls_chunk(fragment(0, None, "f", "1}")),
        calls_chunk(fragment(0, None, "f", '{"x":')),
        calls_chunk(fragment(0, None, "f", "2}")),
    ],
    "a new id with every piece": [
        calls_chunk(fragment(0, "a", "f", '{"x":')),
        calls_chunk(fragment(0, "a2", arguments="1}")),
        calls_chunk(fragment(1, "b", "f", '{"x":')),
        calls_chunk(fragment(1, "b2", arguments="2}")),
    ],
    "late ids": [
        calls_chunk(fragment(0, None, "f", "")),
        calls_chunk(fragment(0, "a", arguments='{"x":1}')),
        calls_chunk(fragment(1, None, "f", "")),
        calls_chunk(fragment(1, "b", arguments='{"x":2}')),
    ],
    "late names": [
        calls_chunk(fragment(0, "a")),
        calls_chunk(fragment(0, None, "f", '{"x":1}')),
        calls_chunk(fragment(1, "b")),
        calls_chunk(fragment(1, None, "f", '{"x":2}')),
    ],
    "one id for two calls": [
        calls_chunk(fragment(0, "a", "f", '{"x":1}')),
        calls_chunk(fragment(1, "a", "f", '{"x":')),
        calls_chunk(fragment(1, "a", arguments="2}")),
    ],
    "a piece at an index of its own": [
        calls_chunk(fragment(0, "a", "f", '{"x":')),
        calls_chunk(fragment(7, arguments="1}")),
        calls_chunk(fragment(1, "b", "f", '{"x":2}')),
    ],
}

RIGHT = {"proper", "late names"}


@pytest.mark.parametrize("kind", STREAMS)
def test_two_calls_arrive_as_two(kind: str) -> None:
    chunks, changed = normalised(STREAMS[kind])

    calls = message_of(chunks)["tool_calls"]
    assert calls_of(chunks) == TWO
    assert [call["index"] for call in calls] == [0, 1]
    assert all(call["id"] and call["type"] == "function" for call in calls)
    assert changed == (kind not in RIGHT)


@pytest.mark.parametrize("kind", STREAMS)
def test_what_was_normalised_once_is_right(kind: str) -> None:
    once, _ = normalised(STREAMS[kind])

    twice, changed = normalised(once)

    assert not changed
    assert twice == once


def test_another_name_at_the_same_index_is_another_call() -> None:
    chunks, _ = normalised([calls_chunk(fragment(0, None, "f", "{")), calls_chunk(fragment(0, None, "g", "{}"))])

    assert calls_of(chunks) == [("f", "{"), ("g", "{}")]
    assert [call["id"] for call in message_of(chunks)["tool_calls"]] == ["call_1", "call_2"]


@pytest.mark.parametrize(
    ("arguments", "text"), [("", ""), ('{"city": "Par', '{"city": "Par'), (None, ""), ({"é": [1]}, '{"é":[1]}')]
)
def test_arguments_are_text_and_are_not_repaired(arguments: object, text: str) -> None:
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
    whole, streamed = spoken(tool_calls=[call])

    assert normaliser().whole(whole) == (arguments != text)
    assert normaliser().chunk(streamed) == (arguments != text)
    assert whole["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == text
    assert streamed["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] == text


def test_choices_have_calls_of_their_own() -> None:
    both = [{"choices": [{"index": n, "delta": {"tool_calls": [fragment(0, f"c{n}", "f", "{}")]}}]} for n in (0, 1)]

    _, changed = normalised(both)

    assert not changed


# Whole answers


def test_whole_calls_get_what_they_lack() -> None:
    answer, _ = spoken(
        tool_calls=[
            {"index": 0, "id": "", "function": {"name": "f"}},
            {"index": 0, "id": "b", "type": "custom", "custom": {"name": "g", "input": "x"}},
        ]
    )

    assert normaliser().whole(answer)
    assert answer["choices"][0]["message"]["tool_calls"] == [
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}},
        {"index": 1, "id": "b", "type": "custom", "custom": {"name": "g", "input": "x"}},
    ]


# How an answer ends


@pytest.mark.parametrize("tool_choice", [None, "auto", "required"])
def test_an_answer_that_calls_ends_as_one(tool_choice: object) -> None:
    call = fragment(0, "a", "f", "{}")
    whole = {"choices": [{"message": {"tool_calls": [copy.deepcopy(call)]}, "finish_reason": "stop"}]}

    assert normaliser(tool_choice).whole(whole)
    chunks, _ = normalised([calls_chunk(call), chunk("stop")], tool_choice)
    assert whole["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("finish", "tool_choice"), [("stop", {"type": "function", "function": {"name": "f"}}), ("length", None)]
)
def test_a_forced_or_broken_call_ends_as_the_upstream_says(finish: str, tool_choice: object) -> None:
    _, changed = normalised([calls_chunk(fragment(0, "a", "f", "{}")), chunk(finish)], tool_choice)

    assert not changed


def test_an_answer_without_calls_ends_as_the_upstream_says() -> None:
    _, changed = normalised([chunk(content="a"), chunk("stop"), {"choices": []}, {"error": {}}, {"choices": [None]}])

    assert not changed


# Whatever comes

texts = st.sampled_from(["", "{", "}", '{"x":1}', "null"])
anything = st.none() | st.booleans() | st.integers(-1, 2) | texts | st.just({"x": 1}) | st.just([1])
fragments = st.dictionaries(st.sampled_from(["index", "id", "type", "function", "custom"]), anything) | st.builds(
    fragment,
    st.none() | st.integers(0, 2),
    st.none() | st.sampled_from("ab"),
    st.none() | st.sampled_from("fg"),
    st.just(...) | anything,
)
deltas = st.fixed_dictionaries(
    {},
    optional={
        "content": anything,
        "reasoning": anything,
        "reasoning_content": anything,
        "reasoning_details": anything
        | st.lists(st.dictionaries(st.sampled_from(["text", "data", "summary"]), anything)),
        "tool_calls": anything | st.lists(fragments | anything, max_size=3),
    },
)
choices = st.fixed_dictionaries(
    {"delta": deltas | anything}, optional={"index": st.integers(0, 1) | anything, "finish_reason": texts | anything}
)
streams = st.lists(st.fixed_dictionaries({"choices": st.lists(choices | anything, max_size=2) | anything}), max_size=5)


@given(streams)
def test_normalising_twice_is_normalising_once(stream: list[Object]) -> None:
    once, _ = normalised(stream)

    twice, changed = normalised(once)

    assert twice == once
    assert not changed


@given(streams)
def test_what_is_said_to_be_unchanged_is(stream: list[Object]) -> None:
    made, changed = normalised(stream)

    assert changed == (made != stream)


@given(st.lists(st.tuples(st.sampled_from("fg"), st.lists(st.text(max_size=3), max_size=3)), min_size=1, max_size=4))
def test_a_proper_stream_stays_as_it_is(calls: list[tuple[str, list[str]]]) -> None:
    stream = [chunk(role="assistant", content=None)]
    for index, (name, pieces) in enumerate(calls):
        stream.append(calls_chunk(fragment(index, f"id{index}", name, "")))
        stream.extend(calls_chunk(fragment(index, arguments=piece)) for piece in pieces)
    stream.append(chunk("tool_calls"))

    made, changed = normalised(stream)

    assert not changed
    assert made == stream
