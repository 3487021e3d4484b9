"""On whose account a request goes, what a budget does to it, and what it is weighed against, through the gateway."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from gateway.db import attempts, decisions, keys
from gateway.db.keys import KeySpec
from tests.gateway.house import ADMIN_KEY, deployment, house
from tests.wire.upstream import answer, completion, delta, fake_upstream, finish, stream
from tests.wire.valkey import valkey

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.db.attempts import AttemptRow
    from tests.gateway.house import House

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
WHOLE = answer(completion(usage=USAGE), ending="keep")
STREAM = stream(
    delta("Olá"), finish(), b'data: {"choices":[],"usage":' + json.dumps(USAGE).encode() + b"}\n\n", b"data: [DONE]\n\n"
)
BOUNDED = {"budgets": [{"name": "house", "of": "house", "limit": {"usd": 10}, "per": "month"}]}


async def ask(
    home: House, *, key: str = ADMIN_KEY, stream: bool = False, headers: dict[str, str] | None = None, **more: Any
) -> tuple[int, dict[str, str], bytes]:
    body = {"model": "m", "messages": [{"role": "user", "content": "oi"}], "stream": stream, **more}
    sent = {"authorization": f"Bearer {key}", **(headers or {})}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{home.url}/v1/chat/completions", json=body, headers=sent) as response,
    ):
        content = await response.read()
        return response.status, {name.lower(): value for name, value in response.headers.items()}, content


async def rows(home: House) -> list[AttemptRow]:
    decided = [record.id for record in await decisions.recent(home.runtime.engine)]
    found = await attempts.of_decisions(home.runtime.engine, decided)
    return [row for listed in found.values() for row in listed]


async def test_a_row_says_whose_it_is_and_what_for(tmp_path: Path) -> None:
    async with (
        fake_upstream(WHOLE) as up,
        house(tmp_path, [deployment("m", up.url)], budgets={"tags": ["homework"]}) as home,
    ):
        key = await keys.create(home.runtime.engine, KeySpec("ana-phone", ("children",), person="ana"))
        status, _, _ = await ask(home, key=key, headers={"soleira-tag": "homework"})
        (row,) = await rows(home)

    assert status == 200
    assert (row.principal, row.person, row.tag, row.label) == ("ana-phone", "ana", "homework", "internal")
    assert (row.price_origin, row.price_as_of, row.per_usd) == ("deployment", "2026-11-01", None)
    assert row.bearer == "principal"


async def test_a_tag_that_the_pack_does_not_name_is_refused_and_not_repeated(tmp_path: Path) -> None:
    async with fake_upstream(WHOLE) as up, house(tmp_path, [deployment("m", up.url)]) as home:
        status, _, content = await ask(home, headers={"soleira-tag": "segredo-da-ana"})

    assert status == 400
    assert b"soleira-tag" in content
    assert b"segredo" not in content
    assert up.requests == []


@pytest.mark.parametrize("path", ["chat/completions", "completions", "responses", "messages", "embeddings", "rerank"])
async def test_a_reader_calls_no_model(tmp_path: Path, path: str) -> None:
    async with fake_upstream(WHOLE) as up, house(tmp_path, [deployment("m", up.url)]) as home:
        key = await keys.create(home.runtime.engine, KeySpec("accountant", role="reader"))
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{home.url}/v1/{path}", data=b"{}", headers={"authorization": f"Bearer {key}"}) as response,
        ):
            status = response.status

    assert status == 403
    assert up.requests == []


@pytest.mark.parametrize("stream", [False, True])
async def test_under_a_budget_an_answer_without_a_limit_gets_one(tmp_path: Path, stream: bool) -> None:
    script = STREAM if stream else WHOLE
    async with fake_upstream(script) as up, house(tmp_path, [deployment("m", up.url)], budgets=BOUNDED) as home:
        _, headers, _ = await ask(home, stream=stream)
        _, stated, _ = await ask(home, stream=stream, max_tokens=7)
        (first, second) = (json.loads(request.body) for request in up.requests)

    assert (headers["soleira-max-output"], first["max_completion_tokens"]) == ("4096", 4096)
    assert "soleira-max-output" not in stated
    assert (second["max_tokens"], "max_completion_tokens" in second) == (7, False)


async def test_without_a_budget_nothing_is_added(tmp_path: Path) -> None:
    async with fake_upstream(WHOLE) as up, house(tmp_path, [deployment("m", up.url)]) as home:
        _, headers, _ = await ask(home)

    assert "max_completion_tokens" not in json.loads(up.requests[0].body)
    assert "soleira-max-output" not in headers


@pytest.mark.parametrize("stream", [False, True])
async def test_an_exhausted_budget_says_what_is_spent_held_and_allowed(tmp_path: Path, stream: bool) -> None:
    narrow = {"budgets": [{"name": "pocket money", "of": {"key": "admin"}, "limit": {"usd": "0.0001"}, "per": "day"}]}
    async with fake_upstream(WHOLE) as up, house(tmp_path, [deployment("m", up.url)], budgets=narrow) as home:
        status, headers, content = await ask(home, stream=stream, max_tokens=50)

    error = json.loads(content)["error"]
    assert (status, error["code"], error["type"]) == (429, "budget_exceeded", "insufficient_quota")
    assert "'pocket money'" in error["message"]
    assert "0 USD spent and 0 USD held of 0.0001 USD" in error["message"]
    assert int(headers["retry-after"]) > 0
    assert headers["x-should-retry"] == "false"
    assert up.requests == []


async def test_a_failed_attempt_is_the_house_s_and_the_answer_the_caller_s(tmp_path: Path) -> None:
    cut = stream(delta("Ol"))
    listed = [deployment("one", "", model="m"), deployment("two", "", model="m")]
    async with fake_upstream(cut) as broken, fake_upstream(STREAM) as fine:
        listed = [{**listed[0], "base_url": broken.url}, {**listed[1], "base_url": fine.url}]
        async with house(tmp_path, listed) as home:
            await ask(home, stream=True)
            ends = {row.deployment: (row.outcome, row.bearer, row.cost_nano_usd or 0) for row in await rows(home)}

    assert ends["one"][:2] == ("failed", "house")
    assert ends["one"][2] > 0, "what went by is paid, whoever bears it"


async def test_each_row_knows_what_the_same_would_have_cost_elsewhere(tmp_path: Path) -> None:
    dear = {"currency": "USD", "per_million": {"input": 6, "output": 30}, "source": "test", "as_of": "2026-11-01"}
    async with fake_upstream(WHOLE) as up:
        listed = [deployment("cheap", up.url, model="m"), deployment("dear", up.url, model="m", price=dear, grade=5)]
        async with house(tmp_path, listed) as home:
            await ask(home)
            (row,) = await rows(home)

    assert row.deployment == "cheap"
    assert row.cost_nano_usd == 100 * 3000 + 10 * 15000
    assert json.loads(row.elsewhere or "{}") == {"dear": 100 * 6000 + 10 * 30000}
    assert row.routing_nano_usd == row.cost_nano_usd
    assert row.privacy_nano_usd == 0


async def test_what_privacy_cost_is_the_difference_to_what_the_label_withheld(tmp_path: Path) -> None:
    home_price = {
        "currency": "USD",
        "per_million": {"input": 4, "output": 20},
        "source": "energy",
        "as_of": "2026-11-01",
    }
    async with fake_upstream(WHOLE) as up:
        listed = [
            deployment("far", up.url, model="m"),
            deployment("near", up.url, model="m", zone="device", price=home_price),
        ]
        async with house(tmp_path, listed) as home:
            await ask(home, model="auto", headers={"soleira-label": "private"})
            (row,) = await rows(home)

    assert row.deployment == "near"
    assert row.privacy_nano_usd == (100 * 4000 + 10 * 20000) - (100 * 3000 + 10 * 15000)


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_that_is_kept_is_given_again_for_nothing(tmp_path: Path, stream: bool) -> None:
    script = STREAM if stream else WHOLE
    socket = tmp_path / "valkey.sock"
    async with (
        valkey(socket),
        fake_upstream(script) as up,
        house(
            tmp_path / "data", [deployment("m", up.url)], budgets={"cache": {"seconds": 60}}, store=f"unix://{socket}"
        ) as home,
    ):
        first = await ask(home, stream=stream)
        again = await ask(home, stream=stream)
        other = await ask(home, stream=stream, temperature=0.5)
        fresh = await ask(home, stream=stream, headers={"cache-control": "no-cache"})
        kept = [row for row in await rows(home) if row.from_cache]

    assert len(up.requests) == 3
    assert (again[1].get("soleira-cache"), first[1].get("soleira-cache")) == ("hit", None)
    assert [other[1].get("soleira-cache"), fresh[1].get("soleira-cache")] == [None, None]
    assert _said(again[2]) == _said(first[2])
    assert [(row.cost_nano_usd, row.saved_nano_usd, row.held_nano_usd) for row in kept] == [(0, 450_000, 0)]


def _said(content: bytes) -> bytes:
    """All but the closing comment, which tells of each answer by itself."""
    return b"\n".join(line for line in content.splitlines() if not line.startswith(b":"))


async def test_another_key_never_gets_what_was_kept(tmp_path: Path) -> None:
    socket = tmp_path / "valkey.sock"
    async with (
        valkey(socket),
        fake_upstream(WHOLE) as up,
        house(
            tmp_path / "data", [deployment("m", up.url)], budgets={"cache": {"seconds": 60}}, store=f"unix://{socket}"
        ) as home,
    ):
        key = await keys.create(home.runtime.engine, KeySpec("rui"))
        await ask(home)
        await ask(home, key=key)

    assert len(up.requests) == 2


@pytest.mark.parametrize("stream", [False, True])
async def test_a_limit_is_told_and_held(tmp_path: Path, stream: bool) -> None:
    script = STREAM if stream else WHOLE
    limits = {"limits": [{"of": {"key": "any"}, "requests": "2/minute", "tokens": "100000/minute"}]}
    socket = tmp_path / "valkey.sock"
    async with (
        valkey(socket),
        fake_upstream(script) as up,
        house(tmp_path / "data", [deployment("m", up.url)], budgets=limits, store=f"unix://{socket}") as home,
    ):
        answers = [await ask(home, stream=stream, max_tokens=20) for _ in range(3)]

    assert [status for status, _, _ in answers] == [200, 200, 429]
    assert [headers["x-ratelimit-remaining-requests"] for _, headers, _ in answers] == ["1", "0", "0"]
    assert json.loads(answers[2][2])["error"]["code"] == "rate_limit_exceeded"
    assert 0 < int(answers[2][1]["retry-after"]) <= 61
    assert len(up.requests) == 2


async def test_a_request_that_the_policy_refuses_uses_no_tokens_of_a_limit(tmp_path: Path) -> None:
    # What is not used is given back once the answer is out: the next request may come before that, not the one after.
    limits = {"limits": [{"of": {"key": "any"}, "tokens": "10000/minute"}]}
    socket = tmp_path / "valkey.sock"
    async with (
        valkey(socket),
        fake_upstream(WHOLE) as up,
        house(tmp_path / "data", [deployment("m", up.url)], budgets=limits, store=f"unix://{socket}") as home,
    ):
        refused = [await ask(home, max_tokens=4000, headers={"soleira-label": "secret"}) for _ in range(5)]
        answered = await ask(home, max_tokens=4000)

    assert [status for status, _, _ in refused] == [403] * 5
    assert answered[0] == 200
