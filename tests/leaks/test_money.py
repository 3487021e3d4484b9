"""Attempts to spend without being counted, to pass a budget, and to get figures or answers that are another's."""

from __future__ import annotations

import asyncio
import csv
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import aiohttp
import pytest
from redis.asyncio import Redis

from gateway.alerts.mail import Letter
from gateway.chat import request
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
EVERYTHING = ["chat", "tools", "completions", "responses", "messages", "embeddings", "rerank"]
LONG = "data:" + "word " * 3000
PICTURE = {"type": "image_url"}
TOOL = {"type": "function", "function": {"name": "look", "description": LONG, "parameters": {}}}
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


async def post(home: House, path: str, body: dict[str, Any], key: str = ADMIN_KEY) -> int:
    sent = {"authorization": f"Bearer {key}"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{home.url}{path}", json=body, headers=sent) as response,
    ):
        await response.read()
    return response.status


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


@pytest.mark.parametrize(
    ("path", "body", "least"),
    [
        ("chat/completions", {"messages": [{"role": "user", "content": LONG}], "max_tokens": 9}, 5000),
        ("chat/completions", {"messages": [{"role": "system", "content": [{"type": "text", "text": LONG}]}]}, 5000),
        ("chat/completions", {"messages": [], "max_completion_tokens": 1, "max_tokens": 9000}, 9000),
        ("chat/completions", {"messages": [], "max_tokens": 9, "tools": [TOOL]}, 5000),
        ("chat/completions", {"messages": [], "max_tokens": 100, "n": 2, "best_of": 20}, 2000),
        ("completions", {"prompt": "hi", "max_tokens": 100, "best_of": 20}, 2000),
        ("completions", {"prompt": ["hi"] * 100, "max_tokens": 100, "n": 2}, 20_000),
        ("completions", {"prompt": [list(range(5000))], "max_tokens": 9}, 5000),
        ("completions", {"prompt": list(range(5000)), "max_tokens": 9}, 5000),
        ("completions", {"prompt": [[1, 2]] * 100, "max_tokens": 100}, 10_000),
        ("completions", {"prompt": "hi", "suffix": LONG, "max_tokens": 9}, 5000),
        ("completions", {"prompt": "hi", "max_tokens": 9000, "max_completion_tokens": 1}, 9000),
        ("messages", {"messages": [{"role": "user", "content": LONG}], "max_tokens": 9}, 5000),
        ("responses", {"input": LONG, "max_output_tokens": 16}, 5000),
        ("embeddings", {"input": LONG}, 5000),
        ("embeddings", {"input": [list(range(5000))]}, 5000),
        ("rerank", {"query": "q", "documents": [LONG]}, 5000),
    ],
    ids=lambda part: str(part)[:50],
)
async def test_nothing_is_held_for_less_than_it_may_use(
    tmp_path: Path, path: str, body: dict[str, Any], least: int
) -> None:
    if body.get("messages") == []:
        body = {**body, "messages": [{"role": "user", "content": "hi"}]}
    async with (
        fake_upstream(WHOLE) as up,
        house(
            tmp_path, [deployment("m", up.url, zone="device", capabilities=EVERYTHING)], budgets=budget("house", "1000")
        ) as home,
    ):
        await post(home, f"/v1/{path}", {"model": "m", **body})
        (row,) = await rows(home)

    assert row.held_tokens >= least
    assert row.held_nano_usd >= least * 3000


@pytest.mark.parametrize("url", ["https://example.org/a.png", "data:image/png;base64,AAAA"])
def test_a_picture_is_held_for_as_one_wherever_it_lies(url: str) -> None:
    said = [{"role": "user", "content": [{**PICTURE, "image_url": {"url": url}}]}]

    asked = request.read(json.dumps({"model": "m", "messages": said}).encode())

    assert 1000 <= asked.prompt_tokens <= 2000


async def test_an_answer_by_a_dearer_model_passes_no_budget(tmp_path: Path) -> None:
    dear = {**FREE, "per_million": {"input": 30, "output": 150}}
    async with (
        fake_upstream(answer(completion(usage=USAGE, model="another"), ending="keep")) as up,
        house(
            tmp_path, [deployment("m", up.url, price=FREE, replies={"price": dear})], budgets=budget("house")
        ) as home,
    ):
        status, _ = await ask(home)

    assert status == 429
    assert up.requests == []


async def test_what_the_other_model_has_no_price_for_costs_what_was_held(tmp_path: Path) -> None:
    searched = {**FREE, "per_million": {"input": 1, "output": 1}, "per_thousand_searches": 2}
    unsearched = {**FREE, "per_million": {"input": 1, "output": 1}}
    ranked = {
        "model": "another",
        "results": [{"index": 0, "relevance_score": 0.5}],
        "meta": {"billed_units": {"search_units": 1}},
    }
    listed = [{"price": searched, "replies": {"price": unsearched}, "capabilities": ["rerank"]}]
    async with (
        fake_upstream(answer(ranked, ending="keep")) as up,
        house(tmp_path, [deployment("m", up.url, **listed[0])], budgets=budget("house", "1")) as home,
    ):
        status = await post(home, "/v1/rerank", {"model": "m", "query": "q", "documents": ["a"]})
        (row,) = await rows(home)

    assert status == 200
    assert (row.state, row.cost_nano_usd) == ("settled", row.held_nano_usd)
    assert row.held_nano_usd >= 2_000_000


