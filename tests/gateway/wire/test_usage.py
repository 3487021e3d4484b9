"""Each token is read into one lane, whoever reports it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.prices import Price
from gateway.ledger.price import charge
from gateway.wire.lanes import Usage
from gateway.wire.messages import MESSAGES
from gateway.wire.responses import RESPONSES
from gateway.wire.usage import estimate_tokens, in_lane, joined, read_usage, service_tier

if TYPE_CHECKING:
    from collections.abc import Mapping

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
PRICE = Price(Decimal("3.00"), Decimal("15.00"), "price page", date(2026, 10, 24), cached=Decimal("0.30"))
_NAMES = (
    "in.cached_tokens", "in.audio_tokens", "in.image_tokens", "in.cache_write_tokens", "in.cache_creation_tokens",
    "out.reasoning_tokens", "out.audio_tokens", "out.image_tokens", "cached_tokens", "prompt_cache_hit_tokens",
    "cache_creation_input_tokens", "reasoning_tokens",
)  # fmt: skip

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
    "openai, with sound": (
        {
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "prompt_tokens_details": {"audio_tokens": 60, "cached_tokens": 10, "image_tokens": 20},
                "completion_tokens_details": {"audio_tokens": 40, "reasoning_tokens": 4},
            }
        },
        Usage(fresh=10, cached=10, image_input=20, audio_input=60, output=6, reasoning=4, audio_output=40),
    ),
    "sound that was cached": (
        {
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 1,
                "prompt_tokens_details": {
                    "audio_tokens": 60,
                    "cached_tokens": 50,
                    "cached_tokens_details": {"audio_tokens": 45, "text_tokens": 5},
                },
            }
        },
        Usage(fresh=35, cached=50, audio_input=15, output=1),
    ),
    "pictures that were cached, nobody says how many": (
        {
            "usage": {
                "prompt_tokens": 1000,
                "completion_tokens": 1,
                "prompt_tokens_details": {"image_tokens": 900, "cached_tokens": 800},
            }
        },
        Usage(cached=800, image_input=200, output=1),
    ),
    "written to the cache": (
        {
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 1,
                "prompt_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 70},
            }
        },
        Usage(fresh=20, cached=10, cache_write_5m=70, output=1),
    ),
    "anthropic through litellm": (
        {
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 7,
                "total_tokens": 107,
                "cache_read_input_tokens": 30,
                "cache_creation_input_tokens": 50,
                "prompt_tokens_details": {
                    "cached_tokens": 30,
                    "cache_creation_tokens": 50,
                    "cache_creation_token_details": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30},
                },
            }
        },
        Usage(fresh=20, cached=30, cache_write_5m=20, cache_write_1h=30, output=7),
    ),
    "more written than prompted": (
        {"usage": {"prompt_tokens": 5, "completion_tokens": 1, "cache_creation_input_tokens": 9}},
        Usage(cache_write_5m=5, output=1),
    ),
    "thoughts beside the answer, as gemini and xai count": (
        {
            "usage": {
                "prompt_tokens": 8,
                "completion_tokens": 3,
                "total_tokens": 111,
                "completion_tokens_details": {"reasoning_tokens": 100},
            }
        },
        Usage(fresh=8, output=3, reasoning=100),
    ),
    "a picture as an answer": (
        {
            "usage": {
                "prompt_tokens": 8,
                "completion_tokens": 1300,
                "completion_tokens_details": {"image_tokens": 1290, "text_tokens": 10},
            }
        },
        Usage(fresh=8, output=10, image_output=1290),
    ),
    "thoughts that nobody names, at google's own endpoint": (
        {"usage": {"completion_tokens": 1, "prompt_tokens": 9, "total_tokens": 103}},
        Usage(fresh=9, output=1, reasoning=93),
    ),
    "nothing but thoughts": (
        {
            "usage": {
                "prompt_tokens": 21,
                "completion_tokens": 0,
                "total_tokens": 81,
                "completion_tokens_details": {"reasoning_tokens": 60},
            }
        },
        Usage(fresh=21, reasoning=60),
    ),
    "thoughts of which a part stands beside": (
        {
            "usage": {
                "prompt_tokens": 10,
                "completion_tokens": 30,
                "total_tokens": 45,
                "completion_tokens_details": {"reasoning_tokens": 20},
            }
        },
        Usage(fresh=10, output=15, reasoning=20),
    ),
    "perplexity, whose total has no thoughts": (
        {
            "usage": {
                "prompt_tokens": 33,
                "completion_tokens": 11395,
                "total_tokens": 11428,
                "reasoning_tokens": 193947,
                "num_search_queries": 18,
            }
        },
        Usage(fresh=33, output=11395, reasoning=193947),
    ),
    "gemini through litellm, with what tools read": (
        {
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 10,
                "total_tokens": 160,
                "completion_tokens_details": {"reasoning_tokens": 4, "text_tokens": 6},
                "prompt_tokens_details": {"tool_use_tokens": 50, "web_search_requests": 1},
            }
        },
        Usage(fresh=100, output=6, reasoning=4),
    ),
    "a prompt without what was cached, as the total tells": (
        {
            "usage": {
                "prompt_tokens": 20,
                "completion_tokens": 5,
                "total_tokens": 105,
                "prompt_tokens_details": {"cached_tokens": 80},
            }
        },
        Usage(fresh=20, cached=80, output=5),
    ),
    "a total that has the cached tokens twice": (
        {
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "total_tokens": 185,
                "prompt_tokens_details": {"cached_tokens": 80},
            }
        },
        Usage(fresh=20, cached=80, output=5),
    ),
    "qwen": (
        {
            "usage": {
                "prompt_tokens": 2000,
                "completion_tokens": 10,
                "total_tokens": 2010,
                "prompt_tokens_details": {
                    "cached_tokens": 0,
                    "cache_type": "ephemeral",
                    "cache_creation_input_tokens": 1500,
                    "cache_creation": {"ephemeral_5m_input_tokens": 500, "ephemeral_1h_input_tokens": 1000},
                },
            }
        },
        Usage(fresh=500, cache_write_5m=500, cache_write_1h=1000, output=10),
    ),
    "searches": ({"usage": {"search_units": 2}}, Usage(searches=2)),
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


LANES_OF_ONE_CALL = Usage(fresh=20, cached=80, output=6, reasoning=4)
SAME_TOKENS: dict[str, Mapping[str, Any]] = {
    "openai chat": {
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "total_tokens": 110,
            "prompt_tokens_details": {"cached_tokens": 80, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 4, "audio_tokens": 0},
        }
    },
    "openai responses": RESPONSES.heard(
        {
            "output": [],
            "usage": {
                "input_tokens": 100,
                "output_tokens": 10,
                "total_tokens": 110,
                "input_tokens_details": {"cached_tokens": 80, "cache_write_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": 4},
            },
        }
    ),
    "anthropic messages": MESSAGES.heard(
        {
            "type": "message",
            "content": [],
            "usage": {
                "input_tokens": 20,
                "cache_read_input_tokens": 80,
                "cache_creation_input_tokens": 0,
                "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
                "output_tokens": 10,
                "output_tokens_details": {"thinking_tokens": 4},
            },
        }
    ),
    "anthropic through litellm": {
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "total_tokens": 110,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 80,
            "prompt_tokens_details": {
                "cached_tokens": 80,
                "text_tokens": 20,
                "cache_creation_tokens": 0,
                "cache_creation_token_details": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            },
            "completion_tokens_details": {"reasoning_tokens": 4, "text_tokens": 6},
        }
    },
    "moonshot": {
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "total_tokens": 110,
            "cached_tokens": 80,
            "completion_tokens_details": {"reasoning_tokens": 4},
        }
    },
    "deepseek": {
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "prompt_cache_hit_tokens": 80,
            "prompt_cache_miss_tokens": 20,
            "completion_tokens_details": {"reasoning_tokens": 4},
        }
    },
    "vllm": {
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 80},
            "completion_tokens_details": {"reasoning_tokens": 4},
        }
    },
    "sglang": {
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 80},
            "reasoning_tokens": 4,
        }
    },
    "llama-server": {
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "completion_tokens_details": {"reasoning_tokens": 4},
        },
        "timings": {"cache_n": 80, "prompt_n": 20, "predicted_n": 10},
    },
    "gemini through litellm": {
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "total_tokens": 110,
            "prompt_tokens_details": {"cached_tokens": 80, "text_tokens": 20},
            "completion_tokens_details": {"reasoning_tokens": 4, "text_tokens": 6},
        }
    },
    "google's own endpoint": {
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 6,
            "total_tokens": 110,
            "prompt_tokens_details": {"cached_tokens": 80},
        }
    },
    "xai": {
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 6,
            "total_tokens": 110,
            "prompt_tokens_details": {"cached_tokens": 80, "text_tokens": 100},
            "completion_tokens_details": {"reasoning_tokens": 4},
        }
    },
}
"""One call's tokens, as each upstream tells them."""


