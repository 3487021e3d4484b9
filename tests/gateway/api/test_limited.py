"""An exhausted budget and a full limit refuse every billable route, in the words and headers of its own form."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import openai
import pytest

from gateway.db import keys
from tests.gateway.house import ADMIN_KEY, deployment, house
from tests.wire.upstream import Upstream, answer, completion, fake_upstream
from tests.wire.valkey import valkey

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from tests.gateway.house import House

EVERYTHING = ["chat", "completions", "responses", "messages", "embeddings", "rerank"]
SPENT = {"budgets": [{"name": "nothing", "of": "house", "limit": {"usd": 0}, "per": "month"}]}

FREE = {
    "/v1/messages/count_tokens": "counts, and asks no model for an answer",
}
"""Routes that take a request and cost nothing."""

BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "hello"}]},
    "/v1/completions": {"prompt": "hello"},
    "/v1/responses": {"input": "hello"},
    "/v1/messages": {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 5},
    "/v1/embeddings": {"input": "hello"},
    "/v1/rerank": {"query": "hello", "documents": ["a", "b"]},
    "/v2/rerank": {"query": "hello", "documents": ["a", "b"]},
    "/rerank": {"query": "hello", "documents": ["a", "b"]},
}


@asynccontextmanager
async def limited(folder: Path, budgets: Mapping[str, Any] | None = None) -> AsyncIterator[tuple[House, Upstream]]:
    """A house with these budgets in front of an upstream that offers everything."""
    socket = folder / "valkey.sock"
    async with (
        valkey(socket),
        fake_upstream(answer(completion())) as there,
        house(
            folder / "data",
            [deployment("m", there.url, capabilities=EVERYTHING)],
            budgets=budgets,
            store=f"unix://{socket}",
        ) as opened,
    ):
        yield opened, there


async def test_an_exhausted_budget_refuses_every_billable_route(tmp_path: Path) -> None:
    async with limited(tmp_path, SPENT) as (opened, there), aiohttp.ClientSession() as session:
        async with session.get(f"{opened.url}/openapi.json") as described:
            paths = (await described.json())["paths"]
        billable = {path for path, methods in paths.items() if "post" in methods} - FREE.keys()
        refused = {}
        for path in billable:
            for stream in (False, True):
                body = {"model": "m", **BODIES[path], **({"stream": True} if stream else {})}
                headers = {"authorization": f"Bearer {ADMIN_KEY}"}
                async with session.post(f"{opened.url}{path}", json=body, headers=headers) as told:
                    refused[path, stream] = (told.status, "retry-after" in told.headers, await told.text())

    assert billable >= {"/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings"}
    assert {key: (status, waits) for key, (status, waits, _) in refused.items()} == dict.fromkeys(refused, (429, True))
    assert all("'nothing'" in text and "spent" in text and "held" in text for _, _, text in refused.values())
    assert there.requests == []


async def test_a_key_s_own_budget_counts_for_that_key_alone(tmp_path: Path) -> None:
    async with limited(tmp_path) as (opened, _):
        engine = opened.runtime.engine
        poor = await keys.create(engine, keys.KeySpec("poor", allowance=keys.Allowance(budget_usd="0/month")))
        rich = await keys.create(engine, keys.KeySpec("rich", allowance=keys.Allowance(budget_usd="5/month")))

        with pytest.raises(openai.RateLimitError) as told:
            await say_hello(opened, poor)
        await say_hello(opened, rich)

    assert told.value.code == "budget_exceeded"
    assert told.value.type == "insufficient_quota"


async def test_limits_are_kept_and_told_in_headers_by_which_a_client_can_wait(tmp_path: Path) -> None:
    async with limited(tmp_path) as (opened, _):
        allowance = keys.Allowance(requests="2/day", tokens="100000/day")
        key = await keys.create(opened.runtime.engine, keys.KeySpec("ana", allowance=allowance))

        first = await say_hello(opened, key)
        second = await say_hello(opened, key)
        with pytest.raises(openai.RateLimitError) as told:
            await say_hello(opened, key)

    assert [each["x-ratelimit-remaining-requests"] for each in (first, second)] == ["1", "0"]
    assert first["x-ratelimit-limit-tokens"] == "100000"
    refused = told.value.response.headers
    assert told.value.code == "rate_limit_exceeded"
    assert int(refused["retry-after"]) >= 86_400
    assert (refused["x-ratelimit-limit-requests"], refused["x-ratelimit-remaining-requests"]) == ("2", "0")


async def test_a_limit_below_the_pack_s_output_caps_the_answer_and_not_the_caller(tmp_path: Path) -> None:
    async with limited(tmp_path) as (opened, there):
        key = await keys.create(opened.runtime.engine, keys.KeySpec("ana", allowance=keys.Allowance(tokens="500/day")))

        await say_hello(opened, key)

    assert 0 < json.loads(there.requests[0].body)["max_completion_tokens"] < 500


async def test_a_reader_calls_nothing(tmp_path: Path) -> None:
    async with limited(tmp_path) as (opened, there):
        key = await keys.create(opened.runtime.engine, keys.KeySpec("figures", role="reader"))

        with pytest.raises(openai.PermissionDeniedError, match="reads figures"):
            await say_hello(opened, key)

    assert there.requests == []


async def say_hello(opened: House, key: str) -> Mapping[str, str]:
    """One chat, and the headers of its answer."""
    async with opened.client(key) as client:
        said = await client.chat.completions.with_raw_response.create(
            model="m", messages=[{"role": "user", "content": "hello"}]
        )
    return said.headers
