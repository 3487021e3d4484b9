"""What an upstream's own Messages endpoint answers is heard as a chat would say it."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.wire.lanes import Usage
from gateway.wire.messages import MESSAGES
from gateway.wire.usage import read_usage

STATED = {
    "input_tokens": 7,
    "cache_read_input_tokens": 20,
    "cache_creation_input_tokens": 4,
    "output_tokens": 5,
    "output_tokens_details": {"thinking_tokens": 2},
}
MESSAGE: dict[str, Any] = {
    "type": "message",
    "model": "claude",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "Yes"},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": "é"}},
        {"type": "server_tool_use", "id": "x", "name": "web_search", "input": {}},
    ],
    "stop_reason": "tool_use",
    "usage": STATED,
}


def heard(payload: dict[str, Any]) -> object:
    return MESSAGES.heard(payload)["choices"][0]


def ending(payload: dict[str, Any]) -> object:
    return MESSAGES.heard(payload)["choices"][0]["finish_reason"]


def test_a_whole_message_is_heard() -> None:
    choice = heard(MESSAGE)

    function = {"name": "f", "arguments": '{"a": "é"}'}
    assert choice == {
        "index": 0,
        "message": {
            "role": "assistant",
            "content": "Yes",
            "reasoning_content": "Hm.",
            "tool_calls": [
                {"index": 1_000_000, "function": {"arguments": "s"}},
                {"index": 2, "id": "toolu_1", "type": "function", "function": function},
            ],
        },
        "finish_reason": "tool_calls",
    }


def test_the_prompt_includes_what_was_cached() -> None:
    usage = read_usage(MESSAGES.heard(MESSAGE))

    assert usage == Usage(fresh=7, cached=20, cache_write_5m=4, output=3, reasoning=2)


def test_the_last_word_of_a_stream_is_complete_by_itself() -> None:
    last = {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": STATED}

    assert ending(last) == "length"
    assert read_usage(MESSAGES.heard(last)) == Usage(fresh=7, cached=20, cache_write_5m=4, output=3, reasoning=2)


def test_a_last_word_without_the_input_invents_none() -> None:
    last = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}

    assert MESSAGES.heard(last)["usage"]["completion_tokens"] == 5
    assert "prompt_tokens" not in MESSAGES.heard(last)["usage"]


@pytest.mark.parametrize(
    ("event", "delta"),
    [
        ({"type": "message_start", "message": {"usage": STATED}}, {"role": "assistant"}),
        (
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"content": ""},
        ),
        (
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
            {"content": "a"},
        ),
        (
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "a"}},
            {"reasoning_content": "a"},
        ),
        (
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
            },
            {"tool_calls": [{"index": 1, "id": "t", "type": "function", "function": {"name": "f", "arguments": ""}}]},
        ),
        (
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": '{"a"'},
            },
            {"tool_calls": [{"index": 1, "function": {"arguments": '{"a"'}}]},
        ),
    ],
)
def test_events_are_heard_as_deltas(event: dict[str, Any], delta: dict[str, Any]) -> None:
    assert heard(event) == {"index": 0, "delta": delta, "finish_reason": None}


@pytest.mark.parametrize(
    "event",
    [
        {"type": "ping"},
        {"type": "message_stop"},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "content_block": {"type": "server_tool_use", "name": "web_search"}},
        {},
    ],
)
def test_what_says_nothing_is_heard_as_nothing(event: dict[str, Any]) -> None:
    assert MESSAGES.heard(event) == {}


@pytest.mark.parametrize("kind", ["message", "message_start", "content_block_start", "content_block_delta"])
@pytest.mark.parametrize("odd", [None, 7, [], [7], "x"])
def test_odd_payloads_are_survived(kind: str, odd: object) -> None:
    fields = ("content", "usage", "message", "content_block", "delta", "index")

    assert isinstance(MESSAGES.heard({"type": kind, **dict.fromkeys(fields, odd)}), dict)


def test_only_a_message_is_an_answer() -> None:
    assert MESSAGES.is_answer(MESSAGE)
    assert not MESSAGES.is_answer({"choices": []})
    assert not MESSAGES.is_answer({"type": "message"})


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        ({"type": "error", "error": {"type": "overloaded_error"}}, {"type": "overloaded_error"}),
        ({"type": "error"}, {"type": "error"}),
        ({"error": "no such model"}, "no such model"),
        (MESSAGE, None),
        ({"type": "ping"}, None),
    ],
)
def test_an_error_inside_a_success_is_found(payload: dict[str, Any], error: object) -> None:
    assert MESSAGES.error(payload) == error


def test_the_model_is_renamed_where_it_stands() -> None:
    start = {"type": "message_start", "message": {"model": "upstream"}}
    whole = {"type": "message", "model": "upstream"}

    assert MESSAGES.rename(start, "asked")
    assert MESSAGES.rename(whole, "asked")
    assert (start["message"], whole["model"]) == ({"model": "asked"}, "asked")
    assert not MESSAGES.rename(whole, "asked")
    assert not MESSAGES.rename({"type": "ping"}, "asked")
