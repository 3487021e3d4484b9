"""The cost page in a real Chromium, against a ledger whose sums are known."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING

import pytest

from tests.browser.looks import DESK, look, on_every_screen
from tests.browser.visit import Visit
from tests.gateway.dashboard import books
from tests.gateway.dashboard.books import total, within
from tests.gateway.dashboard.site import site
from tests.gateway.house import ADMIN_KEY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path
    from typing import Any

    from playwright.async_api import Browser

    from tests.gateway.house import House

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

MONTH, SHOWN = within("2026-11-01", "2026-11-25"), within("2026-10-27", "2026-11-25")
PAGES = (
    "/costs?compare=1",
    "/costs/rows?from=2026-11-20&to=2026-11-25",
    "/costs/requests/dec_0001",
    "/costs/statement",
)
_PER_USD = Decimal("5.40")


@pytest.fixture
async def known(tmp_path: Path) -> AsyncIterator[House]:
    """A house whose ledger is known."""
    made = site(tmp_path, books.deployments(), rules=books.ZONES, files=books.FILES, now=lambda: books.NOW)
    async with made as running:
        await books.enter(running.runtime)
        yield running


async def opened(visit: Visit, path: str = "/costs") -> None:
    """Sign in, then open a page below the dashboard."""
    await visit.sign_in(ADMIN_KEY)
    await visit.page.wait_for_selector("#ask")
    await visit.page.goto(f"{visit.url}/dashboard{path}")


def reais(nano_usd: int, portuguese: bool) -> str:
    """What the page should say of a sum: two decimals, four below one real."""
    amount = Decimal(nano_usd) / 1_000_000_000 * _PER_USD
    digits = Decimal("0.01") if not amount or amount >= 1 else Decimal("0.0001")
    text = f"{amount.quantize(digits, ROUND_HALF_EVEN):,}"
    return "R$\u00a0" + text.translate(str.maketrans(",.", ".,")) if portuguese else f"R${text}"


@pytest.mark.parametrize("locale", ["en-US", "pt-BR"])
async def test_every_sum_on_screen_is_that_of_its_rows(browser: Browser, known: House, locale: str) -> None:
    ledger, portuguese = known.runtime.settings.ledger_path, locale == "pt-BR"
    async with Visit.begin(browser, known.url, locale=locale, **DESK) as visit:
        await opened(visit, "/costs?by=deployment")
        await visit.page.click("summary:has-text('As a table'), summary:has-text('Como tabela')")

        expected = {
            "#today .figure data": within("2026-11-25", "2026-11-25"),
            "#month .figure data": MONTH,
            "#picture-title data": SHOWN,
            ".legend li:nth-child(1) data": f"{SHOWN} AND zone = 'device'",
            ".legend li:nth-child(2) data": f"{SHOWN} AND zone = 'cluster'",
            ".legend li:nth-child(3) data": f"{SHOWN} AND zone = 'hosted'",
            "#days tbody tr:nth-last-child(2) .total data": within("2026-11-24", "2026-11-24"),
            "#days tfoot .total data": SHOWN,
            **{
                f'#who [data-name="{name}"] .cost data': f"{SHOWN} AND deployment = '{name}'"
                for name in ("desk", "our-k3", "moonshot")
            },
        }
        for selector, where in expected.items():
            shown = visit.page.locator(selector)
            nano_usd = total(ledger, where)
            assert await shown.inner_text() == reais(nano_usd, portuguese), selector
            assert await shown.get_attribute("value") == str(nano_usd), selector


async def test_the_picture_is_drawn_from_the_table_and_leads_to_the_rows(browser: Browser, known: House) -> None:
    async with Visit.begin(browser, known.url, locale="en-US", **DESK) as visit:
        await opened(visit)
        await visit.page.wait_for_function("Chart.getChart('chart')")

        drawn = await visit.page.evaluate(
            "() => Chart.getChart('chart').data.datasets.map((set) => [set.label, set.data.length, set.data.at(-2)])"
        )
        assert [(label, bars) for label, bars, _ in drawn] == [("This machine", 30), ("Cluster", 30), ("Hosted", 30)]
        day = within("2026-11-24", "2026-11-24")
        hosted = total(known.runtime.settings.ledger_path, f"{day} AND zone = 'hosted'")
        assert drawn[2][2] == pytest.approx(float(Decimal(hosted) / 1_000_000_000 * _PER_USD))

        place = await visit.page.evaluate(
            """() => {
              const chart = Chart.getChart("chart"), bar = chart.getDatasetMeta(2).data.at(-2);
              const box = chart.canvas.getBoundingClientRect();
              return [box.x + bar.x, box.y + (bar.y + bar.base) / 2];
            }"""
        )
        await visit.page.mouse.click(*place)
        await visit.page.wait_for_url("**/dashboard/costs/rows?from=2026-11-24&to=2026-11-24&zone=hosted")
        assert await visit.page.locator("[data-attempt]").count() == 2


@on_every_screen
async def test_no_page_has_a_serious_finding(
    browser: Browser, known: House, locale: str, screen: dict[str, Any], scheme: str
) -> None:
    async with Visit.begin(browser, known.url, locale=locale, color_scheme=scheme, **screen) as visit:
        await visit.sign_in(ADMIN_KEY)
        await visit.page.wait_for_selector("#ask")
        await look(visit, PAGES)


async def test_the_keyboard_alone_leads_from_a_sum_to_its_calls_and_back(browser: Browser, known: House) -> None:
    async with Visit.begin(browser, known.url, locale="en-US", **DESK) as visit:
        await opened(visit)

        await visit.page.locator("#month .figure a").press("Enter")
        await visit.page.wait_for_selector("#rows-sum")
        assert "from=2026-11-01&to=2026-11-25" in visit.page.url
        await visit.page.locator("[data-attempt] a").first.press("Enter")
        await visit.page.wait_for_selector(".call")
        await visit.page.locator(".back a").press("Enter")
        await visit.page.wait_for_selector("#who")
        await visit.page.locator(".switch").press("Enter")
        await visit.page.wait_for_selector("[role=switch][aria-checked=true]")


async def test_days_and_filters_stay_in_the_address_and_in_the_language_link(browser: Browser, known: House) -> None:
    async with Visit.begin(browser, known.url, locale="en-US", **DESK) as visit:
        await opened(visit, "/costs?by=model")
        await visit.page.click("#who th a:has-text('kimi-k3')")
        await visit.page.wait_for_selector(".chips")
        await visit.page.click("summary:has-text('Other days')")
        await visit.page.fill("#from", "2026-11-02")
        await visit.page.fill("#to", "2026-11-08")
        await visit.page.click("button:has-text('Show')")
        await visit.page.wait_for_url("**from=2026-11-02&to=2026-11-08**")
        await visit.page.click("text=Português")

        assert await visit.read(".chips") == "Modelo: kimi-k3 ×"
        assert "02/11/2026 – 08/11/2026" in await visit.read(".own summary")
        nano_usd = total(
            known.runtime.settings.ledger_path, within("2026-11-02", "2026-11-08") + " AND model = 'kimi-k3'"
        )
        assert await visit.page.locator("#picture-title data").first.inner_text() == reais(nano_usd, True)


async def test_without_a_script_the_figures_are_there_all_the_same(browser: Browser, known: House) -> None:
    async with Visit.begin(browser, known.url, locale="en-US", java_script_enabled=False, **DESK) as visit:
        await opened(visit)

        assert await visit.page.locator(".canvas").is_hidden()
        assert await visit.page.locator("#days tbody tr").count() == 30
        assert await visit.page.locator("#month .figure data").is_visible()
