"""An upstream's own `/responses`: what is heard of its answers."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.wire.lanes import Usage
from gateway.wire.responses import RESPONSES
from gateway.wire.usage import read_usage
from tests.gateway.wire.responses.answers import USAGE, call, delta, said, whole

MESSAGE = {
    "content": "So.",
    "reasoning_content": "Hm.",
    "tool_calls": [{"index": 0, "id": "call_0", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}


def test_a_whole_answer_is_heard_as_a_chat_completion() -> None:
    heard = RESPONSES.heard(whole(MESSAGE, "tool_calls"))

    assert heard["choices"] == [
        {"index": 0, "message": {"role": "assistant", **MESSAGE}, "finish_reason": "tool_calls"}
    ]
    assert read_usage(heard) == USAGE
    assert heard["usage"]["total_tokens"] == 16


def test_a_stream_is_heard_as_the_chunks_that_it_was_made_of() -> None:
    chunks = [delta(reasoning_content="Hm."), delta(content="So."), delta(refusal="No."), call(0, "{}", name="f")]

    heard = [RESPONSES.heard(event) for event in said(*chunks, delta(finish="tool_calls"))]

    deltas = [choice["delta"] for chunk in heard for choice in chunk.get("choices", ()) if choice["delta"]]
    calls = [piece for one in deltas for piece in one.get("tool_calls", ())]
    assert [one.get("reasoning_content") or one.get("content") or one.get("refusal") for one in deltas[:3]] == [
        "Hm.",
        "So.",
        "No.",
    ]
    assert [piece["function"].get("name") for piece in calls] == ["f", None]
    assert "".join(piece["function"]["arguments"] for piece in calls) == "{}"
    assert len({piece["index"] for piece in calls}) == 1
    assert heard[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert read_usage(heard[-1]) == USAGE


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"type": "response.reasoning_summary_text.delta", "delta": "Hm."}, {"reasoning_content": "Hm."}),
        ({"type": "response.reasoning.delta", "delta": "Hm."}, {"reasoning_content": "Hm."}),
        (
            {"type": "response.custom_tool_call_input.delta", "delta": "x", "output_index": 2},
            {"tool_calls": [{"index": 2, "function": {"arguments": "x"}}]},
        ),
    ],
)
def test_deltas_of_other_kinds_are_heard_too(event: dict[str, Any], expected: dict[str, Any]) -> None:
    assert RESPONSES.heard(event)["choices"][0]["delta"] == expected


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.created", "response": {"output": [], "usage": None}},
        {"type": "response.output_item.added", "item": {"type": "message"}},
        {"type": "response.output_text.delta", "delta": None},
        {"type": "response.output_text.done", "text": "So."},
        {"type": 3},
        {},
    ],
)
def test_other_events_say_nothing(event: dict[str, Any]) -> None:
    assert RESPONSES.heard(event) == {}


def test_a_think_only_answer_ends_by_its_limit() -> None:
    heard = RESPONSES.heard(whole({"reasoning_content": "Hm."}, "length"))

    assert heard["choices"][0]["finish_reason"] == "length"


def test_an_explicit_zero_is_heard_as_zero() -> None:
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}

    assert read_usage(RESPONSES.heard({"output": [], "usage": usage})) == Usage()
    assert read_usage(RESPONSES.heard({"output": [], "usage": None})) is None


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"type": "error", "message": "It broke.", "code": "x"}, "It broke."),
        ({"type": "error", "error": {"message": "It broke."}}, "It broke."),
        ({"type": "response.failed", "response": {"error": {"message": "It broke."}}}, "It broke."),
        ({"object": "response", "status": "failed", "output": [], "error": {"message": "It broke."}}, "It broke."),
        ({"object": "response", "status": "cancelled", "output": [], "error": None}, "the response failed"),
        ({"error": {"message": "It broke."}}, "It broke."),
    ],
)
def test_an_error_inside_a_success_is_found(payload: dict[str, Any], message: str) -> None:
    error = RESPONSES.error(payload)

    assert isinstance(error, dict)
    assert error["message"] == message


def test_an_answer_is_no_error() -> None:
    assert RESPONSES.error(whole(MESSAGE)) is None
    assert all(RESPONSES.error(event) is None for event in said(delta(content="So."), delta(finish="length")))
    assert RESPONSES.is_answer(whole(MESSAGE))
    assert not RESPONSES.is_answer({"error": {"message": "It broke."}})


def test_the_name_that_was_asked_for_takes_the_place_of_the_upstreams() -> None:
    answer, event = {"model": "a", "output": []}, {"type": "response.created", "response": {"model": "a"}}

    assert RESPONSES.rename(answer, "b")
    assert RESPONSES.rename(event, "b")
    assert (answer["model"], event["response"]) == ("b", {"model": "b"})
    assert not RESPONSES.rename(answer, "b")
    assert not RESPONSES.rename({"type": "response.output_text.delta", "delta": "x"}, "b")
