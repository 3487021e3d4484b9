"""Tool arguments are held against the tool's schema, while there is still time to ask again."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstream.dialects.arguments import Watch, unfit

Object = dict[str, Any]


def tool(name: str, parameters: object = ...) -> Object:
    return {"type": "function", "function": {"name": name} | ({} if parameters is ... else {"parameters": parameters})}


WEATHER = tool(
    "weather",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"$ref": "#/$defs/days"}},
        "required": ["city"],
        "additionalProperties": False,
        "$defs": {"days": {"type": "integer", "maximum": 7}},
    },
)
NOW = tool("now")
TOOLS = [WEATHER, NOW, {"type": "builtin_function"}]


def called(arguments: object, name: str = "weather") -> Object:
    return {"tool_calls": [{"id": "a", "type": "function", "function": {"name": name, "arguments": arguments}}]}


@pytest.mark.parametrize(
    "arguments",
    ['{"city": "Paris"}', '{"city":"Paris","days":3}', {"city": "Paris"}],
)
def test_arguments_that_the_schema_wants_fit(arguments: object) -> None:
    assert unfit(TOOLS, called(arguments)) is None


@pytest.mark.parametrize(
    "arguments",
    [
        '{"city": "Par',
        "",
        None,
        "[" * 5_000,
        '{"city":1}',
        '{"days":3}',
        '{"city":"Paris","days":8}',
        '{"city":"Paris","town":1}',
        '"{}"',
        '{"city":"Paris"}}',
    ],
)
def test_arguments_that_are_no_json_or_not_what_the_schema_wants_are_unfit(arguments: object) -> None:
    assert unfit(TOOLS, called(arguments)) == "weather"


@pytest.mark.parametrize("arguments", ["", None, "{}", '{"zone":"UTC"}'])
def test_a_tool_without_parameters_may_be_called_with_nothing(arguments: object) -> None:
    assert unfit(TOOLS, called(arguments, "now")) is None


def test_an_unknown_tool_must_still_be_called_with_json() -> None:
    assert unfit(TOOLS, called('{"x":1}', "unheard_of")) is None
    assert unfit(TOOLS, called("{", "unheard_of")) == "unheard_of"


@pytest.mark.parametrize("message", [{}, {"tool_calls": None}, {"tool_calls": [None, {}, {"function": "x"}]}])
def test_a_message_without_calls_fits(message: Object) -> None:
    assert unfit(TOOLS, message) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strng"},
        {"properties": 3},
        {"required": 5},
        {"minimum": "x"},
        {"exclusiveMinimum": True, "minimum": 1},
        {"$ref": "#"},
        {"$ref": "#/nowhere"},
        {"$ref": "http://127.0.0.1:1/elsewhere.json"},
        {"$id": "http://[bad/", "$ref": "x"},
        {"$dynamicRef": "#nowhere"},
        {"multipleOf": 0},
        True,
        None,
    ],
)
def test_a_schema_that_cannot_be_followed_condemns_nothing(schema: object) -> None:
    assert unfit([tool("f", schema)], called("1", "f")) is None


def test_a_pattern_of_the_clients_is_never_matched() -> None:
    evil = "(x+x+)+y"
    schema = {
        "properties": {"a": {"pattern": evil}},
        "patternProperties": {evil: {"type": "null"}},
        "additionalProperties": False,
    }

    assert unfit([tool("f", schema)], called(json.dumps({"a": "x" * 60, "x" * 60: 1}), "f")) is None


def test_references_that_double_at_each_step_are_not_followed_for_ever() -> None:
    steps = {f"s{n}": {"anyOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(60)}
    schema = {"$ref": "#/$defs/s0", "$defs": {**steps, "s60": {"type": "string"}}}

    assert unfit([tool("f", schema)], called("1", "f")) is None


def test_a_tree_is_followed_as_deep_as_it_goes() -> None:
    schema = {"properties": {"left": {"$ref": "#"}, "value": {"type": "integer"}}}
    tree: Object = {"value": "no number"}
    for _ in range(20):
        tree = {"left": tree}

    assert unfit([tool("f", schema)], called(json.dumps(tree), "f")) == "f"


def test_what_is_too_large_to_judge_fits() -> None:
    large = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(600)}}

    assert unfit([tool("f", large)], called('{"p1":1}', "f")) is None
    assert unfit(TOOLS, called(json.dumps({"town": "x" * 300_000}))) is None


# Streams


def chunk(finish: str | None = None, index: object = 0, **delta: Any) -> Object:
    return {"choices": [{"index": index, "delta": delta, "finish_reason": finish}]}


def piece(arguments: str | None, name: str | None = None, index: int = 0, id_: str | None = None) -> Object:
    return {"index": index, "id": id_, "function": {"name": name, "arguments": arguments}}


def verdicts(*chunks: Object) -> list[str]:
    watch = Watch(TOOLS)
    return [watch.see(each) for each in chunks]


START = chunk(role="assistant", content="")


@pytest.mark.parametrize(
    "said",
    [{"content": "Well"}, {"reasoning_content": "hm"}, {"reasoning": "hm"}, {"refusal": "no"}, {"audio": {"id": "x"}}],
)
def test_text_and_thoughts_are_not_kept_waiting_and_then_all_passes(said: Object) -> None:
    broken = [chunk(tool_calls=[piece("{", "weather")]), chunk("tool_calls")]

    assert verdicts(START, chunk(**said), *broken) == ["hold", "pass", "pass", "pass"]


def test_calls_are_held_until_they_are_complete() -> None:
    chunks = [
        START,
        chunk(tool_calls=[piece("", "weather", id_="a")]),
        chunk(tool_calls=[piece('{"city":')]),
        chunk(tool_calls=[piece('"Paris"}')]),
        chunk("tool_calls"),
        {"choices": [], "usage": {}},
    ]

    assert verdicts(*chunks) == ["hold"] * 4 + ["pass", "pass"]


@pytest.mark.parametrize("arguments", ["{", '{"city":1}', "", None])
def test_calls_that_do_not_fit_are_unfit_once_they_are_complete(arguments: str | None) -> None:
    chunks = [START, chunk(tool_calls=[piece(arguments, "weather", id_="a")]), chunk("tool_calls")]

    assert verdicts(*chunks) == ["hold", "hold", "unfit"]


def test_every_call_is_looked_at_though_all_have_index_0() -> None:
    fine = piece('{"city":"Paris"}', "weather", id_="a")
    broken = piece('{"city":2}', "weather", id_="b")

    assert verdicts(chunk(tool_calls=[fine]), chunk(tool_calls=[broken]), chunk("tool_calls"))[-1] == "unfit"


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_an_answer_that_was_broken_off_is_not_asked_for_again(finish: str) -> None:
    assert verdicts(chunk(tool_calls=[piece("{", "weather")]), chunk(finish)) == ["hold", "pass"]


def test_every_choice_is_waited_for() -> None:
    call = [piece('{"city":"Paris"}', "weather", id_="a")]
    chunks = [
        chunk(tool_calls=call),
        chunk(index=1, tool_calls=call),
        chunk("tool_calls"),
        chunk("tool_calls", index=1),
    ]

    assert verdicts(*chunks) == ["hold", "hold", "hold", "pass"]


def test_an_empty_answer_passes_when_it_ends() -> None:
    assert verdicts(START, chunk("stop")) == ["hold", "pass"]


def test_what_says_nothing_is_held() -> None:
    odd: list[Object] = [
        {},
        {"choices": None},
        {"choices": [None]},
        chunk(index=[], tool_calls=[None]),
        {"choices": [{"delta": None}]},
    ]

    assert verdicts(*odd) == ["hold"] * len(odd)


@given(st.text(max_size=40), st.lists(st.integers(0, 40), max_size=4))
def test_a_stream_is_judged_as_the_whole_answer_is(arguments: str, cuts: list[int]) -> None:
    bounds = [0, *sorted(cuts), len(arguments)]
    pieces = [arguments[start:end] for start, end in pairwise(bounds)]
    begun = chunk(tool_calls=[piece("", "weather", id_="a")])

    seen = verdicts(begun, *(chunk(tool_calls=[piece(each)]) for each in pieces), chunk("tool_calls"))

    assert seen[-1] == ("pass" if unfit(TOOLS, called(arguments)) is None else "unfit")
