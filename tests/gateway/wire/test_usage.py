"""Each token is read into one lane, whoever reports it."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.wire.lanes import Usage
from gateway.wire.usage import estimate_tokens, read_usage

SHAPES: dict[str, tuple[dict[str, Any], Usage | None]] = {
    "openai": (
        {
            "usage": {
                "prompt_tokens": 262960,
                "completion_tokens": 1944,
                "total_tokens": 264904,
                "prompt_tokens_details": {"cached_tokens": 257955},
                "completion_tokens_details": {"reasoning_tokens": 1360},
            }
        },
        Usage(fresh=5005, cached=257955, output=584, reasoning=1360),
    ),
    "moonshot": (
        {"usage": {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14, "cached_tokens": 6}},
        Usage(fresh=4, cached=6, output=4),
    ),
    "moonshot, streamed": (
        {"choices": [{"delta": {}, "usage": {"prompt_tokens": 10, "completion_tokens": 4, "cached_tokens": 6}}]},
        Usage(fresh=4, cached=6, output=4),
    ),
    "deepseek": (
        {
            "usage": {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "prompt_cache_hit_tokens": 8,
                "prompt_cache_miss_tokens": 1,
            }
        },
        Usage(fresh=1, cached=8, output=2),
    ),
    "vllm": (
        {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "prompt_tokens_details": None}},
        Usage(fresh=9, output=2),
    ),
    "llama-server": (
        {"usage": {"prompt_tokens": 31, "completion_tokens": 3}, "timings": {"cache_n": 24, "prompt_n": 7}},
        Usage(fresh=7, cached=24, output=3),
    ),
    "llama-server, timings alone": (
        {"timings": {"cache_n": 24, "prompt_n": 7, "predicted_n": 3}},
        Usage(fresh=7, cached=24, output=3),
    ),
    "more cached than prompted": (
        {"usage": {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 9}}},
        Usage(cached=5, output=1),
    ),
    "reasoning outside, told by the total": (
        {
            "usage": {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 35,
                "completion_tokens_details": {"reasoning_tokens": 20},
            }
        },
        Usage(fresh=10, output=5, reasoning=20),
    ),
    "reasoning too large to be inside": (
        {"usage": {"prompt_tokens": 1, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 20}}},
        Usage(fresh=1, output=5, reasoning=20),
    ),
    "completion from the total": ({"usage": {"prompt_tokens": 10, "total_tokens": 14}}, Usage(fresh=10, output=4)),
    "prompt from the total": ({"usage": {"completion_tokens": 4, "total_tokens": 14}}, Usage(fresh=10, output=4)),
    "an explicit zero": ({"usage": {"prompt_tokens": 0, "completion_tokens": 0}}, Usage()),
    "null": ({"usage": None}, None),
    "absent": ({"choices": []}, None),
    "half": ({"usage": {"prompt_tokens": 3}}, None),
    "nonsense": ({"usage": {"prompt_tokens": -3, "completion_tokens": True}}, None),
    "text": ({"usage": {"prompt_tokens": "3", "completion_tokens": "4"}}, None),
    "not a mapping": ({"usage": [1], "choices": "x", "timings": 3}, None),
    "infinite": ({"usage": {"prompt_tokens": float("inf"), "completion_tokens": 1}}, None),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_is_read_into_its_lanes(shape: str) -> None:
    payload, expected = SHAPES[shape]

    assert read_usage(payload) == expected


def test_a_reported_usage_is_no_estimate() -> None:
    usage = read_usage(SHAPES["openai"][0])

    assert usage is not None
    assert (usage.prompt, usage.completion, usage.estimated) == (262960, 1944, False)


@pytest.mark.parametrize(("size", "tokens"), [(0, 0), (1, 1), (3, 1), (4, 2), (3000, 1000)])
def test_an_estimate_is_a_token_for_every_three_bytes_rounded_up(size: int, tokens: int) -> None:
    assert estimate_tokens(size) == tokens
