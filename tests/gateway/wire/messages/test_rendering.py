"""A chat answer is the same message, whole or as a stream of events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from gateway.wire.lanes import Usage
from gateway.wire.messages import Messages, to_chat
from gateway.wire.sse import Events

TREE: dict[str, Any] = {"model": "kimi-k3", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]}
USAGE = Usage(fresh=7, cached=24, output=3, reasoning=2)
EVENT: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)


def rendering(**more: Any) -> Messages:
    return Messages({**TREE, **more}, model="kimi-k3", created=1, new_id=lambda kind: f"{kind}_1")


def whole(finish: str = "stop", choice: dict[str, Any] | None = None, tree: Any = None, **message: Any) -> Any:
    answer = {"choices": [{"index": 0, "message": message, "finish_reason": finish, **(choice or {})}]}
    said = rendering(**(tree or {})).whole(answer, USAGE)
    Message.model_validate(said)
    return said


def delta(**part: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": part, "finish_reason": None}]}


def finish(reason: str = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason, **more}]}


def call(index: int, arguments: str | None = None, name: str | None = None) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    begun = {"id": f"call_{index}", "type": "function"} if name else {}
    return {"index": index, **begun, "function": function}


def streamed(chunks: Sequence[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
    render = rendering(**more)
    return events(b"".join([*map(render.chunk, chunks), render.end(USAGE)]))


def events(raw: bytes) -> list[dict[str, Any]]:
    """The events, each named as its data says and readable to the official client's types."""
    parsed = []
    for event in Events().feed(raw):
        data = json.loads(event.data or b"")
        assert event.raw.startswith(f"event: {data['type']}\n".encode())
        EVENT.validate_python(data)
        parsed.append(data)
    return parsed


