"""A deployment is asked as it wants to be, and the client is told what did not reach it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from gateway.catalog.deployments import Parameters
from gateway.errors import BadRequest
from gateway.upstream.dialects.known import checks_tool_arguments
from gateway.upstream.dialects.parameters import prepare
from gateway.wire import spans
from tests.fakes import deployment

if TYPE_CHECKING:
    from gateway.catalog.deployments import Deployment

PLAIN = deployment("http://127.0.0.1:1/v1")
HOSTED_K3 = replace(PLAIN, engine="moonshot", dialect="kimi_k3")
OWN_K3 = replace(PLAIN, engine="vllm", dialect="kimi_k3")


def sent(to: Deployment, request: dict[str, Any], salt: str | None = None) -> dict[str, Any]:
    """What a deployment receives of a request."""
    body = spans.read(msgspec.json.encode(request))
    prepared = prepare(to, body.tree, salt=salt, messages=body.items("messages"))
    received: dict[str, Any] = msgspec.json.decode(body.splice(prepared.changes, prepared.drop))
    return received


def dropped(to: Deployment, request: dict[str, Any]) -> tuple[str, ...]:
    return prepare(to, request, salt=None).dropped


def test_a_deployment_without_rules_is_sent_what_the_client_wrote() -> None:
    request = {"model": "small", "temperature": 0.3, "thinking": {"type": "disabled"}, "max_tokens": 5, "top_k": None}

    prepared = prepare(PLAIN, request, salt="s", messages=[b'{"role":"assistant","reasoning_content":"x"}'])

    assert (prepared.changes, prepared.drop, prepared.dropped) == ({}, frozenset(), ())


def test_hosted_k3_is_spared_the_sampling_that_it_refuses_and_the_client_is_told() -> None:
    request = {"temperature": 0.2, "top_p": 1.0, "n": 2, "presence_penalty": 1, "frequency_penalty": 0.5, "seed": 7}

    assert sent(HOSTED_K3, request) == {"seed": 7}
    assert dropped(HOSTED_K3, request) == ("frequency_penalty", "n", "presence_penalty", "temperature", "top_p")


def test_what_hosted_k3_does_anyway_may_be_said() -> None:
    request = {"temperature": 1, "top_p": 0.95, "n": 1, "presence_penalty": 0.0, "frequency_penalty": 0}

    assert sent(HOSTED_K3, request) == request
    assert dropped(HOSTED_K3, request) == ()


def test_a_null_that_is_refused_is_left_out_without_a_word() -> None:
    assert sent(HOSTED_K3, {"temperature": None, "thinking": None}) == {}
    assert dropped(HOSTED_K3, {"temperature": None, "thinking": None}) == ()


def test_self_hosted_k3_gets_the_recommended_sampling_only_where_the_client_left_it_out() -> None:
    assert sent(OWN_K3, {}) == {"temperature": 1.0, "top_p": 0.95}
    assert sent(OWN_K3, {"temperature": None}) == {"temperature": 1.0, "top_p": 0.95}
    assert sent(OWN_K3, {"temperature": 0, "top_p": 1.0, "n": 3}) == {"temperature": 0, "top_p": 1.0, "n": 3}
    assert dropped(OWN_K3, {"temperature": 0, "n": 3}) == ()


@pytest.mark.parametrize("to", [HOSTED_K3, OWN_K3])
@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ("none", "low"),
        ("minimal", "low"),
        ("low", "low"),
        ("medium", "high"),
        ("high", "high"),
        ("xhigh", "max"),
        ("max", "max"),
        ("unheard of", "unheard of"),
        (3, 3),
    ],
)
def test_k3_hears_an_effort_that_it_knows(to: Deployment, asked: object, named: object) -> None:
    assert sent(to, {"reasoning_effort": asked})["reasoning_effort"] == named


def test_no_effort_is_put_into_the_clients_mouth() -> None:
    assert "reasoning_effort" not in sent(HOSTED_K3, {})
    assert "reasoning_effort" not in sent(HOSTED_K3, {"thinking": {"type": "enabled"}})


def test_thinking_belongs_to_k2_and_switched_off_it_becomes_the_least_effort() -> None:
    off = {"type": "disabled"}

    assert sent(HOSTED_K3, {"thinking": off}) == {"reasoning_effort": "low"}
    assert sent(HOSTED_K3, {"thinking": off, "reasoning_effort": "max"}) == {"reasoning_effort": "max"}
    assert dropped(HOSTED_K3, {"thinking": off}) == ("thinking",)


def test_the_limit_goes_under_the_name_that_the_deployment_knows() -> None:
    ollama = replace(PLAIN, engine="ollama")

    assert sent(HOSTED_K3, {"max_tokens": 9}) == {"max_completion_tokens": 9}
    assert sent(ollama, {"max_completion_tokens": 9}) == {"max_tokens": 9}
    assert sent(replace(PLAIN, engine="llama_server"), {"max_completion_tokens": 9}) == {"max_tokens": 9}
    assert sent(replace(PLAIN, engine="vllm"), {"max_completion_tokens": 9}) == {"max_completion_tokens": 9}
    assert dropped(ollama, {"max_completion_tokens": 9}) == ()


def test_of_two_limits_the_one_under_the_known_name_stands() -> None:
    both = {"max_tokens": 9, "max_completion_tokens": 5}

    assert sent(HOSTED_K3, both) == {"max_completion_tokens": 5}
    assert dropped(HOSTED_K3, both) == ("max_tokens",)
    assert dropped(HOSTED_K3, {"max_tokens": 5, "max_completion_tokens": 5}) == ()
    assert sent(HOSTED_K3, {"max_tokens": 9, "max_completion_tokens": None}) == {"max_completion_tokens": 9}


def test_a_pack_strips_renames_fills_and_names_efforts() -> None:
    rules = Parameters(
        strip=frozenset({"user"}), rename={"stop": "stops"}, defaults={"top_k": 20, "seed": 1}, effort={"high": "deep"}
    )
    to = replace(PLAIN, parameters=rules)
    request = {"user": "ana", "stop": ["x"], "seed": 4, "reasoning_effort": "high"}

    assert sent(to, request) == {"seed": 4, "stops": ["x"], "reasoning_effort": "deep", "top_k": 20}
    assert dropped(to, request) == ("user",)


def test_a_default_may_be_the_one_value_that_a_pack_allows() -> None:
    to = replace(PLAIN, parameters=Parameters(strip=frozenset({"top_p"}), defaults={"top_p": 1.0}))

    assert sent(to, {"top_p": 0.5}) == {"top_p": 1.0}
    assert dropped(to, {"top_p": 0.5}) == ("top_p",)


def test_the_word_of_a_pack_goes_before_the_dialects() -> None:
    allowed = replace(HOSTED_K3, parameters=Parameters(rename={"temperature": "temperature"}, effort={"medium": "low"}))
    filled = replace(HOSTED_K3, parameters=Parameters(defaults={"temperature": 0.6}))
    refused = replace(OWN_K3, parameters=Parameters(strip=frozenset({"temperature"}), defaults={"top_p": 1.0}))

    assert sent(allowed, {"temperature": 0.2, "reasoning_effort": "medium"}) == {
        "temperature": 0.2,
        "reasoning_effort": "low",
    }
    assert sent(filled, {}) == {"temperature": 0.6}
    assert sent(filled, {"temperature": 0.1}) == {"temperature": 0.1}
    assert sent(refused, {"temperature": 0.2})["top_p"] == 1.0
    assert dropped(refused, {"temperature": 0.2}) == ("temperature",)


def test_callers_share_no_prefix_cache_where_it_can_be_kept_apart() -> None:
    salted = replace(PLAIN, cache_salt=True)

    assert sent(salted, {}, "ana") == {"cache_salt": "ana"}
    assert sent(salted, {"cache_salt": "mine"}, "ana") == {"cache_salt": "ana.mine"}
    assert sent(salted, {"cache_salt": 7}, "ana") == {"cache_salt": "ana"}
    assert sent(salted, {}) == {}
    assert sent(PLAIN, {"cache_salt": "mine"}, "ana") == {"cache_salt": "mine"}


def test_a_number_beyond_json_is_refused_by_name() -> None:
    to = replace(PLAIN, parameters=Parameters(rename={"penalty": "presence_penalty"}))

    with pytest.raises(BadRequest, match="penalty"):
        prepare(to, {"penalty": float("inf")}, salt=None)


def test_arguments_are_checked_as_the_pack_says_else_the_dialect() -> None:
    assert checks_tool_arguments(HOSTED_K3)
    assert checks_tool_arguments(OWN_K3)
    assert not checks_tool_arguments(PLAIN)
    assert not checks_tool_arguments(replace(OWN_K3, check_tool_arguments=False))
    assert checks_tool_arguments(replace(PLAIN, check_tool_arguments=True))
