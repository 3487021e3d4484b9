"""What a stream tells of its usage bit by bit is charged as a whole, and shown as charged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.chat.tap import Tap
from gateway.chat.usage_chunk import UsageChunk
from gateway.wire.lanes import Usage
from gateway.wire.messages import MESSAGES
from gateway.wire.usage import read_usage

Object = dict[str, Any]

START = {
    "input_tokens": 600,
    "cache_read_input_tokens": 100,
    "cache_creation_input_tokens": 300,
    "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100},
    "output_tokens": 1,
}
SUMS = {"input_tokens": 600, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 300, "output_tokens": 70}
ZEROS = {"input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 0}
ALL = Usage(fresh=600, cached=100, cache_write_5m=200, cache_write_1h=100, output=70)
MESSAGE_USAGES: dict[str, tuple[Object, Object, Usage]] = {
    "the output alone at the end": (START, {"output_tokens": 70}, ALL),
    "the sums again, without the times": (START, SUMS, ALL),
    "zeros again, from a gateway": (START, {**ZEROS, "output_tokens": 70}, ALL),
    "everything at the end, from a gateway": (ZEROS, {**START, "output_tokens": 70}, ALL),
    "cached tokens told late, of a prompt told early": (
        {"input_tokens": 3602, "output_tokens": 0},
        {"cache_read_input_tokens": 3600, "cache_creation_input_tokens": 0, "output_tokens": 878},
        Usage(fresh=2, cached=3600, output=878),
    ),
    "more of a prompt, as tools of the provider read": (
        START,
        {**SUMS, "input_tokens": 900, "cache_creation_input_tokens": 700},
        Usage(fresh=900, cached=100, cache_write_5m=600, cache_write_1h=100, output=70),
    ),
    "a turn that compacts the conversation": (
        {"input_tokens": 23000, "output_tokens": 1},
        {
            "input_tokens": 23000,
            "output_tokens": 1000,
            "iterations": [
                {"type": "compaction", "input_tokens": 180000, "output_tokens": 3500},
                {"type": "message", "input_tokens": 23000, "output_tokens": 1000},
            ],
        },
        Usage(fresh=203000, output=4500),
    ),
}


def message_stream(start: Object, end: Object, text: str = "Ol\u00e1") -> list[Object]:
    return [
        {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": start}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": end},
    ]


@pytest.mark.parametrize("case", MESSAGE_USAGES)
def test_a_message_is_charged_for_all_that_its_events_tell_together(case: str) -> None:
    start, end, usage = MESSAGE_USAGES[case]
    tap = Tap(prompt_estimate=9)

    for event in message_stream(start, end):
        tap.see(MESSAGES.heard(event))

    assert tap.usage == usage


def test_a_message_in_fast_mode_says_so() -> None:
    tap = Tap(prompt_estimate=9)

    for event in message_stream({**START, "service_tier": "standard", "speed": "fast"}, SUMS):
        tap.see(MESSAGES.heard(event))

    assert tap.service_tier == "fast"


def test_what_only_timings_tell_is_kept_when_the_usage_follows() -> None:
    tap = Tap(prompt_estimate=9)

    tap.see({"choices": [{"delta": {}, "finish_reason": "stop"}], "timings": {"cache_n": 24, "prompt_n": 7}})
    tap.see({"choices": [], "usage": {"prompt_tokens": 31, "completion_tokens": 3, "total_tokens": 34}})

    assert tap.usage == Usage(fresh=7, cached=24, output=3)


def test_zeros_at_the_end_take_nothing_back_and_vouch_for_nothing() -> None:
    tap = Tap(prompt_estimate=9)

    tap.see({"choices": [{"delta": {"content": "a"}}], "usage": {"prompt_tokens": 10, "completion_tokens": 1}})
    tap.see({"choices": [{"delta": {"content": "b" * 300}, "finish_reason": "stop"}]})
    tap.see({"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}})

    assert tap.usage == Usage(fresh=10, output=101, estimated=True)


def test_zeros_and_nothing_else_stay_zeros() -> None:
    tap = Tap(prompt_estimate=9)

    tap.see({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]})
    tap.see({"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}})

    assert tap.usage == Usage()


COUNTS = st.fixed_dictionaries(
    {},
    optional={
        "prompt_tokens": st.integers(0, 50),
        "completion_tokens": st.integers(0, 50),
        "total_tokens": st.integers(0, 150),
        "cached_tokens": st.none() | st.integers(0, 50),
        "prompt_tokens_details": st.none() | st.fixed_dictionaries({"cached_tokens": st.integers(0, 50)}),
        "completion_tokens_details": st.none() | st.fixed_dictionaries({"reasoning_tokens": st.integers(0, 50)}),
    },
)


@given(st.lists(COUNTS, min_size=1, max_size=4))
def test_a_chat_s_client_is_shown_what_is_charged(told: list[Object]) -> None:
    tap, last = Tap(prompt_estimate=9), UsageChunk(shown=True)

    for usage in told:
        chunk: Object = {"id": "c", "choices": [], "usage": usage}
        tap.see(chunk)
        last.take(chunk, b"data: " + json.dumps(chunk).encode() + b"\n\n")

    shown = last.last().removeprefix(b"data: ")
    charged = tap.usage
    said = read_usage(json.loads(shown)) if shown else None
    assert charged == (said or Usage(fresh=9, estimated=True))
