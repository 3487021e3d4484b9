"""The page over HTTP: who gets in, what is refused, what is told."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import aiohttp
import pytest
from sqlalchemy import event

from gateway.db import decisions
from tests.gateway.dashboard.site import Retriever, Visitor, site, visitor
from tests.gateway.house import ADMIN_KEY, deployment
from tests.wire.upstream import Upstream, delta, fake_upstream, stream

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.house import House

SSE = "text/event-stream"


@pytest.mark.parametrize(
    "path", ["/dashboard", "/dashboard/ledger", "/dashboard/collections", "/dashboard/decisions/x"]
)
async def test_who_has_not_signed_in_is_led_to_the_door(stranger: Visitor, path: str) -> None:
    answer = await stranger.get(path)

    assert (answer.status, answer.headers["location"]) == (303, "/dashboard/login")


async def test_a_script_whose_session_ended_is_told_so(stranger: Visitor) -> None:
    fragment = await stranger.get("/dashboard/ledger", **{"HX-Request": "true"})
    asked = await stranger.post("/dashboard/ask", {"question": "?"})

    assert (fragment.status, fragment.headers["hx-redirect"]) == (401, "/dashboard/login")
    assert (asked.status, asked.headers["hx-redirect"]) == (401, "/dashboard/login")


async def test_the_admin_key_opens_the_page(stranger: Visitor) -> None:
    before = (await stranger.get("/dashboard/login")).token

    answer = await stranger.sign_in(f" {ADMIN_KEY}\n")

    assert (answer.status, answer.headers["location"]) == (303, "/dashboard")
    page = await stranger.get("/dashboard")
    assert page.status == 200
    assert page.token != before
    assert (await stranger.get("/dashboard/login")).status == 303


async def test_the_cookie_is_for_the_page_alone_and_for_no_script(stranger: Visitor) -> None:
    cookie = (await stranger.sign_in()).headers["set-cookie"]

    assert re.search(r"HttpOnly; Max-Age=43200; Path=/dashboard; SameSite=strict", cookie)
    assert "Secure" not in cookie


async def test_over_https_the_cookie_stays_there(stranger: Visitor) -> None:
    stranger.headers["X-Forwarded-Proto"] = "https"  # of a proxy on this machine

    assert "Secure" in (await stranger.get("/dashboard/login")).headers["set-cookie"]


@pytest.mark.parametrize("key", ["", "sk-wrong", "é\N{SNOWMAN}"])
async def test_another_key_does_not(stranger: Visitor, key: str) -> None:
    answer = await stranger.sign_in(key)

    assert answer.status == 401
    assert "This key does not open the page." in answer.text
    assert (await stranger.get("/dashboard")).status == 303


async def test_keys_cannot_be_tried_out_at_speed(stranger: Visitor) -> None:
    token = (await stranger.get("/dashboard/login")).token
    wrong = [stranger.post("/dashboard/login", {"token": token, "key": "wrong"}) for _ in range(10)]
    await asyncio.gather(*wrong)

    answer = await stranger.sign_in()

    assert (answer.status, answer.headers["retry-after"]) == (429, "60")
    assert "Too many attempts" in answer.text


async def test_signing_out_ends_the_session_and_every_copy_of_its_cookie(owner: Visitor) -> None:
    cookie = owner.cookie
    answer = await owner.post("/dashboard/logout", {"token": (await owner.get("/dashboard")).token})

    assert answer.headers["location"] == "/dashboard/login"
    assert (await owner.get("/dashboard")).status == 303
    assert (await owner.get("/dashboard", Cookie=f"soleira_session={cookie}")).status == 303


@pytest.mark.parametrize("path", ["/dashboard/login", "/dashboard/logout", "/dashboard/ask"])
@pytest.mark.parametrize(
    "sent",
    [
        {"Origin": "http://elsewhere.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://elsewhere.example", "Sec-Fetch-Site": "same-origin"},
    ],
)
async def test_a_form_of_another_site_is_refused(owner: Visitor, path: str, sent: dict[str, str]) -> None:
    form = {"token": (await owner.get("/dashboard")).token, "question": "Olá?", "model": "kimi-k3"}

    answer = await owner.post(path, form, **sent)

    assert answer.status == 403
    assert (await owner.get("/dashboard")).status == 200


async def test_a_post_that_does_not_say_where_it_comes_from_is_refused(owner: Visitor) -> None:
    token = (await owner.get("/dashboard")).token

    async with owner.http.post("/dashboard/logout", data={"token": token}, allow_redirects=False) as response:
        assert response.status == 403


@pytest.mark.parametrize("path", ["/dashboard/login", "/dashboard/logout", "/dashboard/ask"])
@pytest.mark.parametrize("token", ["", "0" * 64])
async def test_a_form_without_this_session_s_token_is_refused(
    owner: Visitor, upstream: Upstream, path: str, token: str
) -> None:
    form = {"token": token, "key": ADMIN_KEY, "question": "Olá?", "model": "kimi-k3"}

    answer = await owner.post(path, {name: value for name, value in form.items() if value})

    assert answer.status == 403
    assert upstream.connections == 0


async def test_the_token_of_one_session_is_worth_nothing_in_another(house: House, owner: Visitor) -> None:
    async with visitor(house) as other:
        await other.sign_in()
        stolen = (await other.get("/dashboard")).token

    assert (await owner.post("/dashboard/ask", {"token": stolen, "question": "Olá?"})).status == 403


async def test_a_form_larger_than_any_question_is_refused(owner: Visitor) -> None:
    token = (await owner.get("/dashboard")).token

    answer = await owner.post("/dashboard/ask", {"token": token, "question": "a" * 300_000})

    assert answer.status == 413


@pytest.mark.parametrize("path", ["/dashboard", "/dashboard/login", "/dashboard/ledger", "/dashboard/static/page.js"])
async def test_the_browser_is_told_to_load_nothing_from_elsewhere(owner: Visitor, path: str) -> None:
    headers = (await owner.get(path)).headers

    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


async def test_pages_are_not_kept_and_files_are(owner: Visitor) -> None:
    page = await owner.get("/dashboard")
    files = re.findall(r'(?:src|href)="(/dashboard/static/[^"]+)"', page.text)

    assert page.headers["cache-control"] == "no-store"
    assert {file.partition("?")[0].rpartition("/")[2] for file in files} == {
        "mark.svg",
        "style.css",
        "htmx.js",
        "page.js",
    }
    for file in files:
        sent = await owner.get(file)
        assert sent.status == 200
        assert "immutable" in sent.headers["cache-control"]


@pytest.mark.parametrize("name", ["nothing.js", "..%2fpages.py", "..%2f..%2fmain.py"])
async def test_no_other_file_is_sent(stranger: Visitor, name: str) -> None:
    assert (await stranger.get(f"/dashboard/static/{name}")).status == 404


async def test_a_question_about_private_papers_is_answered_at_home(owner: Visitor, upstream: Upstream) -> None:
    answer = await owner.ask("Quando vence o aluguel?", collection="papers")

    assert answer.status == 200
    assert answer.headers["content-type"].startswith(SSE)
    assert "O aluguel vence todo dia 5. [1]" in answer.text
    assert '"file":"contrato.md"' in answer.text
    badge = (await owner.get(f"/dashboard/decisions/{answer.headers['soleira-decision']}")).text
    assert "Did not leave the house" in badge
    assert "passages of papers" in badge
    assert upstream.connections == 0


async def test_an_answer_from_outside_says_where_it_went_and_costs_what_it_costs(
    owner: Visitor, upstream: Upstream
) -> None:
    answer = await owner.ask("Olá?", "kimi-k3")

    badge = (await owner.get(f"/dashboard/decisions/{answer.headers['soleira-decision']}")).text
    assert "Went to a hosted service (kimi-k3)" in badge
    assert "$0.0038922" in badge
    assert len(upstream.requests) == 1


async def test_the_ledger_adds_up_to_the_last_digit(owner: Visitor) -> None:
    for _ in range(3):
        await owner.ask("Olá?", "kimi-k3")
    await owner.ask("Quando vence o aluguel?", collection="papers")

    english = (await owner.get("/dashboard/ledger")).text
    portuguese = (await owner.get("/dashboard/ledger?lang=pt")).text

    assert re.search(r'id="total">\$0\.0116766<', english)
    assert re.search(r'id="total">US\$\N{NO-BREAK SPACE}0,0116766<', portuguese)
    assert cells(english, "kimi-k3") == ["3", "2,430", "3,072", "231", "0", "$0.0116766"]
    assert cells(english, "hosted") == ["3", "2,430", "3,072", "231", "0", "$0.0116766"]
    assert cells(english, "quotes") == cells(english, "device") == ["1", "0", "0", "0", "0", "$0"]
    assert "3 of the last 4" in english


def cells(page: str, name: str) -> list[str]:
    """The figures of one row."""
    row = re.search(rf'<tr [^>]*data-name="{name}">(.*?)</tr>', page, re.DOTALL)
    assert row
    return re.findall(r"<td[^>]*>([^<]*)</td>", row[1])


async def test_private_text_for_a_hosted_model_is_refused_with_the_way_out(owner: Visitor, upstream: Upstream) -> None:
    answer = await owner.ask("O CPF dela é 529.982.247-25?", "kimi-k3")

    assert answer.status == 403
    assert "This may not go there" in answer.text
    assert "Choose the model “automatic”" in answer.text
    assert "529.982.247" not in answer.text
    badge = (await owner.get(f"/dashboard/decisions/{answer.headers['soleira-decision']}")).text
    assert "Nothing was sent" in badge
    assert "CPF in the text" in badge
    assert upstream.connections == 0


async def test_the_ledger_takes_as_many_queries_however_long_it_is(house: House, owner: Visitor) -> None:
    taken: list[str] = []
    event.listen(
        house.runtime.engine.sync_engine, "before_cursor_execute", lambda _c, _cursor, query, *_: taken.append(query)
    )
    await owner.ask("Olá?", "kimi-k3")
    taken.clear()
    await owner.get("/dashboard/ledger")
    with_one = len(taken)
    for _ in range(3):
        await owner.ask("Olá?", "kimi-k3")

    taken.clear()
    ledger = (await owner.get("/dashboard/ledger")).text

    assert ledger.count("Went to a hosted service (kimi-k3)") == 4
    assert len(taken) == with_one > 0


async def test_questions_of_the_page_are_measured_as_others_are(house: House, owner: Visitor) -> None:
    await owner.ask("Olá?", "kimi-k3")
    await owner.ask("Is the CPF 529.982.247-25 valid?", "kimi-k3")

    metrics = house.runtime.metrics.exposition().decode()

    assert 'soleira_requests_total{code="",endpoint="dashboard.ask",status="200"} 1.0' in metrics
    assert 'code="label_exceeds_clearance",endpoint="dashboard.ask",status="403"} 1.0' in metrics
    assert 'soleira_request_seconds_count{endpoint="dashboard.ask"} 2.0' in metrics
    assert "soleira_requests_in_flight 0.0" in metrics


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"question": "  "}, 400),
        ({"question": "Olá?", "model": "auto"}, 200),
        ({"question": "Olá?", "model": "nobody"}, 404),
        ({"question": "Olá?", "collection": "nothing"}, 404),
        ({"question": "Olá?", "model": "kimi-k3@"}, 400),
    ],
)
async def test_a_question_that_cannot_be_asked_is_a_refusal_to_read(
    owner: Visitor, form: dict[str, str], status: int
) -> None:
    answer = await owner.post("/dashboard/ask", {"token": (await owner.get("/dashboard")).token, **form})

    assert answer.status == status
    assert ('class="refusal"' in answer.text) is (status != 200)


async def test_a_deployment_that_breaks_off_is_told_within_the_answer(tmp_path: Path) -> None:
    async with (
        fake_upstream(stream(delta("Era uma vez"))) as cut,
        site(tmp_path, [deployment("kimi-k3", cut.url)]) as house,
        visitor(house) as owner,
    ):
        await owner.sign_in()
        answer = await owner.ask("Conte.", "kimi-k3")

    assert "Era uma vez" in answer.text
    assert '"code":"upstream_cut"' in answer.text


async def test_a_browser_that_leaves_stops_the_answer_and_that_is_on_record(tmp_path: Path) -> None:
    async with (
        fake_upstream(stream(delta("Era uma vez"), ending="hang")) as endless,
        site(tmp_path, [deployment("kimi-k3", endless.url)]) as house,
        visitor(house) as owner,
    ):
        await owner.sign_in()
        form = {"token": (await owner.get("/dashboard")).token, "question": "Conte.", "model": "kimi-k3"}
        response = await owner.http.post("/dashboard/ask", data=form, headers={"Origin": house.url})
        await response.content.readany()
        response.close()

        async with asyncio.timeout(10):
            await endless.left.wait()
            while (await decisions.recent(house.runtime.engine))[0].status != 499:
                await asyncio.sleep(0.01)
        ledger = (await owner.get("/dashboard/ledger")).text

    assert "interrupted by the reader" in ledger


async def test_names_and_rules_are_text_not_markup(tmp_path: Path, upstream: Upstream) -> None:
    rules = {
        "default_label": "internal",
        "unscannable": "private",
        "zones": {"device": {"clearance": "secret", "addresses": "loopback"}},
        "rules": [{"name": "<b>bold</b> & <script>alert(1)</script>", "route": {}}],
    }
    near = deployment("near", upstream.url, zone="device")
    async with site(tmp_path, [near], rules=rules) as house, visitor(house) as owner:
        await owner.sign_in()
        await owner.ask("Olá?", "near")
        ledger = (await owner.get("/dashboard/ledger")).text

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in ledger
    assert "<script>" not in ledger


async def test_no_question_or_answer_is_kept_on_the_page(owner: Visitor) -> None:
    await owner.ask("Uma pergunta bem particular?", "kimi-k3")

    page = (await owner.get("/dashboard")).text
    assert "particular" not in page
    assert "Olá" not in page


async def test_the_page_speaks_the_browser_s_language_until_another_is_chosen(owner: Visitor) -> None:
    brazilian = {"Accept-Language": "pt-BR,pt;q=0.9,en;q=0.5"}

    assert "Ask your documents" in (await owner.get("/dashboard")).text
    assert "Pergunte aos seus documentos" in (await owner.get("/dashboard", **brazilian)).text
    assert "Ask your documents" in (await owner.get("/dashboard?lang=en", **brazilian)).text
    assert "Ask your documents" in (await owner.get("/dashboard", **brazilian)).text
    assert "Ask your documents" in (await owner.get("/dashboard?lang=fr")).text


async def test_while_the_search_starts_the_choice_of_documents_asks_again(tmp_path: Path) -> None:
    async with site(tmp_path) as house, visitor(house) as owner:
        await owner.sign_in()
        ready = (await owner.get("/dashboard/collections")).text
        assert isinstance(house.retriever, Retriever)
        house.retriever.away = True
        waiting = (await owner.get("/dashboard/collections")).text
        page = await owner.get("/dashboard")

    assert "hx-trigger" not in ready
    assert 'hx-trigger="every 2s"' in waiting
    assert "The search is starting" in waiting
    assert page.status == 200


async def test_the_page_is_no_part_of_the_api_s_description(house: House) -> None:
    async with aiohttp.ClientSession(house.url) as http, http.get("/openapi.json") as response:
        paths = (await response.json())["paths"]

    assert not [path for path in paths if path.startswith("/dashboard")]