@pytest.mark.parametrize("upstream", SAME_TOKENS)
def test_the_same_tokens_cost_the_same_whoever_tells_of_them(upstream: str) -> None:
    usage = read_usage(SAME_TOKENS[upstream])

    assert usage == LANES_OF_ONE_CALL
    assert charge(usage, PRICE, NOON).nano_usd == 20 * 3000 + 80 * 300 + 10 * 15000


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(_NAMES, st.integers(0, 5000))), st.data())
def test_every_token_is_in_one_lane_whatever_the_parts_say(parts: dict[str, int], data: st.DataObject) -> None:
    prompt, completion = data.draw(st.integers(0, 4000)), data.draw(st.integers(0, 4000))
    inside = {name.removeprefix("in."): count for name, count in parts.items() if name.startswith("in.")}
    out = {name.removeprefix("out."): count for name, count in parts.items() if name.startswith("out.")}
    beside = {name: count for name, count in parts.items() if "." not in name}
    stated = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": inside,
        "completion_tokens_details": out,
        **beside,
    }

    usage = read_usage({"usage": stated})

    thoughts = out.get("reasoning_tokens") or beside.get("reasoning_tokens") or 0
    assert usage is not None
    assert min(usage.lanes.values()) >= 0
    assert usage.prompt == prompt
    assert usage.completion == (completion + thoughts if thoughts > completion else completion)


