"""Thoughts of earlier turns reach those who read them, and nobody else; all other bytes stay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.upstream.dialects.history import fit
from gateway.upstream.dialects.parameters import prepare
from tests.fakes import deployment

THINKING = deployment("http://127.0.0.1:1/v1")
K3 = replace(THINKING, engine="moonshot", dialect="kimi_k3")
DULL = replace(THINKING, keeps_reasoning=False)

CALL = b'"tool_calls" : [{"id":"c","type":"function","function":{"name":"f","arguments":"{"}}]'
TURNS = [
    b'{ "role":"user","content":"caf\\u00e9: is reasoning_content a word?" }',
    b'{"role":"assistant", "reasoning_content": "caf\\u00e9\\n", "content":null, ' + CALL + b"}",
    b'{"role":"tool","tool_call_id":"c","content":"1.0"}',
]


def test_a_thinking_deployment_is_sent_the_clients_bytes() -> None:
    assert prepare(THINKING, {}, salt=None, messages=TURNS).changes == {}
    assert prepare(K3, {}, salt=None, messages=TURNS).changes == {}


def test_a_deployment_that_does_not_think_gets_no_thoughts_and_the_client_is_told() -> None:
    prepared = prepare(DULL, {}, salt=None, messages=TURNS)

    stripped = b'{"role":"assistant", "content":null, ' + CALL + b"}"
    assert prepared.changes == {"messages": b"[" + b",".join([TURNS[0], stripped, TURNS[2]]) + b"]"}
    assert prepared.dropped == ("messages.reasoning_content",)


def test_every_name_of_thoughts_is_left_out_and_empty_ones_are_not_worth_a_word() -> None:
    turn = b'{"role":"assistant","content":"a","reasoning":"t","reasoning_details":[{}],"reasoning_content":""}'

    fitted = fit([turn], None)

    assert fitted is not None
    assert fitted.messages == [b'{"role":"assistant","content":"a"}']
    assert fitted.dropped == ("reasoning", "reasoning_details")


@pytest.mark.parametrize("content", [b"", b',"content":null'])
def test_a_turn_of_thoughts_alone_keeps_the_content_that_it_must_have(content: bytes) -> None:
    fitted = fit([b'{"role":"assistant"' + content + b',"reasoning_content":"t"}'], None)

    assert fitted is not None
    assert fitted.messages == [b'{"role":"assistant","content":""}']


def test_a_key_written_with_escapes_is_known_all_the_same() -> None:
    fitted = fit([b'{"role":"assistant","content":"a","\\u0072easoning":"t"}'], None)

    assert fitted is not None
    assert fitted.messages == [b'{"role":"assistant","content":"a"}']


def test_k3_finds_thoughts_that_came_under_another_name() -> None:
    fitted = fit([b'{"role":"assistant","content":"a","reasoning":"t\\u00e9"}'], frozenset({"reasoning_content"}))

    assert fitted is not None
    assert fitted.messages == [
        b'{"role":"assistant","content":"a","reasoning":"t\\u00e9","reasoning_content":"t\\u00e9"}'
    ]
    assert fitted.dropped == ()


@pytest.mark.parametrize("thoughts", [b"", b',"reasoning_content":""', b',"reasoning_details":[{"data":"x"}]'])
def test_thoughts_that_nobody_had_are_not_invented(thoughts: bytes) -> None:
    turn = b'{"role":"assistant","content":null' + thoughts + b"," + CALL + b"}"

    assert prepare(K3, {}, salt=None, messages=[turn]).changes == {}


@pytest.mark.parametrize("engine", ["ollama", "vllm"])
def test_engines_that_read_reasoning_find_there_what_this_gateway_called_reasoning_content(engine: str) -> None:
    prepared = prepare(replace(THINKING, engine=engine), {}, salt=None, messages=TURNS)

    assert prepared.changes["messages"] == b"[" + b",".join(
        [TURNS[0], TURNS[1][:-1] + b',"reasoning":"caf\\u00e9\\n"}', TURNS[2]]
    ) + (b"]")
    assert prepared.dropped == ()