async def test_a_count_that_no_sum_could_hold_is_not_believed(tmp_path: Path) -> None:
    dear = {**FREE, "per_million": {"input": 999_999_999, "output": 999_999_999}}
    usage = {"prompt_tokens": 2**31, "completion_tokens": 2**31}
    async with (
        fake_upstream(answer(completion(usage=usage), ending="keep")) as up,
        house(tmp_path, [deployment("m", up.url, price=dear)], budgets=budget("house", "1", hard=False)) as home,
    ):
        status, _ = await ask(home)
        (row,) = await rows(home)

    assert status == 200
    assert (row.state, row.estimated, row.cost_nano_usd) == ("settled", True, row.held_nano_usd)


async def test_limits_keep_no_word_of_a_request_in_the_store(tmp_path: Path) -> None:
    socket = tmp_path / "valkey.sock"
    limits = [{"of": {kind: "any"}, "requests": "9/minute", "concurrency": 9} for kind in ("tag", "collection", "key")]
    async with (
        valkey(socket),
        house(
            tmp_path / "data",
            [deployment("m", "http://127.0.0.1:9/v1")],
            budgets={"tags": ["school"], "limits": limits},
            store=f"unix://{socket}",
        ) as home,
    ):
        key = await keys.create(home.runtime.engine, KeySpec("ana"))
        statuses = [
            (await ask(home, key, {"soleira-tag": "my-illness"}))[0],
            (await ask(home, key, model="m@my-illness,papers"))[0],
        ]
        async with Redis.from_url(f"unix://{socket}") as store:
            kept = repr(await store.keys("*"))

    assert statuses == [400, 404]
    assert "ana" in kept
    assert "illness" not in kept
    assert "papers" not in kept, "who may not read a collection uses up none of its limit"


async def test_calls_that_are_left_leak_no_place_of_a_limit(tmp_path: Path) -> None:
    socket = tmp_path / "valkey.sock"
    slow = stream(*[delta("Olá ")] * 40, pause=0.05)
    async with (
        valkey(socket),
        fake_upstream(slow) as up,
        house(
            tmp_path / "data",
            [deployment("m", up.url)],
            budgets={"limits": [{"of": "house", "concurrency": 3}]},
            store=f"unix://{socket}",
        ) as home,
    ):
        await asyncio.gather(*(_leave(home) for _ in range(8)))
        async with Redis.from_url(f"unix://{socket}") as store:
            for _ in range(100):
                under_way = await store.zcard("soleira:{limits}:house:house:calls:0")
                if not under_way:
                    break
                await asyncio.sleep(0.05)

    assert under_way == 0


async def test_a_pack_reloaded_under_way_settles_what_was_held_and_refuses_the_next(tmp_path: Path) -> None:
    told = b'data: {"choices":[],"usage":' + json.dumps(USAGE).encode() + b"}\n\n"
    slow = stream(*[delta("Olá ")] * 10, finish(), told, b"data: [DONE]\n\n", pause=0.05)
    async with (
        fake_upstream(slow) as up,
        house(tmp_path, [deployment("m", up.url)], budgets=budget("house", "1")) as home,
    ):
        under_way = asyncio.create_task(ask(home, stream=True))
        while not up.requests:
            await asyncio.sleep(0.01)
        (home.runtime.settings.pack / "budgets.yaml").write_text(json.dumps(budget("house", "0.0000001")))
        await home.runtime.packs.reload()
        statuses = [(await ask(home))[0], (await under_way)[0], (await ask(home))[0]]
        (window,) = await windows.state(home.runtime.engine, home.runtime.now())

    assert statuses == [429, 200, 429]
    assert (window.held_nano_usd, window.spent_nano_usd, window.limit_nano_usd) == (0, CALL_NANO_USD, 100)


async def test_a_call_counts_in_the_window_that_it_began_in_whatever_the_clock_does(tmp_path: Path) -> None:
    moments = (datetime(2026, 12, 1, tzinfo=UTC) + n * timedelta(hours=7) for n in range(100_000))
    files = {"budgets.yaml": budget("house", "1")}
    async with (
        fake_upstream(WHOLE) as up,
        dashboard_site(tmp_path, [deployment("m", up.url)], files=files, now=lambda: next(moments)) as home,
    ):
        for _ in range(12):
            await ask(home)
        found = await rows(home)
        state = await windows.state(home.runtime.engine, datetime(2026, 11, 30, tzinfo=UTC))

    assert len(found) == 12
    assert {(window.starts_at, window.spent_nano_usd) for window in state} == {
        (day, sum(row.cost_nano_usd or 0 for row in found if row.started_at.date() == day.date()))
        for day in {row.started_at.replace(hour=0, minute=0, second=0, microsecond=0) for row in found}
    }