@given(*[st.integers(0, 4000)] * 4)
def test_no_token_of_a_total_is_left_out(prompt: int, completion: int, reasoning: int, beside: int) -> None:
    total = prompt + completion + beside
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}

    usage = read_usage({"usage": {**counts, "completion_tokens_details": {"reasoning_tokens": reasoning}}})

    assert usage is not None
    assert usage.prompt == prompt
    assert usage.tokens == max(total, prompt + completion + reasoning if reasoning > completion + beside else 0)
    assert usage.reasoning >= reasoning


def test_a_later_word_counts_but_for_what_it_leaves_out_or_has_at_nothing() -> None:
    first = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10, "details": {"cached_tokens": 4, "x": None}}

    assert joined({}, first) == first
    assert joined(first, {"prompt_tokens": 0, "details": {"cached_tokens": 0}}) is first
    assert joined(first, {"prompt_tokens": 0, "completion_tokens": 7, "details": None, "more": 0}) == {
        "prompt_tokens": 9,
        "completion_tokens": 7,
        "details": {"cached_tokens": 4, "x": None},
        "more": 0,
    }
    assert joined(first, {"total_tokens": 12, "details": {"x": 3}}) == {
        **first,
        "total_tokens": 12,
        "details": {"cached_tokens": 4, "x": 3},
    }


@pytest.mark.parametrize(
    ("payload", "tier"),
    [
        ({"service_tier": "flex"}, "flex"),
        ({"service_tier": "priority", "usage": {}}, "priority"),
        ({"usage": {"service_tier": "batch"}}, "batch"),
        ({"service_tier": "ultrafast"}, "ultrafast"),
        ({"usage": {"service_tier": "standard", "speed": "fast"}}, "fast"),
        ({"usage": {"service_tier": "standard", "speed": "standard"}}, None),
        ({"service_tier": "default"}, None),
        ({"service_tier": "standard"}, None),
        ({"service_tier": "what somebody wrote"}, None),
        ({"service_tier": ["flex"]}, None),
        ({}, None),
    ],
)
def test_a_service_tier_is_one_of_a_few_words(payload: dict[str, Any], tier: str | None) -> None:
    assert service_tier(payload) == tier


@pytest.mark.parametrize(("lane", "expected"), [("embedding", Usage(embedding=9)), ("rerank", Usage(rerank=9))])
def test_what_only_reads_is_in_its_own_lane(lane: str, expected: Usage) -> None:
    assert in_lane(Usage(fresh=5, cached=4), lane) == expected
    assert in_lane(Usage(fresh=5, cached=4), "fresh") == Usage(fresh=5, cached=4)