def folded(stream: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The message that a client puts together, block by block, with one block open at a time."""
    message: dict[str, Any] = {}
    pieces: list[str] = []
    opened: int | None = None
    for event in stream:
        match event["type"]:
            case "message_start":
                message = event["message"]
            case "content_block_start":
                assert (opened, event["index"]) == (None, len(message["content"]))
                opened, pieces = event["index"], []
                message["content"].append(event["content_block"])
            case "content_block_delta":
                assert event["index"] == opened
                _grow(message["content"][-1], event["delta"], pieces)
            case "content_block_stop":
                assert event["index"] == opened
                opened = None
                if pieces:
                    message["content"][-1]["input"] = json.loads("".join(pieces))
            case "message_delta":
                assert opened is None
                message |= event["delta"] | {"usage": event["usage"]}
    return message


def _grow(block: dict[str, Any], delta: dict[str, Any], pieces: list[str]) -> None:
    match delta["type"]:
        case "text_delta":
            block["text"] += delta["text"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "signature_delta":
            block["signature"] = delta["signature"]
        case "input_json_delta":
            pieces.append(delta["partial_json"])
        case "citations_delta":
            block.setdefault("citations", []).append(delta["citation"])


def test_a_whole_answer_is_a_message() -> None:
    assert whole(content="Olá") == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "kimi-k3",
        "content": [{"type": "text", "text": "Olá"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 7,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 24,
            "output_tokens": 5,
            "output_tokens_details": {"thinking_tokens": 2},
        },
    }


def test_a_stream_has_the_events_of_the_specification_in_their_order() -> None:
    stream = streamed([delta(role="assistant", content=""), delta(content="Ol"), delta(content="á"), finish()])

    assert [event["type"] for event in stream] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert folded(stream) == whole(content="Olá")


def test_the_first_event_goes_out_with_the_first_chunk_and_bounds_the_input() -> None:
    start = events(rendering().chunk(delta(role="assistant")))

    assert [event["type"] for event in start] == ["message_start"]
    assert start[0]["message"]["usage"]["input_tokens"] > 0
    assert start[0]["message"]["usage"]["output_tokens"] == 0


def test_text_is_passed_on_as_it_comes() -> None:
    render = rendering()
    render.chunk(delta(content="a"))

    assert [event["delta"] for event in events(render.chunk(delta(content="b")))] == [
        {"type": "text_delta", "text": "b"}
    ]


def test_thoughts_stand_before_the_text_with_a_signature_that_comes_back() -> None:
    stream = streamed([delta(reasoning_content="Hm"), delta(reasoning_content="."), delta(content="Yes"), finish()])

    message = folded(stream)

    assert message == whole(reasoning_content="Hm.", content="Yes")
    assert message["content"][0]["signature"]
    back = to_chat({**TREE, "messages": [{"role": "assistant", "content": message["content"]}, *TREE["messages"]]})
    assert back.chat["messages"][0] == {"role": "assistant", "content": "Yes", "reasoning_content": "Hm."}


def test_a_think_only_answer_is_valid() -> None:
    message = whole("length", reasoning_content="Hm", content="")

    assert [block["type"] for block in message["content"]] == ["thinking"]
    assert message["stop_reason"] == "max_tokens"


def test_calls_one_after_the_other_become_blocks_in_turn() -> None:
    chunks = [
        delta(content="I look."),
        delta(tool_calls=[call(0, "", "weather")]),
        delta(tool_calls=[call(0, '{"city": ')]),
        delta(tool_calls=[call(0, '"Rio"}')]),
        delta(tool_calls=[call(1, '{"city": "Paris"}', "weather")]),
        finish("tool_calls"),
    ]

    message = folded(streamed(chunks))

    calls = [call(0, '{"city": "Rio"}', "weather"), call(1, '{"city": "Paris"}', "weather")]
    assert message == whole("tool_calls", content="I look.", tool_calls=calls)
    assert [block.get("input") for block in message["content"][1:]] == [{"city": "Rio"}, {"city": "Paris"}]


def test_a_second_call_is_not_held_back_once_the_first_is_complete() -> None:
    render = rendering()
    render.chunk(delta(tool_calls=[call(0, '{"a": 1}', "f")]))

    after = events(render.chunk(delta(tool_calls=[call(1, '{"b"', "g")])))

    assert [event["type"] for event in after] == ["content_block_stop", "content_block_start", "content_block_delta"]


def test_calls_that_interleave_are_put_in_order() -> None:
    chunks = [
        delta(tool_calls=[call(0, "", "f"), call(1, '{"b"', "g")]),
        delta(tool_calls=[call(1, ": 2}")]),
        delta(content="Done."),
        delta(tool_calls=[call(0, '{"a": 1}')]),
        finish("tool_calls"),
    ]

    message = folded(streamed(chunks))

    assert [block.get("input", block.get("text")) for block in message["content"]] == [{"a": 1}, {"b": 2}, "Done."]


@pytest.mark.parametrize("nothing", ["", " ", "null", "{}"])
def test_a_call_without_arguments_has_an_empty_input(nothing: str) -> None:
    message = whole("tool_calls", tool_calls=[call(0, nothing, "now")])

    assert message["content"][0]["input"] == {}


def test_a_streamed_call_without_arguments_has_an_empty_input() -> None:
    message = folded(streamed([delta(tool_calls=[call(0, "", "now")]), finish("tool_calls")]))

    assert message == whole("tool_calls", tool_calls=[call(0, "", "now")])


@pytest.mark.parametrize("broken", ['{"city": "Par', "[1]", "{'a': 1}", '"x"'])
def test_arguments_that_are_no_object_are_kept_unmended(broken: str) -> None:
    message = whole("length", tool_calls=[call(0, broken, "weather")])

    assert message["content"][0]["input"] == {"INVALID_JSON": broken}
    turn = {"role": "assistant", "content": message["content"]}
    back = to_chat({**TREE, "messages": [turn, *TREE["messages"]]}).chat["messages"][0]
    assert back["tool_calls"][0]["function"]["arguments"] == broken


def test_broken_arguments_are_streamed_as_they_are() -> None:
    stream = streamed([delta(tool_calls=[call(0, '{"city": "Par', "weather")]), finish("length")])

    deltas = [event["delta"] for event in stream if event["type"] == "content_block_delta"]
    assert deltas == [{"type": "input_json_delta", "partial_json": '{"city": "Par'}]


def test_a_call_whose_name_comes_late_begins_with_its_name() -> None:
    unnamed = {"index": 0, "id": "call_0", "function": {"arguments": ""}}
    stream = streamed([delta(tool_calls=[unnamed]), delta(tool_calls=[call(0, "{}", "now")]), finish("tool_calls")])

    assert folded(stream)["content"] == [{"type": "tool_use", "id": "call_0", "name": "now", "input": {}}]


@pytest.mark.parametrize(
    ("reason", "message", "expected"),
    [
        ("stop", {"content": "a"}, "end_turn"),
        ("length", {"content": "a"}, "max_tokens"),
        ("content_filter", {"content": "a"}, "refusal"),
        ("tool_calls", {"tool_calls": [call(0, "{}", "f")]}, "tool_use"),
        ("stop", {"tool_calls": [call(0, "{}", "f")]}, "tool_use"),
        ("stop", {"refusal": "I will not."}, "refusal"),
        ("abort", {"content": "a"}, "end_turn"),
    ],
)
def test_why_it_ended_is_told_whole_and_streamed(reason: str, message: dict[str, Any], expected: str) -> None:
    answer = whole(reason, **message)

    assert answer["stop_reason"] == expected
    assert folded(streamed([delta(**message), finish(reason)])) == answer


@pytest.mark.parametrize("engine", ["stop_reason", "matched_stop"])
def test_the_sequence_that_stopped_it_is_told_where_the_engine_names_it(engine: str) -> None:
    tree = {"stop_sequences": ["END"]}

    message = whole(choice={engine: "END"}, tree=tree, content="a")

    assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "END")
    assert folded(streamed([delta(content="a"), finish(**{engine: "END"})], **tree)) == message


def test_a_token_that_stopped_it_is_no_sequence() -> None:
    message = whole(choice={"stop_reason": 151645}, tree={"stop_sequences": ["END"]}, content="a")

    assert (message["stop_reason"], message["stop_sequence"]) == ("end_turn", None)


def test_citations_belong_to_the_text_they_follow() -> None:
    annotation = {"type": "file_citation", "file_citation": {"index": 2, "file": "a.md", "heading": "Rent"}}

    message = folded(streamed([delta(content="800 [2]"), delta(annotations=[annotation]), finish()]))

    assert message == whole(content="800 [2]", annotations=[annotation])
    citation = message["content"][0]["citations"][0]
    assert (citation["source"], citation["title"], citation["search_result_index"]) == ("a.md", "Rent", 1)


def test_a_failure_is_an_error_event() -> None:
    render = rendering()
    render.chunk(delta(content="a"))
    failure = {"message": "cut", "type": "upstream_error", "param": None, "code": "upstream_cut"}

    raw = render.failed(failure)

    assert raw.startswith(b"event: error\ndata: ")
    assert json.loads(raw.split(b"data: ")[1])["error"] == {"type": "api_error", "message": "cut"}


def test_a_stream_without_a_chunk_still_begins_and_ends() -> None:
    assert [event["type"] for event in streamed([])] == ["message_start", "message_delta", "message_stop"]


def test_unexpected_shapes_say_nothing() -> None:
    odd: list[dict[str, Any]] = [{}, {"choices": None}, {"choices": [7]}, {"choices": []}, delta(content=7)]

    assert folded(streamed([*odd, delta(tool_calls=[None]), finish()]))["content"] == []


PIECES = st.lists(
    st.one_of(
        st.builds(lambda text: ("reasoning_content", text), st.text(min_size=1, max_size=3)),
        st.builds(lambda text: ("content", text), st.text(min_size=1, max_size=3)),
        st.builds(lambda index, value: ("call", (index, value)), st.integers(0, 3), st.integers()),
    ),
    max_size=12,
)


@given(pieces=PIECES, data=st.data())
def test_every_order_of_pieces_becomes_well_formed_blocks_that_lose_nothing(
    pieces: list[tuple[str, Any]], data: st.DataObject
) -> None:
    arguments = {index: f'{{"v": [{value}]}}' for kind, (index, value) in _calls(pieces)}
    left = dict(arguments)
    chunks, begun = [], set()
    for kind, said in pieces:
        if kind != "call":
            chunks.append(delta(**{kind: said}))
            continue
        index = said[0]
        size = data.draw(st.integers(0, len(left[index])))
        chunks.append(delta(tool_calls=[call(index, left[index][:size], None if index in begun else "f")]))
        left[index] = left[index][size:]
        begun.add(index)
    chunks += [delta(tool_calls=[call(index, rest)]) for index, rest in left.items() if rest]

    content = folded(streamed([*chunks, finish()]))["content"]

    for kind, name in (("reasoning_content", "thinking"), ("content", "text")):
        texts = "".join(block[name] for block in content if block["type"] == name)
        assert texts == "".join(said for piece, said in pieces if piece == kind)
    inputs = [json.loads(arguments[index]) for index in dict.fromkeys(index for _, (index, _) in _calls(pieces))]
    assert [block["input"] for block in content if block["type"] == "tool_use"] == inputs


def _calls(pieces: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [piece for piece in pieces if piece[0] == "call"]
