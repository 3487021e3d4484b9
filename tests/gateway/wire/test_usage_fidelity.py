"""Whatever a call's tokens are, each upstream's way of telling them comes to the same lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.wire.lanes import Usage
from gateway.wire.messages import MESSAGES
from gateway.wire.rerank import RERANK
from gateway.wire.responses import RESPONSES
from gateway.wire.usage import in_lane, read_usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Object = dict[str, Any]

COUNTS = st.one_of(st.integers(0, 6), st.integers(0, 300_000))
"""Small ones too, so that parts are often equal by chance."""
CALLS = st.builds(Usage, fresh=COUNTS, cached=COUNTS, output=COUNTS, reasoning=COUNTS)
WRITING_CALLS = st.builds(
    Usage, fresh=COUNTS, cached=COUNTS, cache_write_5m=COUNTS, cache_write_1h=COUNTS, output=COUNTS, reasoning=COUNTS
)


def sums(call: Usage) -> Object:
    return {"prompt_tokens": call.prompt, "completion_tokens": call.completion, "total_tokens": call.tokens}


def thoughts(call: Usage) -> Object:
    return {"completion_tokens_details": {"reasoning_tokens": call.reasoning}}


def cached(call: Usage) -> Object:
    return {"prompt_tokens_details": {"cached_tokens": call.cached}}


def as_openai(call: Usage) -> Mapping[str, Any]:
    return {"usage": {**sums(call), **cached(call), **thoughts(call)}}


def as_responses(call: Usage) -> Mapping[str, Any]:
    usage = {
        "input_tokens": call.prompt,
        "input_tokens_details": {"cached_tokens": call.cached},
        "output_tokens": call.completion,
        "output_tokens_details": {"reasoning_tokens": call.reasoning},
        "total_tokens": call.tokens,
    }
    return RESPONSES.heard({"output": [], "usage": usage})


def as_moonshot(call: Usage) -> Mapping[str, Any]:
    return {"choices": [{"delta": {}, "usage": {**sums(call), "cached_tokens": call.cached, **thoughts(call)}}]}


def as_deepseek(call: Usage) -> Mapping[str, Any]:
    kept = {"prompt_cache_hit_tokens": call.cached, "prompt_cache_miss_tokens": call.fresh}
    return {"usage": {**sums(call), **kept, **thoughts(call)}}


def as_sglang(call: Usage) -> Mapping[str, Any]:
    return {"usage": {**sums(call), **cached(call), "reasoning_tokens": call.reasoning}}


def as_llama_server(call: Usage) -> Mapping[str, Any]:
    timings = {"cache_n": call.cached, "prompt_n": call.fresh, "predicted_n": call.completion}
    return {"usage": {**sums(call), **thoughts(call)}, "timings": timings}


def as_xai(call: Usage) -> Mapping[str, Any]:
    return {"usage": {**sums(call), "completion_tokens": call.output, **cached(call), **thoughts(call)}}


def as_message(call: Usage) -> Mapping[str, Any]:
    usage = {
        "input_tokens": call.fresh,
        "cache_read_input_tokens": call.cached,
        "cache_creation_input_tokens": call.cache_write_5m + call.cache_write_1h,
        "cache_creation": by_time(call),
        "output_tokens": call.completion,
        "output_tokens_details": {"thinking_tokens": call.reasoning},
    }
    return MESSAGES.heard({"type": "message", "content": [], "usage": usage})


def as_message_through_litellm(call: Usage) -> Mapping[str, Any]:
    written = call.cache_write_5m + call.cache_write_1h
    details = {"cached_tokens": call.cached, "cache_creation_tokens": written}
    told = {
        **sums(call),
        "cache_read_input_tokens": call.cached,
        "cache_creation_input_tokens": written,
        "prompt_tokens_details": {**details, "cache_creation_token_details": by_time(call)},
    }
    return {"usage": {**told, **thoughts(call)}}


def by_time(call: Usage) -> Object:
    return {"ephemeral_5m_input_tokens": call.cache_write_5m, "ephemeral_1h_input_tokens": call.cache_write_1h}


TELLING = (
    as_openai, as_responses, as_moonshot, as_deepseek, as_sglang, as_llama_server, as_xai,
    as_message, as_message_through_litellm,
)  # fmt: skip


@pytest.mark.parametrize("told_by", TELLING, ids=lambda told_by: told_by.__name__)
@given(call=CALLS)
@example(call=Usage(fresh=251, cached=220, output=394, reasoning=220))
def test_each_upstream_s_way_of_telling_comes_to_the_same_lanes(
    told_by: Callable[[Usage], Mapping[str, Any]], call: Usage
) -> None:
    assert read_usage(told_by(call)) == call


@pytest.mark.parametrize("told_by", [as_message, as_message_through_litellm], ids=lambda told_by: told_by.__name__)
@given(call=WRITING_CALLS)
def test_what_is_written_to_a_cache_keeps_its_time_whoever_carries_it(
    told_by: Callable[[Usage], Mapping[str, Any]], call: Usage
) -> None:
    assert read_usage(told_by(call)) == call


@given(prompt=COUNTS, completion=COUNTS)
def test_an_upstream_that_tells_sums_alone_is_charged_as_fresh_and_visible(prompt: int, completion: int) -> None:
    """Ollama and Cohere's compatible endpoint."""
    call = Usage(fresh=prompt, output=completion)

    assert read_usage({"usage": sums(call)}) == call


def as_jina(tokens: int) -> Object:
    return {"usage": {"total_tokens": tokens}}


def as_vllm(tokens: int) -> Object:
    return {"usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def as_cohere(tokens: int) -> Object:
    return {"meta": {"tokens": {"input_tokens": tokens, "output_tokens": 0}}}


@pytest.mark.parametrize("told_by", [as_jina, as_vllm, as_cohere], ids=lambda told_by: told_by.__name__)
@given(tokens=COUNTS)
def test_a_reranker_s_tokens_are_one_lane_whoever_tells_of_them(told_by: Callable[[int], Object], tokens: int) -> None:
    usage = read_usage(RERANK.heard(told_by(tokens)))

    assert usage is not None
    assert in_lane(usage, "rerank") == Usage(rerank=tokens)
