"""Text completions: translated onto a chat, and said back in their own form."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gateway.errors import BadRequest
from gateway.wire.completions import COMPLETIONS, Completions, to_chat
from gateway.wire.lanes import Usage

USAGE = Usage(fresh=3, cached=1, output=5, reasoning=2)


def rendering(**tree: Any) -> Completions:
    return Completions({"model": "m", **tree}, "small", 1_790_000_000, lambda prefix: f"{prefix}_1")


def events(data: bytes) -> list[dict[str, Any]]:
    return [msgspec.json.decode(event.removeprefix(b"data: ")) for event in data.split(b"\n\n") if event]


def test_a_prompt_becomes_one_message_and_all_else_is_passed_on() -> None:
    translated = to_chat({"model": "m", "prompt": "Olá", "max_tokens": 5, "seed": 7, "top_k": 3, "stream": True})

    assert translated.native_only is None
    assert translated.chat == {
        "model": "m",
        "max_tokens": 5,
        "seed": 7,
        "top_k": 3,
        "stream": True,
        "messages": [{"role": "user", "content": "Olá"}],
        "stream_options": {"include_usage": True},
    }


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"echo": True}, "echo"),
        ({"suffix": "fim"}, "suffix"),
        ({"best_of": 2}, "best_of"),
        ({"logprobs": 0}, "logprobs"),
        ({"prompt": ["a", "b"]}, "prompt"),
        ({"prompt": [1, 2]}, "prompt"),
        ({"prompt": [[1], [2]]}, "prompt"),
    ],
)
def test_what_a_chat_cannot_carry_is_named(more: dict[str, Any], named: str) -> None:
    translated = to_chat({"model": "m", "prompt": "a", **more})

    assert translated.native_only is not None
    assert translated.native_only.startswith(named)


@pytest.mark.parametrize("more", [{"echo": False}, {"suffix": None}, {"best_of": 1}, {"logprobs": None}])
def test_a_parameter_that_says_nothing_is_left_out(more: dict[str, Any]) -> None:
    translated = to_chat({"model": "m", "prompt": ["a"], **more})

    assert translated.native_only is None
    assert translated.chat.keys() == {"model", "messages"}


@pytest.mark.parametrize("prompt", [None, [], 3, {"text": "a"}])
def test_a_prompt_that_is_none_is_refused(prompt: object) -> None:
    with pytest.raises(BadRequest) as refused:
        to_chat({"model": "m", "prompt": prompt})

    assert refused.value.param == "prompt"


def test_a_whole_answer_has_a_text_for_each_choice() -> None:
    choices = [
        {"index": 0, "message": {"content": "um"}, "finish_reason": "stop"},
        {"index": 1, "message": {"content": None, "reasoning_content": "hm"}, "finish_reason": "length"},
    ]

    said = rendering().whole({"choices": choices}, USAGE)

    assert (said["id"], said["object"], said["model"]) == ("cmpl_1", "text_completion", "small")
    assert said["choices"] == [
        {"text": "um", "index": 0, "logprobs": None, "finish_reason": "stop"},
        {"text": "", "index": 1, "logprobs": None, "finish_reason": "length", "reasoning_content": "hm"},
    ]
    assert said["usage"] == {
        "prompt_tokens": 4,
        "completion_tokens": 7,
        "total_tokens": 11,
        "prompt_tokens_details": {"cached_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }


@pytest.mark.parametrize("asked", [True, False])
def test_a_stream_says_its_texts_and_its_usage_where_that_was_asked(asked: bool) -> None:
    told = rendering(stream=True, stream_options={"include_usage": asked})
    deltas = [({"role": "assistant"}, None), ({"content": "a"}, None), ({"content": "b"}, None), ({}, "stop")]

    said = events(
        b"".join(
            told.chunk({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}) for delta, reason in deltas
        )
        + told.end(USAGE)
    )

    assert [choice["text"] for event in said for choice in event["choices"]] == ["a", "b", ""]
    assert [event["usage"]["total_tokens"] for event in said if "usage" in event] == ([11] if asked else [])


def test_an_upstreams_own_completion_is_heard_as_a_chat_would_be() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    chunk = {"choices": [{"index": 1, "text": "olá", "finish_reason": "stop"}], "usage": usage}

    heard = COMPLETIONS.heard(chunk)

    assert heard["choices"][0]["delta"] == {"content": "olá"}
    assert (heard["choices"][0]["index"], heard["choices"][0]["finish_reason"]) == (1, "stop")
    assert heard["usage"] == usage


def test_a_failure_is_the_last_event() -> None:
    assert events(rendering().failed({"code": "upstream_cut"})) == [{"error": {"code": "upstream_cut"}}]
