"""The cost page over HTTP: its figures are the rows' sums, and its addresses say all that it shows."""

from __future__ import annotations

import html
import re
import sqlite3
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from gateway.dashboard.costs.coin import DOLLARS
from gateway.db import keys
from gateway.db.keys import KeySpec
from tests.gateway.dashboard import books
from tests.gateway.dashboard.books import total, within
from tests.gateway.dashboard.site import Visitor, site, visitor
from tests.gateway.house import ADMIN_KEY, deployment
from tests.wire.upstream import answer, completion, fake_upstream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.gateway.house import House

_MONTH = within("2026-11-01", "2026-11-25")
_SHOWN = within("2026-10-27", "2026-11-25")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A house whose ledger is known."""
    made = site(tmp_path, books.deployments(), rules=books.ZONES, files=books.FILES, now=lambda: books.NOW)
    async with made as running:
        await books.enter(running.runtime)
        yield running


def sums(page: str, part: str) -> list[int]:
    """The nano-dollars that a part of the page shows, in their order; a part is what has this id."""
    found = re.search(rf'id="{part}".*?(?=<section|<div id=|<footer|\Z)', page, re.DOTALL)
    assert found, f"the page has no part {part!r}"
    return [int(value) for value in re.findall(r'<data class="money" value="(-?\d+)"', found[0])]


async def test_the_big_figures_are_the_sums_of_their_rows(house: House, owner: Visitor) -> None:
    page = (await owner.get("/dashboard/costs")).text
    ledger = house.runtime.settings.ledger_path

    assert sums(page, "today")[0] == total(ledger, within("2026-11-25", "2026-11-25")) > 0
    assert sums(page, "month")[0] == total(ledger, _MONTH) > 0
    assert sums(page, "forecast")[0] > total(ledger, _MONTH)


async def test_the_table_of_the_picture_adds_up_day_by_day_and_place_by_place(house: House, owner: Visitor) -> None:
    page = (await owner.get("/dashboard/costs")).text
    ledger = house.runtime.settings.ledger_path
    rows = re.findall(r"<tr data-axis=.*?</tr>", page, re.DOTALL)
    values = [[int(value) for value in re.findall(r'value="(\d+)"', row)] for row in rows]

    assert len(values) == 30
    assert all(sum(parts) == whole for *parts, whole in values)
    assert [sum(column) for column in zip(*values, strict=True)] == [
        total(ledger, f"{_SHOWN} AND zone = '{zone}'") for zone in ("device", "cluster", "hosted")
    ] + [total(ledger, _SHOWN)]
    assert values[-2][-1] == total(ledger, within("2026-11-24", "2026-11-24"))


@pytest.mark.parametrize(
    ("by", "column", "names"),
    [
        ("person", "person", {"ana", "bruno"}),
        ("key", "principal", {"ana-laptop", "bruno-bot"}),
        ("model", "model", {"small", "kimi-k3"}),
        ("deployment", "deployment", {"desk", "our-k3", "moonshot"}),
        ("zone", "zone", {"device", "cluster", "hosted"}),
        ("tag", "tag", {"", "reports"}),
        ("label", "label", {"private", "internal"}),
        ("collection", "collections", {"papers", ""}),
    ],
)
async def test_each_line_of_a_breakdown_is_the_sum_of_its_rows(
    house: House, owner: Visitor, by: str, column: str, names: set[str]
) -> None:
    page = (await owner.get(f"/dashboard/costs?by={by}")).text
    table = page.partition('<table class="lines"')[2].partition("</table>")[0]
    lines = dict(re.findall(r'data-name="([^"]*)".*?value="(\d+)"', table, re.DOTALL))

    stored = {"papers": '["papers"]', "": "[]"} if by == "collection" else {}
    assert lines.keys() == names
    for name, nano_usd in lines.items():
        where = f"{_SHOWN} AND {column} = '{stored.get(name, name)}'"
        assert int(nano_usd) == total(house.runtime.settings.ledger_path, where)


async def test_what_caches_routing_and_privacy_come_to_is_exact(house: House, owner: Visitor) -> None:
    page = (await owner.get("/dashboard/costs")).text
    ledger = house.runtime.settings.ledger_path

    saved, routing, privacy = sums(page, "saved-title")[:3]
    assert saved == total(ledger, _SHOWN, "saved_nano_usd") > 0
    assert routing == total(ledger, _SHOWN, "routing_nano_usd") > 0
    assert privacy == total(ledger, _SHOWN, "privacy_nano_usd") > 0


async def test_own_machines_stand_apart_used_and_idle(house: House, owner: Visitor) -> None:
    page = (await owner.get("/dashboard/costs")).text
    sheet = (await owner.get("/dashboard/costs/machines.csv")).text.splitlines()

    capital, rent, energy, staff, whole, used, idle = sums(page, "machines")
    hours = 24 * 24 + 15  # from the 1st at midnight to the last whole half hour of the 25th
    assert (capital, energy, staff) == (0, 0, 0)
    assert whole == rent == hours * 110_000_000 == used + idle
    assert idle > used > 0
    assert sheet[0] == "Machine,Capital (USD),Rent (USD),Energy (USD),Staff (USD),Total (USD),Used (USD),Idle (USD)"
    assert sheet[1].startswith("k3-node,0,")


async def test_money_is_the_owner_s_and_written_as_the_language_does(owner: Visitor) -> None:
    portuguese = (await owner.get("/dashboard/costs?lang=pt")).text
    english = (await owner.get("/dashboard/costs?lang=en")).text
    dollars = (await owner.get("/dashboard/costs?lang=pt&currency=USD")).text

    assert re.search(r">R\$\u00a0\d{1,3},\d\d<", portuguese)
    assert "27/10/2026" in portuguese
    assert "5,40 por dólar, taxa do dono de 20/11/2026" in portuguese
    assert re.search(r">R\$\d{1,3}\.\d\d<", english)
    assert "27 Oct 2026" in english
    assert re.search(r">US\$\u00a0\d{1,3},\d\d<", dollars)
    assert ">R$" not in dollars.partition("</nav>")[2]


async def test_what_needs_a_look_is_told_with_the_way_to_it(owner: Visitor) -> None:
    page = (await owner.get("/dashboard/costs")).text
    looks = page.partition('id="look"')[2]

    assert "1 call is charged at an estimate" in looks
    assert "flag=estimated" in looks
    assert "1 call failed" in looks
    assert "moonshot: the price was looked up on 15 Jan 2026" in looks
    rows = await owner.get("/dashboard/costs/rows?from=2026-10-27&to=2026-11-25&flag=estimated")
    assert rows.text.count("data-attempt=") == 1


async def test_every_number_leads_to_rows_that_come_to_it(house: House, owner: Visitor) -> None:
    page = (await owner.get("/dashboard/costs?by=deployment")).text
    links = dict.fromkeys(
        re.findall(r'<a class="sum" href="(/dashboard/costs/rows[^"]+)"><data class="money" value="(\d+)"', page)
    )

    checked = 0
    for written, value in links:
        href = html.unescape(written)
        asked = parse_qs(urlsplit(href).query)
        if "deployment" not in asked and "zone" not in asked:
            continue
        rows = (await owner.get(href.replace("/rows?", "/rows.csv?"))).text.splitlines()
        cost = rows[0].split(",").index("cost_usd")
        costs = [row.split(",")[cost] for row in rows[1:]]
        assert sum(round(float(each) * 1_000_000_000) for each in costs if each) == int(value)
        checked += 1
    assert checked > 30


@pytest.mark.parametrize("amount", ["saved", "routing", "privacy"])
async def test_what_stands_beside_the_cost_leads_to_the_calls_that_come_to_it(
    house: House, owner: Visitor, amount: str
) -> None:
    page = (await owner.get("/dashboard/costs")).text
    tiles = page[page.index('id="saved-title"') :]
    link = re.search(rf'href="([^"]+flag={amount})"><data class="money" value="(\d+)"', tiles)

    assert link
    path, seen = html.unescape(link[1]), []
    while path:
        rows = (await owner.get(path)).text
        seen += [int(value) for value in re.findall(r'class="amount" value="(-?\d+)"', rows)]
        assert sums(rows, "rows-sum")[0] == int(link[2])
        older = re.search(r'<a href="([^"]+)" rel="next"', rows)
        path = html.unescape(older[1]) if older else ""
    ledger = house.runtime.settings.ledger_path
    assert len(seen) == total(ledger, f"{_SHOWN} AND {amount}_nano_usd != 0", "1")
    assert 0 not in seen
    assert sum(seen) == int(link[2]) == total(ledger, _SHOWN, f"{amount}_nano_usd")


@pytest.mark.parametrize(
    ("flag", "told"), [("estimated", ": 1 call</p>"), ("failed", ": 1 call</p>"), ("from_cache", ": 0 calls</p>")]
)
async def test_rows_of_a_kind_say_how_many_they_are(owner: Visitor, flag: str, told: str) -> None:
    rows = (await owner.get(f"/dashboard/costs/rows?from=2026-10-27&to=2026-11-25&flag={flag}")).text

    assert told in rows.replace("\n    ", "")


async def test_a_machine_leads_to_the_calls_that_kept_it_busy(owner: Visitor) -> None:
    page = (await owner.get("/dashboard/costs")).text
    machines = page[page.index('id="machines"') : page.index('id="budgets"')]
    link = re.search(r'<a class="quietly soft" href="([^"]+)">our-k3</a>', machines)

    assert link
    rows = (await owner.get(html.unescape(link[1]))).text
    assert {"our-k3"} == set(re.findall(r"</svg> (\S+)</td>", rows))


async def test_before_the_first_call_the_page_says_so_and_shows_no_figures_of_nothing(tmp_path: Path) -> None:
    now = books.NOW
    async with (
        site(tmp_path, [deployment("m", "http://127.0.0.1:9")], now=lambda: now) as empty,
        visitor(empty) as owner,
    ):
        await owner.sign_in()
        page = (await owner.get("/dashboard/costs?lang=en")).text
        rows = (await owner.get("/dashboard/costs/rows?lang=en")).text
        sheet = await owner.get("/dashboard/costs/days.csv")
        statement = await owner.get("/dashboard/costs/statement")

    assert "Nothing was spent in these days." in page
    assert "nothing yesterday by this time" in page
    assert "How November will end" in page
    assert "No budget is set" in page
    assert "saved-title" not in page
    assert "No call matches." in rows
    assert (sheet.status, statement.status) == (200, 200)


async def test_one_call_is_one_call(tmp_path: Path) -> None:
    async with site(tmp_path, [deployment("moonshot", "http://127.0.0.1:9")], now=lambda: books.NOW) as running:
        await books.enter_one(running.runtime)
        async with visitor(running) as owner:
            await owner.sign_in()
            page = (await owner.get("/dashboard/costs?lang=en")).text
            rows = (await owner.get("/dashboard/costs/rows?lang=pt")).text

    assert sums(page, "today")[0] == 12_345
    assert "<$0.0001" in html.unescape(page).replace("\u202f", "")
    assert "1 chamada <data" in " ".join(rows.split())
    assert "1 chamadas" not in rows


async def test_rows_say_how_a_call_went_and_nothing_of_what_was_said(owner: Visitor) -> None:
    rows = (await owner.get("/dashboard/costs/rows?from=2026-11-25&to=2026-11-25")).text
    request = (await owner.get("/dashboard/costs/requests/dec_0001")).text

    assert rows.count("data-attempt=") == 4
    assert "under way" in rows
    assert "borne by the house" in rows
    assert "Read from cache" in request
    assert "1,200" in request
    assert (await owner.get("/dashboard/costs/requests/dec_none")).status == 404


async def test_older_rows_follow_without_a_gap(owner: Visitor) -> None:
    seen: list[str] = []
    path: str | None = "/dashboard/costs/rows?from=2026-10-01&to=2026-11-25"
    while path:
        page = (await owner.get(path)).text
        seen += re.findall(r'data-attempt="([^"]+)"', page)
        older = re.search(r'<a href="([^"]+)" rel="next"', page)
        path = older[1].replace("&amp;", "&") if older else None

    assert len(seen) == len(set(seen)) == len(list(books.entries())) + 1


async def test_a_comparison_stands_beside_with_the_sums_of_the_days_before(house: House, owner: Visitor) -> None:
    page = (await owner.get("/dashboard/costs?compare=1")).text
    footer = re.search(r"<tfoot>.*?</tfoot>", page, re.DOTALL)

    assert footer
    before = int(re.findall(r'value="(\d+)"', footer[0])[-1])
    assert before == total(house.runtime.settings.ledger_path, within("2026-09-27", "2026-10-26"))


@pytest.mark.parametrize(
    "query",
    ["range=7d", "range=last-month&by=model", "from=2026-11-01&to=2026-11-10&compare=1&person=ana", "zone=device"],
)
async def test_an_address_holds_all_of_the_view(owner: Visitor, query: str) -> None:
    page = (await owner.get(f"/dashboard/costs?{query}")).text
    hrefs = [href.replace("&amp;", "&") for href in re.findall(r'href="(/dashboard/costs\?[^"#]*)', page)]
    csv = re.search(r'href="(/dashboard/costs/days\.csv[^"]*)"', page)

    assert csv
    assert parse_qs(urlsplit(csv[1].replace("&amp;", "&")).query) == parse_qs(query)
    assert {(await owner.get(href)).status for href in dict.fromkeys(hrefs)} == {200}


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("range=fortnight", "use one of 7d, 30d"),
        ("by=modle", "did you mean &#39;model&#39;?"),
        ("from=2026-13-01", "write it as 2026-11-28 or 28/11/2026"),
        ("from=2026-11-02&to=2026-11-01", "exchange them"),
        ("from=2016-01-01&to=2026-01-01", "choose fewer days"),
    ],
)
async def test_an_address_that_makes_no_sense_says_what_would(owner: Visitor, query: str, told: str) -> None:
    answer = await owner.get(f"/dashboard/costs?{query}")

    assert answer.status == 400
    assert told in answer.text


async def test_days_may_be_written_as_in_brazil(owner: Visitor) -> None:
    page = await owner.get("/dashboard/costs?from=01/11/2026&to=10/11/2026")

    assert page.status == 200
    assert page.text.count("<tr data-axis=") == 10


async def test_csv_has_every_digit_and_opens_in_brazil(house: House, owner: Visitor) -> None:
    english = (await owner.get("/dashboard/costs/days.csv?range=7d&lang=en")).text
    portuguese = (await owner.get("/dashboard/costs/lines.csv?range=7d&lang=pt")).text
    ledger = house.runtime.settings.ledger_path

    last = english.splitlines()[-1].split(",")
    assert last[:2] == ["2026-11-25", "2026-11-25"]
    assert round(float(last[-2]) * 1_000_000_000) == total(ledger, within("2026-11-25", "2026-11-25"))
    assert portuguese.startswith("\ufeffPessoa;Total (USD);Total (BRL);")
    cost = f"{total(ledger, within('2026-11-19', '2026-11-25') + ' AND person = ' + repr('bruno')):010}"
    assert f"bruno;{int(cost[:-9])},{cost[-9:].rstrip('0')};" in portuguese


async def test_the_statement_s_parts_come_to_its_total(house: House, owner: Visitor) -> None:
    page = (await owner.get("/dashboard/costs/statement?month=2026-11&lang=en")).text
    ledger = house.runtime.settings.ledger_path

    whole, charged, borne, surcharges = sums(page, "statement-total")[:4]
    assert whole == total(ledger, within("2026-11-01", "2026-11-30")) == charged + borne
    assert borne == 30
    assert surcharges == 0
    used, idle = sums(page, "machines-title")[-2:]
    assert used + idle == sums(page, "machines-title")[-3] == (24 * 24 + 15) * 110_000_000
    assert "Statement for November 2026" in page
    assert "The month has not ended." in page
    for month in ("2026-23", "9999-12", "0001-01"):
        assert (await owner.get(f"/dashboard/costs/statement?month={month}")).status == 400


async def test_a_reader_sees_figures_and_nothing_else(house: House) -> None:
    key = await keys.create(house.runtime.engine, KeySpec(name="books", role="reader"))
    async with visitor(house) as reader:
        signed = await reader.sign_in(key)
        assert signed.headers["location"] == "/dashboard/costs"
        page = await reader.get("/dashboard/costs")
        assert page.status == 200
        assert 'href="/dashboard"' not in page.text.partition("</header>")[0].partition("<nav")[2]

        front = await reader.get("/dashboard")
        assert (front.status, front.headers["location"]) == (303, "/dashboard/costs")
        asked = await reader.post("/dashboard/ask", {"token": page.token, "question": "Olá?"})
        assert asked.status == 401
        for path in ("/dashboard/ledger", "/dashboard/collections", "/dashboard/decisions/dec_0001"):
            assert (await reader.get(path)).status == 303

        await keys.revoke(house.runtime.engine, "books")
        assert (await reader.get("/dashboard/costs")).headers["location"] == "/dashboard/login"


async def test_a_caller_s_key_opens_no_page(house: House) -> None:
    key = await keys.create(house.runtime.engine, KeySpec(name="phone"))
    async with visitor(house) as caller:
        assert (await caller.sign_in(key)).status == 401
        assert (await caller.get("/dashboard/costs")).headers["location"] == "/dashboard/login"


async def test_names_from_the_ledger_are_text(house: House, owner: Visitor) -> None:
    page = await owner.get("/dashboard/costs?person=%3Cscript%3Ealert(1)%3C/script%3E")

    assert page.status == 200
    assert "<script>alert" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]


async def test_a_budget_shows_what_is_spent_and_leads_to_the_calls_that_it_counts(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    limited = {
        "budgets": [
            {"name": "each key", "of": {"key": "any"}, "limit": {"usd": "0.02"}, "per": "month"},
            {"name": "children", "of": {"group": "children"}, "limit": {"usd": 1}, "per": "day"},
        ]
    }
    async with fake_upstream(answer(completion(usage=usage), ending="keep")) as up:
        made = site(tmp_path, [deployment("m", up.url)], files={"budgets.yaml": limited})
        async with made as running, visitor(running) as owner:
            ana = await keys.create(running.runtime.engine, KeySpec("ana", ("children",)))
            for key in (ana, ana, ADMIN_KEY):
                async with running.client(key) as client:
                    await client.chat.completions.create(
                        model="m", messages=[{"role": "user", "content": "oi"}], max_tokens=100
                    )
            await owner.sign_in()
            page = (await owner.get("/dashboard/costs")).text
            budgets = page[page.index('id="budgets"') :]
            links = [html.unescape(found) for found in re.findall(r'class="quietly" href="([^"]+rows[^"]*)"', budgets)]
            sums = [(await owner.get(link)).text for link in links]

    # Each of the three calls cost 1000 x 3000 + 100 x 15000 nano-dollars.
    assert "$0.0090 spent of $0.02" in html.unescape(budgets)
    assert [parse_qs(urlsplit(link).query).get("key") for link in links] == [["ana"], ["admin"]]
    assert '<span class="soft">children</span>' not in budgets
    assert [re.findall(r'id="rows-sum".*?value="(\d+)"', text, re.DOTALL)[0] for text in sums] == ["9000000", "4500000"]


async def test_a_budget_shows_what_is_held_beside_what_is_spent(tmp_path: Path) -> None:
    month = {"budgets": [{"name": "the house", "of": {"house": "any"}, "limit": {"usd": "0.05"}, "per": "month"}]}
    hosted = [deployment("moonshot", "http://127.0.0.1:9")]
    made = site(tmp_path, hosted, files={"budgets.yaml": month}, now=lambda: books.NOW)
    async with made as running, visitor(running) as owner:
        runtime = running.runtime
        await books.enter_one(runtime, windows=True)
        held = await books.hold_one(runtime, windows=True)
        await owner.sign_in()
        page = html.unescape((await owner.get("/dashboard/costs?lang=en")).text)
        budget = page[page.index('id="budgets"') : page.index('id="look"')]
        link = re.search(r'class="quietly" href="([^"]+)"', budget)
        assert link
        rows = (await owner.get(link[1])).text
    with sqlite3.connect(runtime.settings.ledger_path) as ledger:
        window = ledger.execute("SELECT spent_nano_usd, held_nano_usd FROM budget_windows").fetchall()

    assert window == [(12_345, held)]
    assert f"{DOLLARS.written(12_345, 'en')} spent of $0.05" in budget
    assert f"{DOLLARS.written(held, 'en')} under way" in budget
    assert f"{DOLLARS.written(50_000_000 - 12_345 - held, 'en')} left of $0.05" in budget
    assert sums(rows, "rows-sum")[0] == 12_345
    assert f"{DOLLARS.written(held, 'en')} under way" in html.unescape(rows)
