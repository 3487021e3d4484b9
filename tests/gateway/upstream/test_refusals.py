"""What an upstream's refusal means, in each engine's words, without repeating them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.errors import (
    UpstreamContextExceeded,
    UpstreamCut,
    UpstreamError,
    UpstreamQuotaExceeded,
    UpstreamRateLimited,
    UpstreamRefused,
)
from gateway.upstream.refusals import error_in, refusal

TOO_LONG = [
    "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens",
    "The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
    "The prompt (total length 25938) is too long. Make sure that `max_model_len` is no smaller",
    "The input (12345 tokens) is longer than the model's context length (8192 tokens).",
    "Input length (700001 tokens) exceeds the maximum allowed length (536826 tokens).",
    "request (8031 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "prompt too long; exceeded max context length by 12 tokens",
    "Invalid request: Your request exceeded model token limit: 8192",
    "prompt is too long: 208310 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000",
    "Input is too long for requested model.",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "Please reduce the length of the messages or completion.",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081",
]
OUT_OF_QUOTA = [
    (429, {"type": "insufficient_quota", "code": "insufficient_quota", "message": "You exceeded your current quota"}),
    (429, {"type": "exceeded_current_quota_error", "message": "Your account is suspended"}),
    (403, {"type": "exceeded_current_quota_error", "message": "Your account is not active"}),
    (402, {"message": "Insufficient Balance"}),
    (400, {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API."}),
]


def refused(status: int, error: Any) -> UpstreamError:
    return refusal("near", status, {}, json.dumps({"error": error}).encode())


@pytest.mark.parametrize("words", TOO_LONG)
def test_a_prompt_that_does_not_fit_is_known_by_each_engines_words(words: str) -> None:
    flat = {"object": "error", "message": words, "type": "BadRequestError", "param": None, "code": 400}
    failures = [refused(400, {"message": words}), error_in("near", {"error": {"message": words}}), error_in("n", flat)]

    assert [type(failure) for failure in failures] == [UpstreamContextExceeded] * 3
    assert all(failure is not None and failure.may_fall_back for failure in failures)


@pytest.mark.parametrize(("status", "error"), OUT_OF_QUOTA)
def test_an_account_without_quota_is_no_rate_limit(status: int, error: dict[str, str]) -> None:
    failure = refused(status, error)

    assert isinstance(failure, UpstreamQuotaExceeded)
    assert (failure.may_fall_back, failure.may_retry) == (True, False)


@pytest.mark.parametrize(
    "error",
    [
        {"type": "rate_limit_reached_error", "message": "request reached organization max RPM: 3"},
        {"type": "engine_overloaded_error", "message": "The engine is currently overloaded"},
        {"type": "requests", "code": "rate_limit_exceeded", "message": "Rate limit reached"},
    ],
)
def test_a_rate_limit_is_no_lack_of_quota(error: dict[str, str]) -> None:
    assert type(refused(429, error)) is UpstreamRateLimited


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "slow down"}, UpstreamRateLimited),
        ({"code": "429", "message": "slow down"}, UpstreamRateLimited),
        ({"type": "rate_limit_error", "message": "slow down"}, UpstreamRateLimited),
        ({"type": "insufficient_quota", "message": "no money"}, UpstreamQuotaExceeded),
        ({"type": "invalid_request_error", "message": "no"}, UpstreamRefused),
        ({"code": 401, "message": "key"}, UpstreamRefused),
        ({"code": 500, "message": "oh"}, UpstreamCut),
        ({"code": True, "message": "oh"}, UpstreamCut),
        ({"type": "overloaded_error", "message": "busy"}, UpstreamCut),
        ("broken", UpstreamCut),
    ],
)
def test_an_error_inside_a_success_is_what_its_status_would_have_been(error: Any, kind: type[UpstreamError]) -> None:
    assert type(error_in("near", {"error": error})) is kind


@pytest.mark.parametrize("payload", [{"choices": [{}], "error": {"message": "x"}}, {"error": None}, {"error": {}}, {}])
def test_what_has_choices_or_no_error_is_none(payload: dict[str, Any]) -> None:
    assert error_in("near", payload) is None


def test_of_the_upstreams_words_only_names_of_the_interface_are_told() -> None:
    words = "thinking is enabled but reasoning_content is missing in 'my secret plan' with key sk-canary"

    failure = refused(400, {"message": words})

    assert (failure.param, "'reasoning_content'" in str(failure)) == ("reasoning_content", True)
    assert "secret" not in f"{failure!r}"
    assert "canary" not in f"{failure!r}"


def test_several_names_are_told_and_none_of_them_is_the_parameter() -> None:
    failure = refused(400, {"message": "temperature and top_p are fixed, and so is temperature"})

    assert failure.param is None
    assert str(failure).endswith("they name 'temperature', 'top_p'")
