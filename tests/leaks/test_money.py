"""Attempts to spend without being counted, to pass a budget, and to get figures or answers that are another's."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from gateway.db import attempts, decisions, keys, windows
from gateway.db.keys import Allowance, KeySpec
from tests.gateway.dashboard.site import site as dashboard_site
from tests.gateway.dashboard.site import visitor
from tests.gateway.house import ADMIN_KEY, deployment, house, passage
from tests.wire.upstream import answer, completion, delta, fake_upstream, finish, stream
from tests.wire.valkey import valkey

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.db.attempts import AttemptRow
    from tests.gateway.house import House

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
WHOLE = answer(completion(usage=USAGE), ending="keep")
CALL_NANO_USD = 100 * 3000 + 10 * 15000
FREE = {"currency": "USD", "per_million": {"input": 0, "output": 0}, "source": "ours", "as_of": "2026-11-01"}


def budget(of: Any, usd: str = "0.0001", **more: Any) -> dict[str, Any]:
    """A budget that no call fits in, unless it says otherwise."""
    return {"budgets": [{"name": "narrow", "of": of, "limit": {"usd": usd}, "per": "day", **more}], "tags": ["school"]}


async def ask(home: House, key: str = ADMIN_KEY, headers: dict[str, str] | None = None, **more: Any) -> tuple[int, Any]:
    body = {"model": "m", "messages": [{"role": "user", "content": "oi"}], "max_tokens": 50, **more}
    sent = {"authorization": f"Bearer {key}", **(headers or {})}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{home.url}/v1/chat/completions", json=body, headers=sent) as response,
    ):
        content = await response.read()
    return response.status, content if more.get("stream") else json.loads(content)


async def rows(home: House) -> list[AttemptRow]:
    decided = [record.id for record in await decisions.recent(home.runtime.engine)]
    return [row for found in (await attempts.of_decisions(home.runtime.engine, decided)).values() for row in found]


@pytest.mark.parametrize(
    ("of", "how"),
    [
        ({"model": "m"}, {"model": "nick"}),
        ({"model": "m"}, {"model": "auto"}),
        ({"zone": "hosted"}, {"model": "nick"}),
        ({"key": "admin"}, {"n": 3}),
        ({"key": "any"}, {"stream": True}),
        ({"person": "any"}, {"max_tokens": None}),
        ("house", {"max_completion_tokens": 1}),
    ],
    ids=str,
)
async def test_no_way_of_asking_passes_a_budget(tmp_path: Path, of: Any, how: dict[str, Any]) -> None:
    listed = [deployment("m", "", aliases=["nick"])]
    async with (
        fake_upstream(WHOLE) as up,
        house(tmp_path, [{**listed[0], "base_url": up.url}], budgets=budget(of, "0.00001")) as home,
    ):
        status, _ = await ask(home, **how)

    assert status == 429
    assert up.requests == []


@pytest.mark.parametrize("spelled", ["school", "School", "school ", "school,school"])
async def test_a_tag_is_one_word_of_the_pack_and_counted(tmp_path: Path, spelled: str) -> None:
    async with (
        fake_upstream(WHOLE) as up,
        house(tmp_path, [deployment("m", up.url)], budgets=budget({"tag": "school"})) as home,
    ):
        status, _ = await ask(home, headers={"Soleira-Tag": spelled})

    assert status in (400, 429)
    assert up.requests == []


async def test_a_key_made_again_goes_on_with_its_budget(tmp_path: Path) -> None:
    spec = KeySpec("ana", allowance=Allowance(budget_usd="0.001/day"))
    async with fake_upstream(WHOLE) as up, house(tmp_path, [deployment("m", up.url)]) as home:
        engine = home.runtime.engine
        first = await keys.create(engine, spec)
        statuses = [(await ask(home, first))[0]]
        await keys.revoke(engine, "ana")
        home.runtime.principals.forget()
        second = await keys.create(engine, spec)
        statuses += [(await ask(home, second))[0] for _ in range(3)]

    assert statuses == [200, 429, 429, 429]
    assert len(up.requests) == 1


async def test_what_costs_nothing_still_answers_when_money_is_used_up(tmp_path: Path) -> None:
    async with fake_upstream(WHOLE) as up:
        listed = [deployment("paid", up.url, model="m"), deployment("free", up.url, model="m", price=FREE, grade=1)]
        async with house(tmp_path, listed, budgets=budget("house")) as home:
            status, _ = await ask(home)
            found = await rows(home)

    assert status == 200
    assert [(row.deployment, row.cost_nano_usd) for row in found] == [("free", 0)]


async def test_a_soft_budget_beside_a_hard_one_does_not_soften_it(tmp_path: Path) -> None:
    both = {
        "budgets": [
            {"name": "soft", "of": "house", "limit": {"usd": "0.0001"}, "per": "day", "hard": False},
            {"name": "hard", "of": {"key": "admin"}, "limit": {"usd": "0.0001"}, "per": "day"},
        ]
    }
    async with fake_upstream(WHOLE) as up, house(tmp_path, [deployment("m", up.url)], budgets=both) as home:
        status, told = await ask(home)
        state = await windows.state(home.runtime.engine, home.runtime.now())

    assert (status, "'hard'" in told["error"]["message"]) == (429, True)
    assert [window.held_nano_usd for window in state] == [0] * len(state)
    assert up.requests == []


async def test_clients_that_leave_leak_no_hold(tmp_path: Path) -> None:
    slow = stream(*[delta("Olá ")] * 40, pause=0.05)
    async with (
        fake_upstream(slow) as up,
        house(tmp_path, [deployment("m", up.url)], budgets=budget("house", "10")) as home,
    ):
        await asyncio.gather(*(_leave(home) for _ in range(8)))
        for _ in range(100):
            if not any(row.state == "held" for row in await rows(home)):
                break
            await asyncio.sleep(0.05)
        found = await rows(home)
        state = await windows.state(home.runtime.engine, home.runtime.now())

    assert {row.outcome for row in found} == {"aborted"}
    assert sum(window.held_nano_usd for window in state) == 0
    assert sum(window.spent_nano_usd for window in state) == sum(row.cost_nano_usd or 0 for row in found) > 0


async def _leave(home: House) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "oi"}], "stream": True}
    async with aiohttp.ClientSession() as session:
        headers = {"authorization": f"Bearer {ADMIN_KEY}"}
        async with session.post(f"{home.url}/v1/chat/completions", json=body, headers=headers) as response:
            await response.content.readany()
            response.close()


@pytest.mark.parametrize("count", [-1, 2**63, 10**30, 1e300, float(2**70)])
async def test_a_hostile_count_is_no_cost_of_its_own(tmp_path: Path, count: float) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": count}
    async with (
        fake_upstream(answer(completion(usage=usage))) as up,
        house(tmp_path, [deployment("m", up.url)], budgets=budget("house", "1")) as home,
    ):
        status, _ = await ask(home)
        (row,) = await rows(home)

    assert status == 200
    assert (row.state, row.estimated) == ("settled", True)
    assert 0 < (row.cost_nano_usd or 0) <= row.held_nano_usd


@pytest.mark.parametrize("path", ["/v1/models", "/v1/soleira/decisions/dec_1", "/metrics", "/admin/usage?group_by=key"])
async def test_a_caller_s_key_reads_no_figures_of_others(tmp_path: Path, path: str) -> None:
    async with house(tmp_path, [deployment("m", "http://127.0.0.1:9/v1")]) as home:
        key = await keys.create(home.runtime.engine, KeySpec("ana"))
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{home.url}{path}", headers={"authorization": f"Bearer {key}"}) as response,
        ):
            status = response.status

    assert status == {"/v1/models": 200, "/metrics": 200}.get(path, 404 if "decisions" in path else 403)


async def test_a_reader_sees_figures_and_no_question(tmp_path: Path) -> None:
    async with dashboard_site(tmp_path, [deployment("m", "http://127.0.0.1:9/v1")]) as home:
        key = await keys.create(home.runtime.engine, KeySpec("books", role="reader"))
        async with visitor(home) as reader:
            await reader.sign_in(key)
            seen = {path: (await reader.get(path)).status for path in _PATHS}
            asked = await reader.post("/dashboard/ask", {"token": "x" * 64, "question": "oi", "model": "m"})
            await keys.revoke(home.runtime.engine, "books")
            home.runtime.principals.forget()
            after = (await reader.get("/dashboard/costs")).status

    assert seen["/dashboard/costs"] == 200
    assert all(status in (303, 401, 403, 404) for path, status in seen.items() if "costs" not in path), seen
    assert asked.status in (401, 403)
    assert after != 200


_PATHS = (
    "/dashboard", "/dashboard/ledger", "/dashboard/collections", "/dashboard/decisions/dec_1", "/dashboard/costs",
)  # fmt: skip


@pytest.mark.parametrize("streams", [False, True])
async def test_a_kept_answer_is_not_given_once_its_document_is_gone(tmp_path: Path, streams: bool) -> None:
    socket = tmp_path / "valkey.sock"
    script = stream(delta("No dia 5."), finish()) if streams else answer(completion("No dia 5.", usage=USAGE))
    async with (
        valkey(socket),
        fake_upstream(script) as up,
        house(
            tmp_path / "data",
            [deployment("m", up.url, zone="device")],
            passages=[passage("Vence no dia 5.")],
            budgets={"cache": {"seconds": 600}},
            store=f"unix://{socket}",
        ) as home,
    ):
        for _ in range(2):
            await ask(home, model="m@papers", stream=streams)
        kept = len(up.requests)
        home.retriever.passages.clear()
        _, told = await ask(home, model="m@papers", stream=streams)

    assert kept == (2 if streams else 1), "a stream that does not say what it used is not kept"
    assert b"dia 5" not in (told if isinstance(told, bytes) else json.dumps(told).encode())


async def test_names_are_never_formulas_or_statements(tmp_path: Path) -> None:
    async with fake_upstream(WHOLE) as up, house(tmp_path, [deployment("m", up.url)]) as home:
        for name in ("=cmd", "a'; DROP TABLE attempts; --", "-1+1", "\x00", "a\nb"):
            with pytest.raises(Exception, match="name"):
                await keys.create(home.runtime.engine, KeySpec(name))
        key = await keys.create(home.runtime.engine, KeySpec("rui", person="=HYPERLINK(1)"))
        await ask(home, key)
        async with (
            aiohttp.ClientSession() as session,
            session.get(
                f"{home.url}/admin/usage?group_by=person&key=rui'--", headers={"authorization": f"Bearer {ADMIN_KEY}"}
            ) as response,
        ):
            nothing = await response.json()

    assert nothing["lines"] == []
