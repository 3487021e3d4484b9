"""`GET /admin/usage` and the admin socket's `/spend`: exact figures for the admin and for readers, and nobody else."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from gateway.api.admin import create_admin
from gateway.db import keys
from gateway.db.keys import KeySpec
from gateway.ledger.usage import DIMENSIONS, GROUPINGS
from policies.labels import Level, Sensitivity
from tests.db.stores import Store
from tests.gateway.house import ADMIN_KEY, RULES, House, house, make_settings, served
from tests.gateway.ledger import made_up
from tests.gateway.ledger.made_up import added_up

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

SAO_PAULO = {"time_zone": "America/Sao_Paulo"}


@asynccontextmanager
async def busy_house(tmp_path: Path) -> AsyncIterator[tuple[House, Store]]:
    """A house in São Paulo with a ledger of 120 calls."""
    settings = make_settings(tmp_path, RULES, [])
    (settings.pack / "budgets.yaml").write_text(json.dumps(SAO_PAULO))
    store = Store(settings.ledger_url, settings.ledger_path)
    await made_up.write(store, made_up.calls(5, 120))
    async with house(tmp_path) as home:
        yield home, store


async def read(url: str, key: str | None, query: str = "") -> tuple[int, dict[str, Any]]:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession() as session, session.get(f"{url}{query}", headers=headers) as answer:
        return answer.status, await answer.json()


async def a_key(home: House, name: str, role: keys.Role) -> str:
    spec = KeySpec(name=name, clearance=Sensitivity(Level.PRIVATE), role=role)
    return await keys.create(home.runtime.engine, spec)


async def test_a_reader_sees_what_the_admin_sees_and_callers_see_nothing(tmp_path: Path) -> None:
    async with busy_house(tmp_path) as (home, store):
        reader, caller = await a_key(home, "numbers", "reader"), await a_key(home, "ana", "caller")
        url = f"{home.url}/admin/usage"
        by_admin, by_reader = await read(url, ADMIN_KEY, "?group_by=key"), await read(url, reader, "?group_by=key")
        refused, nobody = await read(url, caller), await read(url, None)

    total = added_up(store.rows())["cost_nano_usd"]
    assert by_admin == by_reader
    assert (by_admin[0], next(iter(by_admin[1])), by_admin[1]["total_nano_usd"]) == (200, "total_nano_usd", total)
    assert sum(line["nano_usd"] for line in by_admin[1]["lines"]) == total
    assert (refused[0], refused[1]["error"]["code"]) == (403, "forbidden")
    assert "soleira keys create NAME --role reader" in refused[1]["error"]["message"]
    assert (nobody[0], nobody[1]["error"]["code"]) == (401, "invalid_api_key")


async def test_days_are_the_owners_and_both_ends_are_included(tmp_path: Path) -> None:
    async with busy_house(tmp_path) as (home, store):
        url = f"{home.url}/admin/usage"
        _, days = await read(url, ADMIN_KEY, "?from=2026-10-30&to=2026-10-31&group_by=day")
        _, moments = await read(url, ADMIN_KEY, "?from=2026-10-30T03:00:00Z&to=2026-11-01T00:00:00-03:00&group_by=day")

    start, end = 1_793_329_200_000_000, 1_793_502_000_000_000  # midnights in São Paulo, 3 hours behind UTC
    assert (days["from"], days["to"]) == ("2026-10-30T00:00:00-03:00", "2026-11-01T00:00:00-03:00")
    assert [line["name"] for line in days["lines"]] == ["2026-10-30", "2026-10-31"]
    assert (
        days["total_nano_usd"] == added_up(store.rows(), lambda row: start <= row["started_at"] < end)["cost_nano_usd"]
    )
    assert moments == days


async def test_empty_words_ask_for_nothing_and_filters_narrow(tmp_path: Path) -> None:
    async with busy_house(tmp_path) as (home, store):
        url = f"{home.url}/admin/usage"
        plain, empty = await read(url, ADMIN_KEY), await read(url, ADMIN_KEY, "?from=&to=&group_by=")
        _, narrow = await read(url, ADMIN_KEY, "?zone=hosted&zone=cluster&tag=")

    assert plain == empty
    assert plain[1]["lines"] == []
    among = [row for row in store.rows() if row["zone"] != "device" and not row["tag"]]
    assert narrow["total"]["attempts"] == added_up(among)["attempts"] > 0


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("group_by=modle", f"use one of {', '.join(GROUPINGS)}; did you mean 'model'?"),
        ("groupby=model", "did you mean 'group_by'?"),
        ("from=yesterday", "'yesterday' is no time: write a day (2026-11-30), a month (2026-11)"),
        ("from=2026-11-02&to=2026-11-01", "the span ends (2026-11-01) before it starts (2026-11-02)"),
        ("from=2000-01-01&to=2026-01-01&group_by=hour", "by hour this span has over 10,000 lines"),
    ],
)
async def test_what_is_not_understood_is_refused_with_what_to_write(tmp_path: Path, query: str, message: str) -> None:
    async with house(tmp_path) as home:
        status, body = await read(f"{home.url}/admin/usage", ADMIN_KEY, f"?{query}")

    assert (status, body["error"]["code"]) == (400, "invalid_request")
    assert message in body["error"]["message"]


async def test_the_document_describes_what_can_be_asked(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        _, document = await read(f"{home.url}/openapi.json", None)

    operation = document["paths"]["/admin/usage"]["get"]
    assert {parameter["name"] for parameter in operation["parameters"]} == {"from", "to", "group_by", *DIMENSIONS}


async def test_the_admin_socket_tells_the_same(tmp_path: Path) -> None:
    async with busy_house(tmp_path) as (home, _), served(create_admin(home.runtime)) as admin:
        _, usage = await read(f"{home.url}/admin/usage", ADMIN_KEY, "?group_by=collection&from=2026-10-29")
        status, spend = await read(f"{admin}/spend", None, "?group_by=collection&from=2026-10-29")
        refused, _ = await read(f"{admin}/spend", None, "?by=collection")

    assert status == 200
    assert {name: spend[name] for name in usage} == usage
    assert sum(line["nano_usd"] for line in spend["by_model"]) == usage["total_nano_usd"]
    assert refused == 400
