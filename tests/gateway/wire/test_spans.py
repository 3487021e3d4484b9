"""A body is read strictly and keeps its bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import BadRequest
from gateway.wire import spans


def objects(values: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[dict[str, Any]]:
    """Objects whose keys differ in more than case, as a body's must."""
    pairs = st.lists(st.tuples(st.text(), values), max_size=most, unique_by=lambda pair: pair[0].casefold())
    return pairs.map(dict)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | objects(inner, 4),
    max_leaves=12,
)
OBJECTS = objects(VALUES, 6)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b'{"model": "a", "model": "b"}', "'model' appears twice"),
        (b'{"messages": [{"role": "a", "r\\u006fle": "b"}]}', "'role' appears twice"),
        (b'{"a": "\xff"}', "UTF-8 at byte 7"),
        (b'\xef\xbb\xbf{"a": 1}', "byte order mark"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": [-Infinity]}', "-Infinity"),
        (b'{"messages": [{"content": "\\ud83d"}]}', "messages[0].content"),
        (b'{"\\udc00": 1}', "surrogate"),
        (b"[1]", "JSON object"),
        (b"", "not valid JSON"),
        (b'{"a": 1} {}', "not valid JSON"),
        (b'{"a": 1,}', "not valid JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "too many digits"),
        (b'{"a": ' + b"[" * 64 + b"]" * 64 + b"}", "deeper than 64"),
        (b"[" * 200_000, "deep"),
        (b'{"a":' * 100_000, "deep"),
    ],
)
def test_what_two_parsers_could_read_differently_is_refused(body: bytes, named: str) -> None:
    with pytest.raises(BadRequest) as refused:
        spans.read(body)

    assert named in str(refused.value)


def test_a_refusal_names_no_value_and_no_key_but_words_of_the_protocol() -> None:
    body = b'{"messages": [{"529.982.247-25 Ana": {"x": "\\ud800 secret"}}]}'

    with pytest.raises(BadRequest) as refused:
        spans.read(body)

    assert "messages[0].?.?" in str(refused.value)
    assert not {"529", "Ana", "secret"} & set(str(refused.value).replace(".", " ").split())


def test_a_nesting_at_the_limit_is_read() -> None:
    assert spans.read(b'{"a": ' + b"[" * 63 + b"]" * 63 + b"}").tree["a"]


def test_a_surrogate_pair_is_a_character() -> None:
    assert spans.read(b'{"a": "\\ud83d\\ude00"}').tree == {"a": "\U0001f600"}


def test_members_are_the_clients_bytes() -> None:
    body = spans.read(b' { "a" :  1.50 , "b\\u0061" : [ {"x":1 } , "\xc3\xa9" ]\n}')

    assert body.members == {"a": b"1.50", "ba": b'[ {"x":1 } , "\xc3\xa9" ]'}
    assert body.items("ba") == [b'{"x":1 }', b'"\xc3\xa9"']
    assert body.items("nothing") == []


def test_items_of_what_is_no_array_are_refused() -> None:
    with pytest.raises(BadRequest, match="'messages' must be an array"):
        spans.read(b'{"messages": {}}').items("messages")


@pytest.mark.parametrize(
    ("body", "changes", "drop", "expected"),
    [
        (b'{ "a": 1,  "b": 2 }', {"a": b"9"}, (), b'{ "a": 9,  "b": 2 }'),
        (b'{ "a": 1,  "b": 2 }', {"c": b"3"}, (), b'{ "a": 1,  "b": 2,"c":3 }'),
        (b'{ "a": 1,  "b": 2 }', {}, ("a",), b'{ "b": 2 }'),
        (b'{ "a": 1,  "b": 2 }', {}, ("b",), b'{ "a": 1 }'),
        (b'{ "a": 1 }', {"b": b"2"}, ("a",), b'{ "b":2 }'),
        (b'{ "a": 1 }', {}, ("a",), b"{  }"),
        (b" { } ", {"b": b"2"}, (), b' {"b":2 } '),
        (b'{"a":{"b":[1,2]},"c":"}"}', {"c": b"0"}, (), b'{"a":{"b":[1,2]},"c":0}'),
    ],
)
def test_a_splice_changes_only_what_it_names(
    body: bytes, changes: dict[str, bytes], drop: tuple[str, ...], expected: bytes
) -> None:
    assert spans.read(body).splice(changes, drop) == expected


@given(OBJECTS, st.sampled_from([None, 1, 3]), st.booleans())
def test_no_change_gives_the_same_bytes(tree: dict[str, object], indent: int | None, ascii_only: bool) -> None:
    raw = json.dumps(tree, indent=indent, ensure_ascii=ascii_only).encode()

    body = spans.read(raw)

    assert body.splice({}) == raw
    assert body.tree == tree


@given(OBJECTS, OBJECTS, st.data())
def test_a_splice_means_what_updating_the_tree_means(
    tree: dict[str, object], changes: dict[str, object], data: st.DataObject
) -> None:
    drop = data.draw(st.sets(st.sampled_from(sorted(tree))) if tree else st.just(set[str]()))
    body = spans.read(json.dumps(tree, indent=1).encode())

    spliced = body.splice({key: json.dumps(value).encode() for key, value in changes.items()}, drop)

    expected = {key: value for key, value in {**tree, **changes}.items() if key not in drop}
    assert json.loads(spliced) == expected


def test_every_string_is_seen_with_its_place() -> None:
    body = spans.read(b'{"messages": [{"content": "Ol\\u00e1"}], "metadata": {"cpf": ["x", 1]}}')

    assert set(body.strings()) == {
        ("", "messages"),
        ("messages[0]", "content"),
        ("messages[0].content", "Olá"),
        ("", "metadata"),
        ("metadata", "cpf"),
        ("metadata.?[0]", "x"),
    }


@pytest.mark.parametrize(
    "arguments",
    [
        '{"note": "\\u0035\\u0032\\u0039"}',
        '[["\\u00352\\u0039"]]',
        '{"note": "first", "note": "\\u0035\\u0032\\u0039", "note": "last"}',
        json.dumps({"inner": json.dumps({"note": "529"}).replace("5", "\\u0035")}),
        '"\\u0035\\u0032\\u0039"',
    ],
)
def test_strings_inside_a_string_that_holds_json_are_seen_decoded(arguments: str) -> None:
    call = {"function": {"name": "f", "arguments": arguments}}
    body = spans.read(json.dumps({"tool_calls": [call]}).encode())

    assert ("tool_calls[0].function.arguments", "529") in set(body.strings())


def test_a_text_that_only_looks_like_json_is_seen_as_it_is() -> None:
    text = "[" * 5000

    assert ("?", text) in set(spans.read(json.dumps({"a": text}).encode()).strings())
