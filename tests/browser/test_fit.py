"""The page "Does it fit?" in a real Chromium, on a desk and on a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.looks import DESK, look, on_every_screen
from tests.browser.visit import Visit
from tests.gateway.dashboard.site import site
from tests.gateway.house import ADMIN_KEY
from tests.gateway.test_cli import read

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path
    from typing import Any

    from playwright.async_api import Browser

    from tests.gateway.house import House

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

PAGES = ("", "?gpu=b300&count=8", "?gpu=b200&count=16", "?gpu=h100&count=8&quant=UD-IQ1_S", "?gpu=b300&count=none")


@pytest.fixture
async def known(tmp_path: Path) -> AsyncIterator[House]:
    """A house."""
    async with site(tmp_path) as running:
        yield running


async def opened(visit: Visit, query: str = "") -> None:
    """Sign in, then open the page."""
    await visit.sign_in(ADMIN_KEY)
    await visit.page.wait_for_selector("#ask")
    await visit.page.goto(f"{visit.url}/dashboard/fit{query}")


async def test_a_question_is_asked_with_the_form_and_answered_as_the_command_does(
    browser: Browser, known: House
) -> None:
    command = read("fit", "--gpu", "b200", "--count", "16", "--context", "131072", "--concurrency", "4")
    async with Visit.begin(browser, known.url, locale="en-US", **DESK) as visit:
        await opened(visit)
        await visit.page.select_option("#gpu", "b200")
        await visit.page.fill("#count", "16")
        await visit.page.fill("#context", "131072")
        await visit.page.fill("#concurrency", "4")
        await visit.page.click("#questions button")
        await visit.page.wait_for_url("**gpu=b200**")

        assert await visit.page.locator(".verdict").get_attribute("data-verdict") == command["verdict"]
        assert await visit.page.locator("#max-context").get_attribute("value") == str(command["max_context"])
        assert await visit.page.locator("#max-concurrency").get_attribute("value") == str(command["max_concurrency"])
        rooms = await visit.page.eval_on_selector_all(".rooms li", "all => all.map(one => Number(one.dataset.needed))")
        assert rooms == [room["needed"] for room in command["rooms"] if room["needed"] or room["there"]]
        assert await visit.page.locator("#start code").inner_text() == command["start"]["command"]
        assert await visit.page.locator("#context").input_value() == "131072"


async def test_from_no_to_what_holds_and_into_the_other_language_all_stays_in_the_address(
    browser: Browser, known: House
) -> None:
    async with Visit.begin(browser, known.url, locale="en-US", **DESK) as visit:
        await opened(visit, "?gpu=b200&count=8&concurrency=2")
        await visit.page.locator('#instead [data-kind="more"] a').press("Enter")
        await visit.page.wait_for_selector('[data-verdict="native_verified"]')
        await visit.page.click("text=Português")
        await visit.page.wait_for_selector("html[lang=pt]")

        assert await visit.page.locator("#concurrency").input_value() == "2"
        assert await visit.page.locator("#count").input_value() == "16"
        assert (await visit.page.locator(".verdict").inner_text()).startswith("Sim.")


async def test_a_wrong_size_is_told_beside_the_form_and_can_be_mended(browser: Browser, known: House) -> None:
    async with Visit.begin(browser, known.url, locale="en-US", **DESK) as visit:
        await opened(visit, "?gpu=rtx4090&quant=UD-IQ1_S&count=2")
        await visit.page.click("summary:has-text('Own figures')")
        await visit.page.fill("#host_memory", "much")
        # Chromium writes every answer of 400 to its console; the page itself stays quiet.
        await visit.page.click("#questions button")
        await visit.page.wait_for_selector("[role=alert]")
        await visit.page.fill("#host_memory", "768GB")
        await visit.page.click("#questions button")

        await visit.page.wait_for_selector('[data-verdict="quant_hybrid"]')
        visit.complaints[:] = [each for each in visit.complaints if "400" not in each]


@on_every_screen
async def test_no_state_of_the_page_has_a_serious_finding(
    browser: Browser, known: House, locale: str, screen: dict[str, Any], scheme: str
) -> None:
    async with Visit.begin(browser, known.url, locale=locale, color_scheme=scheme, **screen) as visit:
        await opened(visit)
        await look(visit, [f"/fit{query}" for query in PAGES])
        visit.complaints[:] = [each for each in visit.complaints if "400" not in each]


async def test_without_a_script_all_is_there(browser: Browser, known: House) -> None:
    async with Visit.begin(browser, known.url, locale="en-US", java_script_enabled=False, **DESK) as visit:
        await opened(visit, "?gpu=b300&count=8")

        assert await visit.page.locator("#start code").is_visible()
        assert await visit.page.locator("#parts tbody tr").count() == 5
