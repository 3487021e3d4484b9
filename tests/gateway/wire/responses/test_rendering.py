"""A chat answer as a response: the items, the events and their order."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from gateway.wire.responses import failure, to_chat
from tests.gateway.wire.responses.answers import USAGE, call, delta, events, rendering, said, whole

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)

REQUIRED = frozenset(
    """
    background completed_at created_at error frequency_penalty id incomplete_details instructions max_output_tokens
    max_tool_calls metadata model object output parallel_tool_calls presence_penalty previous_response_id
    prompt_cache_key reasoning safety_identifier service_tier status store temperature text tool_choice tools
    top_logprobs top_p truncation usage
    """.split()
)
"""The fields that the specification requires of a response, nullable ones included."""

LOGPROBS = {
    "content": [{"token": "é", "logprob": -0.5, "bytes": None, "top_logprobs": [{"token": "é", "logprob": -1}]}]
}
CITATION = {"type": "file_citation", "file_citation": {"index": 1, "file": "a.pdf", "file_id": "doc_1", "page": 3}}


def kinds(stream: list[dict[str, Any]]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in stream]


def test_a_text_streams_as_one_item_with_one_part() -> None:
    stream = said(
        delta(role="assistant", content=""), delta(content="Be"), delta(content="cause"), delta(finish="stop")
    )

    assert kinds(stream) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert [event["sequence_number"] for event in stream] == list(range(10))
    assert stream[-1]["response"]["output"] == [stream[-2]["item"]]
    assert stream[-2]["item"]["content"][0]["text"] == "Because"


def test_thoughts_text_and_calls_stream_one_after_the_other() -> None:
    stream = said(
        delta(reasoning_content="Hm."),
        delta(content="Let me look."),
        call(0, "", name="look"),
        call(0, '{"at": 1}'),
        delta(finish="tool_calls"),
    )

    assert kinds(stream)[2:] == [
        "output_item.added",
        "content_part.added",
        "reasoning_text.delta",
        "reasoning_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    assert [item["type"] for item in stream[-1]["response"]["output"]] == ["reasoning", "message", "function_call"]
    assert stream[-2]["item"] | {"id": ""} == {
        "id": "",
        "type": "function_call",
        "status": "completed",
        "call_id": "call_0",
        "name": "look",
        "arguments": '{"at": 1}',
    }


def test_a_second_call_streams_as_soon_as_the_first_is_complete() -> None:
    response = rendering()
    response.chunk(call(0, "{}", name="a"))

    stream = events(response.chunk(call(1, '{"x"', name="b")))

    assert kinds(stream) == [
        "function_call_arguments.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
    ]


def test_calls_that_interleave_are_told_one_by_one() -> None:
    stream = said(
        call(0, "", name="a"),
        call(1, "", name="b"),
        call(1, '{"y": 2}'),
        call(0, '{"x"'),
        call(0, ": 1}"),
        call(0, "\n"),
        delta(finish="tool_calls"),
    )

    indices = [event["output_index"] for event in stream if "output_index" in event]
    calls = stream[-1]["response"]["output"]
    assert [index for index, _ in groupby(indices)] == [0, 1]
    assert [(item["name"], item["arguments"]) for item in calls] == [("a", '{"x": 1}'), ("b", '{"y": 2}')]


@pytest.mark.parametrize("arguments", ['{"city": "Par', "", "null", "[" * 5000])
def test_arguments_that_are_no_object_pass_as_they_are_and_keep_nothing_back(arguments: str) -> None:
    stream = said(call(0, arguments, name="a"), call(1, "{}", name="b"), delta(content="Done."), delta(finish="stop"))

    broken, fine, text = stream[-1]["response"]["output"]
    assert (broken["arguments"], fine["arguments"], text["content"][0]["text"]) == (arguments, "{}", "Done.")
    assert kinds(stream).count("output_item.done") == 3


def test_a_call_begins_once_its_name_is_known() -> None:
    stream = said(call(0, '{"a"'), call(0, ": 1}", name="late"), delta(finish="tool_calls"))

    added = next(event for event in stream if event["type"] == "response.output_item.added")
    assert (added["item"]["name"], added["item"]["arguments"]) == ("late", "")
    assert stream[-1]["response"]["output"][0]["arguments"] == '{"a": 1}'


TOOLS = [
    {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [{"type": "function", "name": "find"}]},
    {"type": "custom", "name": "patch", "format": {"type": "grammar", "syntax": "regex", "definition": "a+"}},
    {"type": "namespace", "name": "fs", "description": "Files.", "tools": [{"type": "custom", "name": "patch"}]},
]
OFFERING = {"model": "m", "input": "x", "tools": TOOLS}


def test_a_call_of_a_namespace_says_its_namespace_and_its_name() -> None:
    stream = said(call(0, '{"at": 1}', name="crm__find"), delta(finish="tool_calls"), request=OFFERING)

    (item,) = stream[-1]["response"]["output"]
    assert (item["type"], item["namespace"], item["name"]) == ("function_call", "crm", "find")
    added = next(event for event in stream if event["type"] == "response.output_item.added")
    assert (added["item"]["namespace"], added["item"]["name"]) == ("crm", "find")


def test_a_call_of_free_text_streams_its_text() -> None:
    stream = said(
        call(0, "", name="patch"),
        call(0, '{"inp'),
        call(0, 'ut": "ol\\u00'),
        call(0, "e1\\n"),
        call(0, 'x"}'),
        delta(finish="tool_calls"),
        request=OFFERING,
    )

    assert kinds(stream)[2:] == [
        "output_item.added",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
        "completed",
    ]
    assert [event["delta"] for event in stream if "delta" in event] == ["ol", "á\n", "x"]
    assert stream[-2]["item"] | {"id": ""} == {
        "id": "",
        "type": "custom_tool_call",
        "status": "completed",
        "call_id": "call_0",
        "name": "patch",
        "input": "olá\nx",
    }
    for event in stream:
        EVENT.validate_python(event)


def test_calls_of_all_kinds_come_back_as_they_were_made() -> None:
    calls = [
        {"index": n, "id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(
            [("crm__find", "{}"), ("patch", '{"input": "a"}'), ("fs__patch", '{"input": "b"}'), ("unknown", "{}")]
        )
    ]

    response = whole({"tool_calls": calls}, "tool_calls", request=OFFERING)

    Response.model_validate(response)
    assert [(item["type"], item.get("namespace"), item["name"]) for item in response["output"]] == [
        ("function_call", "crm", "find"),
        ("custom_tool_call", None, "patch"),
        ("custom_tool_call", "fs", "patch"),
        ("function_call", None, "unknown"),
    ]
    (sent,) = to_chat({**OFFERING, "input": response["output"]}).chat["messages"]
    assert sent["tool_calls"] == [{key: made[key] for key in ("id", "type", "function")} for made in calls]


def test_a_text_that_was_cut_is_incomplete() -> None:
    stream = said(call(0, '{"input": "half a', name="patch"), delta(finish="length"), request=OFFERING)

    (item,) = stream[-1]["response"]["output"]
    assert (item["input"], item["status"]) == ("half a", "incomplete")


def test_a_failure_amid_a_text_keeps_what_was_said() -> None:
    response = rendering(OFFERING)
    response.chunk(call(0, '{"input": "half', name="patch"))

    failed = events(response.failed({"message": "It broke.", "type": "x", "code": "y"}))[-1]

    assert failed["response"]["output"][0]["input"] == "half"


def test_thoughts_between_texts_are_items_of_their_own() -> None:
    stream = said(delta(content="One."), delta(reasoning_content="Hm."), delta(content="Two."), delta(finish="stop"))

    assert [item["type"] for item in stream[-1]["response"]["output"]] == ["message", "reasoning", "message"]


def test_a_refusal_is_a_part_of_its_own() -> None:
    stream = said(delta(content="Well. "), delta(refusal="No."), delta(finish="stop"))

    assert [part["type"] for part in stream[-1]["response"]["output"][0]["content"]] == ["output_text", "refusal"]
    done = next(event for event in stream if event["type"] == "response.refusal.done")
    assert (done["refusal"], done["content_index"]) == ("No.", 1)


def test_citations_are_annotations_of_the_text() -> None:
    stream = said(delta(content="So [1]."), delta(annotations=[CITATION]), delta(finish="stop"))

    added = next(event for event in stream if event["type"] == "response.output_text.annotation.added")
    expected = {"type": "file_citation", "file_id": "doc_1", "filename": "a.pdf", "index": 1, "page": 3}
    assert added["annotation"] == expected
    assert stream[-1]["response"]["output"][0]["content"][0]["annotations"] == [expected]


def test_an_event_that_waits_shows_the_part_as_it_was() -> None:
    late = delta(content="So."), delta(annotations=[CITATION]), delta(finish="stop")

    stream = said(call(0, '{"cut', name="a"), *late)

    added = next(event for event in stream if event["type"] == "response.content_part.added")
    assert added["part"] == {"type": "output_text", "text": "", "annotations": [], "logprobs": []}


def test_log_probabilities_stand_in_the_deltas_and_the_part() -> None:
    stream = said(delta(content="é", logprobs=LOGPROBS), delta(finish="stop"))

    its_bytes = [195, 169]
    top = {"token": "é", "logprob": -1, "bytes": its_bytes}
    expected = [{"token": "é", "logprob": -0.5, "bytes": its_bytes, "top_logprobs": [top]}]
    told = [event["logprobs"] for event in stream if "logprobs" in event]
    assert told == [expected, expected]
    assert stream[-1]["response"]["output"][0]["content"][0]["logprobs"] == expected


@pytest.mark.parametrize(("finish", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
def test_an_answer_that_was_cut_short_says_why(finish: str, reason: str) -> None:
    stream = said(delta(reasoning_content="Hm."), delta(content="Bec"), delta(finish=finish))

    response = stream[-1]["response"]
    assert stream[-1]["type"] == "response.incomplete"
    assert response["incomplete_details"] == {"reason": reason}
    assert [item["status"] for item in response["output"]] == ["completed", "incomplete"]
    assert response["completed_at"] is None


def test_thoughts_that_used_up_the_limit_are_an_answer() -> None:
    response = whole({"content": "", "reasoning_content": "Hm."}, "length")

    assert (response["status"], [item["type"] for item in response["output"]]) == ("incomplete", ["reasoning"])


def test_an_empty_answer_is_an_empty_text() -> None:
    assert whole({"content": ""})["output"][0]["content"][0]["text"] == ""
    assert said(delta(role="assistant"), delta(finish="stop"))[-1]["response"]["output"][0]["status"] == "completed"


def test_usage_counts_each_token_once() -> None:
    assert whole({"content": "So."})["usage"] == {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 0},
        "output_tokens": 6,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 16,
    }


def test_a_failure_is_an_error_that_clients_raise_and_a_failed_response() -> None:
    response = rendering()
    before = events(response.chunk(delta(content="Be")))

    after = events(response.failed({"message": "It broke.", "type": "upstream_error", "code": "upstream_cut"}))

    error, failed = after
    assert [event["sequence_number"] for event in after] == [len(before), len(before) + 1]
    assert error["error"]["message"] == error["message"] == "It broke."
    assert failed["type"] == "response.failed"
    assert failed["response"]["error"]["code"] == "server_error"
    assert failed["response"]["output"][0]["status"] == "incomplete"
    assert failed["response"]["usage"] is None


def test_a_failure_before_the_first_chunk_still_opens_the_response() -> None:
    stream = events(rendering().failed({"message": "Later.", "type": "x", "code": "upstream_rate_limited"}))

    assert kinds(stream) == ["created", "in_progress", "error", "failed"]
    assert stream[-1]["response"]["error"]["code"] == "rate_limit_exceeded"


def test_a_failure_can_be_told_in_a_stream_of_the_upstream() -> None:
    (event,) = events(failure({"message": "It broke.", "code": "upstream_cut"}, 12))

    assert (event["type"], event["sequence_number"], event["error"]["type"]) == ("error", 12, "server_error")


@pytest.mark.parametrize("request_", [{"model": "m", "input": "x"}, {"model": "m", "input": "x", "stream": True}])
def test_a_bare_request_is_echoed_with_every_field(request_: dict[str, Any]) -> None:
    response = whole({"content": "So."}, request=request_)

    assert response.keys() >= REQUIRED
    assert response["tool_choice"] == "auto"
    assert response["text"] == {"format": {"type": "text"}}
    assert response["completed_at"] == 1_700_000_009


def test_a_full_request_is_echoed_as_it_was_asked() -> None:
    request = {
        "model": "m",
        "input": "x",
        "instructions": "Be brief.",
        "temperature": 0.2,
        "max_output_tokens": 20,
        "metadata": {"a": "b"},
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}, "verbosity": "low"},
        "tools": [{"type": "function", "name": "f"}],
        "tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": "f"}]},
        "store": True,
    }

    response = whole({"content": "So."}, request=request)

    same = ("instructions", "temperature", "max_output_tokens", "metadata")
    assert {key: response[key] for key in same} == {key: request[key] for key in same}
    assert response["store"] is False
    assert response["tools"] == [
        {"type": "function", "name": "f", "description": None, "parameters": None, "strict": None}
    ]
    assert response["tool_choice"]["mode"] == "auto"
    assert response["reasoning"] == {"effort": "low", "summary": None}
    assert response["text"]["format"]["strict"] is False
    Response.model_validate(response)


def test_the_upstreams_service_tier_is_told() -> None:
    response = rendering().whole({"choices": [], "service_tier": "flex"}, USAGE)

    assert response["service_tier"] == "flex"


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
CHUNKS = st.lists(
    st.one_of(
        TEXTS.map(lambda text: delta(content=text)),
        TEXTS.map(lambda text: delta(reasoning_content=text)),
        TEXTS.map(lambda text: delta(refusal=text)),
        st.just(delta(annotations=[CITATION])),
        st.just(delta(role="assistant", content="")),
        st.tuples(st.integers(0, 2), st.sampled_from(["", "{", "}", '"a": 1', "x"])).map(
            lambda piece: call(piece[0], piece[1], name="f")
        ),
        st.sampled_from(['{"input": "', "olá", "\\n", "\\ud83d", "\\udc4b", '"', "}", "*** Begin Patch"]).map(
            lambda piece: call(3, piece, name="patch")
        ),
    ),
    max_size=12,
)
FINISH = st.sampled_from(["stop", "tool_calls", "length", "content_filter"])


@given(CHUNKS, FINISH)
def test_whatever_comes_is_a_valid_stream_whose_events_add_up(chunks: list[dict[str, Any]], finish: str) -> None:
    stream = said(*chunks, delta(finish=finish), request=OFFERING)

    for event in stream:
        EVENT.validate_python(event)
    assert [event["sequence_number"] for event in stream] == list(range(len(stream)))
    indices = [event["output_index"] for event in stream if "output_index" in event]
    response = stream[-1]["response"]
    assert [index for index, _ in groupby(indices)] == list(range(len(response["output"])))
    done = [event["item"] for event in stream if event["type"] == "response.output_item.done"]
    assert response["output"] == done
    for item in response["output"]:
        pieces = [event["delta"] for event in stream if event.get("item_id") == item["id"] and "delta" in event]
        assert "".join(pieces) == text_of(item)
    assert all(item["status"] == "completed" for item in response["output"][:-1])


def text_of(item: dict[str, Any]) -> str:
    if item["type"] == "function_call":
        arguments: str = item["arguments"]
        return arguments
    if item["type"] == "custom_tool_call":
        text: str = item["input"]
        return text
    return "".join(part.get("text") or part.get("refusal") or "" for part in item["content"])


MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "content": TEXTS,
        "reasoning_content": TEXTS,
        "tool_calls": st.lists(TEXTS, min_size=1, max_size=3).map(
            lambda all_arguments: [
                {"index": i, "id": f"call_{i}", "type": "function", "function": {"name": "f", "arguments": arguments}}
                for i, arguments in enumerate(all_arguments)
            ]
        ),
    },
)


@given(MESSAGES, FINISH)
def test_a_whole_answer_is_what_its_stream_ends_with(message: dict[str, Any], finish: str) -> None:
    response = rendering().whole({"choices": [{"message": message, "finish_reason": finish}]}, USAGE)

    stream = said(delta(finish=finish, **message))

    Response.model_validate(response)
    assert response["output"] == stream[-1]["response"]["output"]
    assert response["status"] == stream[-1]["response"]["status"]


@given(MESSAGES)
def test_an_answer_sent_back_is_the_message_that_the_model_wrote(message: dict[str, Any]) -> None:
    output = whole(message, "tool_calls")["output"]

    (sent,) = to_chat({"model": "m", "input": json.loads(json.dumps(output))}).chat["messages"]

    calls = [{key: call[key] for key in ("id", "type", "function")} for call in message.get("tool_calls", ())]
    assert (sent["content"] or "") == message.get("content", "")
    assert sent.get("reasoning_content") == message.get("reasoning_content")
    assert sent.get("tool_calls", []) == calls