async def test_a_tag_said_twice_is_none(tmp_path: Path) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "oi"}]}).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ADMIN_KEY}\r\nconnection: close\r\n"
        f"soleira-tag: play\r\nSoleira-Tag: school\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    narrow = {**budget({"tag": "school"}), "tags": ["school", "play"]}
    async with fake_upstream(WHOLE) as up, house(tmp_path, [deployment("m", up.url)], budgets=narrow) as home:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(home.url.rpartition(":")[2]))
        writer.write(head.encode() + body)
        told = await reader.read()
        writer.close()
        await writer.wait_closed()

    assert told.startswith(b"HTTP/1.1 400")
    assert up.requests == []


async def test_a_reader_s_key_calls_nothing_that_the_house_describes(tmp_path: Path) -> None:
    async with house(tmp_path, [deployment("m", "http://127.0.0.1:9/v1")]) as home:
        key = await keys.create(home.runtime.engine, KeySpec("books", role="reader"))
        async with aiohttp.ClientSession() as session, session.get(f"{home.url}/openapi.json") as described:
            paths = (await described.json())["paths"]
        posts = [path for path, methods in paths.items() if "post" in methods]
        statuses = {path: await post(home, path, {"model": "m"}, key) for path in posts}

    assert len(posts) >= 7
    assert set(statuses.values()) == {403}


def test_no_name_breaks_a_letter() -> None:
    letter = Letter(
        "a@b.example", ("c@d.example",), "of 'ana\u2028x\x85y'\nBcc: e@f.example", "text", datetime.now(UTC)
    )

    assert "\nbcc:" not in letter.message().as_string().lower()


@pytest.mark.parametrize("after", ["253402300799999999.x", "-1.x", f"{'9' * 5000}.x", "x", "\x00", "1.\x00"])
async def test_a_place_in_the_rows_that_is_none_fails_nothing(tmp_path: Path, after: str) -> None:
    async with dashboard_site(tmp_path, [deployment("m", "http://127.0.0.1:9/v1")]) as home, visitor(home) as reader:
        await reader.sign_in(ADMIN_KEY)
        page = await reader.get(f"/dashboard/costs/rows?{urlencode({'after': after})}")

    assert page.status in (200, 400)


async def test_no_name_is_a_formula_in_a_sheet(tmp_path: Path) -> None:
    async with fake_upstream(WHOLE) as up, dashboard_site(tmp_path, [deployment("m", up.url)]) as home:
        for name, person in (("ana", "=HYPERLINK(1)"), ("rui", "@SUM(1)"), ("eva", "\uff1d1")):
            await ask(home, await keys.create(home.runtime.engine, KeySpec(name, person=person)))
        async with visitor(home) as reader:
            await reader.sign_in(ADMIN_KEY)
            sheets = [
                (await reader.get(f"/dashboard/costs/{name}")).text for name in ("lines.csv?by=person", "rows.csv")
            ]

    cells = [cell for sheet in sheets for line in csv.reader(sheet.splitlines()) for cell in line]
    assert sum("HYPERLINK" in cell for cell in cells) == 2
    assert not [cell for cell in cells if cell[:1] in ("=", "@", "\uff1d")]


@pytest.mark.parametrize("streams", [False, True])
async def test_an_upstream_puts_no_words_of_an_answer_into_a_row(tmp_path: Path, streams: bool) -> None:
    words: dict[str, Any] = {"model": "Ana Souza has no job", "service_tier": "Ana Souza", "usage": USAGE}
    script = stream(delta("oi", **words), finish(**words)) if streams else answer(completion(**words))
    async with fake_upstream(script) as up, house(tmp_path, [deployment("m", up.url)]) as home:
        await ask(home, stream=streams)
        (row,) = await rows(home)

    assert (row.answered_model, row.service_tier, row.error_code) == ("(unreadable)", None, None)
    assert "Ana" not in repr(row)


async def test_a_hold_covers_the_dearest_lanes_of_today_s_price_and_of_a_model_that_answers_instead(
    tmp_path: Path,
) -> None:
    dear = {"input": 3, "output": 15, "cache_write_5m": 30, "reasoning": 60}
    flat = {"currency": "USD", "per_million": {"input": 3, "output": 15}, "source": "t", "as_of": "2026-11-01"}
    other = {"price": {**flat, "per_million": dear}}
    async with (
        fake_upstream(WHOLE) as up,
        house(tmp_path, [deployment("m", up.url, price=flat, replies=other)], budgets=budget("house", "10")) as home,
    ):
        await ask(home, max_tokens=1000)
        (row,) = await rows(home)

    assert row.held_nano_usd >= 1000 * 60_000
