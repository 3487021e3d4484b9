"""Every kind of token is a lane of its row, priced by itself, whole or streamed, at every endpoint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from gateway.db import attempts
from tests.gateway.house import ADMIN_KEY, deployment, house
from tests.wire.upstream import answer, completion, delta, fake_upstream, finish, stream

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.db.attempts import AttemptRow
    from tests.wire.upstream import Script

RATES = {
    "input": 1, "cached": 2, "cache_write_5m": 3, "cache_write_1h": 5, "output": 7, "reasoning": 11,
    "image_input": 13, "audio_input": 17, "audio_output": 19, "embedding": 23, "rerank": 29,
}  # fmt: skip
PRICE: dict[str, Any] = {"currency": "USD", "per_million": RATES, "source": "test", "as_of": "2026-11-01"}
USAGE: dict[str, Any] = {
    "prompt_tokens": 1000,
    "completion_tokens": 100,
    "total_tokens": 1100,
    "prompt_tokens_details": {
        "cached_tokens": 100,
        "cache_write_tokens": 300,
        "cache_creation_token_details": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100},
        "image_tokens": 50,
        "audio_tokens": 40,
    },
    "completion_tokens_details": {"reasoning_tokens": 30, "audio_tokens": 20},
}
COST = 1000 * (510 * 1 + 100 * 2 + 200 * 3 + 100 * 5 + 50 * 13 + 40 * 17 + 50 * 7 + 30 * 11 + 20 * 19)
MESSAGE_USAGE: dict[str, Any] = {
    "input_tokens": 600,
    "cache_read_input_tokens": 100,
    "cache_creation_input_tokens": 300,
    "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100},
    "output_tokens": 70,
    "output_tokens_details": {"thinking_tokens": 30},
    "service_tier": "standard",
}
_TOLD_AT_THE_START = ("cache_creation", "service_tier")
"""Alone: the end of a stream repeats the sums, but not for how long they are kept."""
MESSAGE_COST = 1000 * (600 * 1 + 100 * 2 + 200 * 3 + 100 * 5 + 40 * 7 + 30 * 11)


async def row_of(
    tmp_path: Path, script: Script, path: str, body: dict[str, Any], **more: Any
) -> tuple[AttemptRow, dict[str, Any] | bytes]:
    """The row of one request to a deployment with such an upstream, and what the client was told."""
    listed = {"price": PRICE, **more}
    async with fake_upstream(script) as up, house(tmp_path, [deployment("m", up.url, **listed)]) as home:
        headers = {"authorization": f"Bearer {ADMIN_KEY}"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{home.url}{path}", json={"model": "m", **body}, headers=headers) as response,
        ):
            content, decision = await response.read(), response.headers["soleira-decision"]
            assert response.status == 200, content
        (row,) = await attempts.of_decision(home.runtime.engine, decision)
    return row, content if body.get("stream") else json.loads(content)


def lanes(row: AttemptRow) -> dict[str, int]:
    return {lane: count for lane in RATES if (count := getattr(row, "fresh" if lane == "input" else lane))}


@pytest.mark.parametrize("streams", [False, True])
async def test_a_chat_s_tokens_are_each_in_their_lane(tmp_path: Path, streams: bool) -> None:
    chunk = b"data: " + json.dumps({"choices": [], "usage": USAGE}).encode() + b"\n\n"
    script = stream(delta("Olá"), finish(), chunk, b"data: [DONE]\n\n") if streams else answer(completion(usage=USAGE))
    body = {"messages": [{"role": "user", "content": "oi"}], "stream": streams}

    row, _ = await row_of(tmp_path, script, "/v1/chat/completions", body)

    assert lanes(row) == {
        "input": 510, "cached": 100, "cache_write_5m": 200, "cache_write_1h": 100, "image_input": 50,
        "audio_input": 40, "output": 50, "reasoning": 30, "audio_output": 20,
    }  # fmt: skip
    assert (row.cost_nano_usd, row.estimated, row.assumed) == (COST, False, False)


@pytest.mark.parametrize("streams", [False, True])
async def test_what_is_written_to_a_cache_costs_by_its_time(tmp_path: Path, streams: bool) -> None:
    body = {"messages": [{"role": "user", "content": "oi"}], "max_tokens": 200, "stream": streams}

    row, told = await row_of(tmp_path, _message(streams=streams), "/v1/messages", body, capabilities=["messages"])

    assert lanes(row) == {
        "input": 600, "cached": 100, "cache_write_5m": 200, "cache_write_1h": 100, "output": 40, "reasoning": 30,
    }  # fmt: skip
    assert row.cost_nano_usd == MESSAGE_COST
    if isinstance(told, dict):
        assert told["usage"] == MESSAGE_USAGE, "a native answer is the upstream's own"


async def test_a_client_of_messages_is_told_of_the_chat_s_cache(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": "oi"}], "max_tokens": 200}

    _, told = await row_of(tmp_path, answer(completion(usage=USAGE)), "/v1/messages", body)

    assert isinstance(told, dict)
    usage = told["usage"]
    assert (usage["input_tokens"], usage["cache_read_input_tokens"]) == (600, 100)
    assert usage["cache_creation_input_tokens"] == 300
    assert usage["cache_creation"] == {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100}


def _message(*, streams: bool) -> Script:
    whole: dict[str, Any] = {
        "id": "msg", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Olá"}],
    }  # fmt: skip
    if not streams:
        return answer({**whole, "usage": MESSAGE_USAGE})
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**whole, "content": [], "usage": {**MESSAGE_USAGE, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Olá"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {name: count for name, count in MESSAGE_USAGE.items() if name not in _TOLD_AT_THE_START},
        },
        {"type": "message_stop"},
    ]
    return stream(*(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events))


@pytest.mark.parametrize(("told", "tokens"), [({"prompt_tokens": 9, "total_tokens": 9}, 9), (None, None)])
async def test_an_embedding_is_a_lane_and_a_silent_upstream_is_estimated(
    tmp_path: Path, told: dict[str, int] | None, tokens: int | None
) -> None:
    payload: dict[str, Any] = {"object": "list", "model": "m", "data": [{"index": 0, "embedding": [0.1, 0.2]}]}
    if told:
        payload["usage"] = told

    row, _ = await row_of(
        tmp_path, answer(payload), "/v1/embeddings", {"input": "aluguel"}, capabilities=["embeddings"]
    )

    assert lanes(row) == {"embedding": tokens or row.embedding}
    assert (row.cost_nano_usd, row.estimated) == (row.embedding * 23_000, tokens is None)
    assert row.embedding > 0


async def test_a_reranker_s_tokens_are_a_lane(tmp_path: Path) -> None:
    payload = {"results": [{"index": 0, "relevance_score": 0.9}], "usage": {"total_tokens": 12}}
    body = {"query": "aluguel", "documents": ["um contrato"]}

    row, _ = await row_of(tmp_path, answer(payload), "/v1/rerank", body, capabilities=["rerank"])

    assert lanes(row) == {"rerank": 12}
    assert row.cost_nano_usd == 12 * 29_000


@pytest.mark.parametrize("states", [True, False])
async def test_searches_are_counted_and_priced_by_the_thousand(tmp_path: Path, states: bool) -> None:
    meta = {"meta": {"billed_units": {"search_units": 2}}} if states else {}
    payload = {"results": [{"index": 0, "relevance_score": 0.9}], **meta}
    price = {**PRICE, "per_million": {"input": 0, "output": 0}, "per_thousand_searches": 2}
    body = {"query": "aluguel", "documents": ["um contrato"] * 150}

    row, _ = await row_of(tmp_path, answer(payload), "/v1/rerank", body, capabilities=["rerank"], price=price)

    assert (row.searches, row.cost_nano_usd, row.estimated) == (2, 2 * 2_000_000, not states)


@pytest.mark.parametrize("streams", [False, True])
async def test_the_service_tier_that_served_is_the_one_that_is_paid(tmp_path: Path, streams: bool) -> None:
    price = {
        **PRICE, "per_million": {"input": 2, "output": 8}, "service_tiers": {"flex": {"factor": "0.5"}},
    }  # fmt: skip
    usage = {"prompt_tokens": 10, "completion_tokens": 10}
    chunk = {"choices": [], "usage": usage, "service_tier": "flex"}
    script = (
        stream(delta("Olá"), finish(), b"data: " + json.dumps(chunk).encode() + b"\n\n")
        if streams
        else answer(completion(usage=usage, service_tier="flex"))
    )
    body = {"messages": [{"role": "user", "content": "oi"}], "stream": streams}

    row, _ = await row_of(tmp_path, script, "/v1/chat/completions", body, price=price)

    assert (row.service_tier, row.cost_nano_usd) == ("flex", (10 * 2000 + 10 * 8000) // 2)
