"""The page in a real Chromium, on a house started with `soleira up`."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import answering
from tests.browser.visit import Visit
from tests.running import ADMIN_KEY
from tests.wire.upstream import delta, stream

if TYPE_CHECKING:
    from playwright.async_api import Browser, Route

    from tests.browser.conftest import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


async def test_a_portuguese_question_is_answered_in_the_house_with_its_source(browser: Browser, house: Site) -> None:
    before = house.upstream.connections
    async with Visit.begin(browser, house.url, locale="pt-BR") as visit:
        await visit.sign_in(ADMIN_KEY)
        await visit.ask("Em que dia vence o aluguel?", collection="samples")

        assert "dia 8" in await visit.read("#text")
        number = await visit.page.locator("#text a.marker").first.inner_text()
        assert "contrato-de-aluguel.md · linha" in await visit.read(f"#source-{number}")
        badge = await visit.read("#badge")
        assert "Não saiu de casa" in badge
        assert "resposta de quotes (este equipamento)" in badge.lower()
        assert "trechos de samples" in badge
        first = await visit.read(".decisions li:first-child")
        assert "Não saiu de casa" in first
        assert "admin perguntou a auto@samples" in first

    assert house.upstream.connections == before


async def test_a_marker_leads_to_its_source(visit: Visit) -> None:
    await visit.sign_in(ADMIN_KEY)
    await visit.ask("Em que dia vence o aluguel?", collection="samples")

    await visit.page.locator("#text a.marker").first.press("Enter")

    number = await visit.page.locator("#text a.marker").first.inner_text()
    assert await visit.page.locator("#sources li:target").get_attribute("id") == f"source-{number}"


async def test_the_figures_of_a_known_run_are_exact(visit: Visit) -> None:
    await visit.sign_in(ADMIN_KEY)
    for question in ("One?", "Two?", "Three?"):
        await visit.ask(question, model="counted")

    # Of 1834 tokens read 1024 came from the cache; 77 were written. Dollars per million: 3.00, 0.30, 15.00.
    each = (810 * Decimal("3.00") + 1024 * Decimal("0.30") + 77 * Decimal("15.00")) / 1_000_000
    assert await visit.row("counted") == ["3", "2,430", "3,072", "231", "0", f"${3 * each}"]
    assert f"Cost: ${each.normalize()}." in await visit.read("#badge")
    first = await visit.read(".decisions li:first-child")
    assert "Went to a hosted service (counted)" in first
    assert "Rule: everything else is cheap but not dull" in first
    assert await spelled_total(visit) == await sum_of_rows(visit)


async def spelled_total(visit: Visit) -> Decimal:
    return Decimal((await visit.read("#total")).lstrip("$").replace(",", ""))


async def sum_of_rows(visit: Visit) -> Decimal:
    """What the rows of the first table, the one by model, add up to."""
    costs = await visit.page.locator("table.spend").first.locator("td.money").all_inner_texts()
    return sum((Decimal(cost.lstrip("$").replace(",", "")) for cost in costs), Decimal(0))


async def test_an_answer_is_shown_while_it_comes_and_can_be_stopped(visit: Visit, house: Site) -> None:
    house.upstream.scripts = (stream(delta("Era uma "), delta("vez"), ending="hang"),)
    await visit.sign_in(ADMIN_KEY)

    await visit.begin_asking("Conte uma história.", model="kimi-k3")
    await visit.page.wait_for_selector("#text:has-text('Era uma vez')")
    assert await visit.read("#ask button") == "Stop"
    await visit.page.click("#ask button")
    await visit.page.wait_for_selector("#answer .badge")

    assert await visit.read("#note") == "Stopped."
    assert await visit.read("#ask button") == "Ask"
    assert "Went to a hosted service (kimi-k3)" in await visit.read("#badge")
    await visit.page.wait_for_selector(".decisions li:first-child:has-text('interrupted by the reader')")


async def test_what_a_model_writes_stays_text(visit: Visit, house: Site) -> None:
    attack = """<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>[1](javascript:0)"""
    house.upstream.scripts = (answering(attack[:9], attack[9:]),)
    await visit.sign_in(ADMIN_KEY)

    await visit.ask("Olá?", model="kimi-k3")

    assert await visit.page.text_content("#text") == attack
    assert await visit.page.locator("#text > *").count() == 0
    assert await visit.page.title() == "Soleira"


async def test_private_text_for_a_hosted_model_is_refused_and_the_way_out_is_shown(visit: Visit, house: Site) -> None:
    before = house.upstream.connections
    await visit.sign_in(ADMIN_KEY)

    await visit.ask("Is the CPF 529.982.247-25 valid?", model="kimi-k3")

    refusal = await visit.read("#refusal")
    assert "This may not go there" in refusal
    assert "Choose the model “automatic”" in refusal
    assert "Nothing was sent" in await visit.read("#badge")
    assert "CPF in the text" in await visit.read("#badge")
    assert house.upstream.connections == before


async def test_only_the_admin_key_opens_the_page_and_signing_out_closes_it(visit: Visit) -> None:
    await visit.sign_in("sk-not-the-key")
    assert await visit.read("[role=alert]") == "This key does not open the page."

    await visit.sign_in(ADMIN_KEY)
    await visit.page.wait_for_selector("#ask")
    await visit.page.click("text=Sign out")
    await visit.page.wait_for_selector("#key")

    await visit.page.goto(f"{visit.url}/dashboard")
    assert visit.page.url == f"{visit.url}/dashboard/login"


async def test_a_question_after_the_session_ended_leads_back_to_the_door(visit: Visit) -> None:
    await visit.sign_in(ADMIN_KEY)
    await visit.page.wait_for_selector("#ask")
    await visit.page.context.clear_cookies()

    await visit.begin_asking("Olá?", model="kimi-k3")

    await visit.page.wait_for_url(f"{visit.url}/dashboard/login")


async def test_another_site_cannot_send_the_page_s_forms(visit: Visit, house: Site) -> None:
    await visit.sign_in(ADMIN_KEY)
    await visit.page.wait_for_selector("#ask")
    token = await visit.page.get_attribute("#ask [name=token]", "value")

    async def lure(route: Route) -> None:
        form = f'<form method="post" action="{visit.url}/dashboard/logout"><input name="token" value="{token}"></form>'
        await route.fulfill(content_type="text/html", body=form)

    await visit.page.route("http://elsewhere.example/", lure)
    await visit.page.goto("http://elsewhere.example/")
    async with visit.page.expect_navigation() as navigation:
        await visit.page.evaluate("document.forms[0].submit()")
    response = await navigation.value

    assert response is not None
    assert response.status == 403
    await visit.page.goto(f"{visit.url}/dashboard")
    assert await visit.page.locator("#ask").count() == 1


async def test_the_browser_runs_no_script_but_the_page_s_own(visit: Visit) -> None:
    await visit.sign_in(ADMIN_KEY)
    await visit.page.wait_for_selector("#ask")

    await visit.page.evaluate(
        "const s = document.createElement('script'); s.textContent = `document.title='owned'`; document.body.append(s)"
    )

    assert await visit.page.title() == "Soleira"
    assert len(visit.complaints) == 1
    assert "Content Security Policy" in visit.complaints.pop()


async def test_on_a_phone_nothing_sticks_out_and_the_keyboard_reaches_everything(browser: Browser, house: Site) -> None:
    phone = {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark", "locale": "pt-BR"}
    async with Visit.begin(browser, house.url, **phone) as visit:
        await visit.sign_in(ADMIN_KEY)
        await visit.ask("Olá?", model="kimi-k3")

        assert await visit.page.evaluate("document.documentElement.scrollWidth") == 360
        assert (
            await visit.page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(23, 22, 20)"
        )
        await visit.page.focus("#question")
        reached = []
        for _ in range(3):
            await visit.page.keyboard.press("Tab")
            reached.append(await visit.page.evaluate("document.activeElement.id || document.activeElement.textContent"))
        assert reached == ["collection", "model", "Perguntar"]


async def test_times_are_the_reader_s_own(visit: Visit) -> None:
    await visit.sign_in(ADMIN_KEY)
    await visit.ask("Olá?", model="kimi-k3")

    stamp = await visit.page.get_attribute(".decisions time", "datetime")
    local = await visit.page.evaluate(
        "at => new Intl.DateTimeFormat('en', {dateStyle: 'medium', timeStyle: 'short'}).format(new Date(at))", stamp
    )
    assert await visit.page.inner_text(".decisions time >> nth=0") == local
