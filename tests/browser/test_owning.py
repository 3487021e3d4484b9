"""The page "Is owning cheaper?" in a real Chromium, held against what `soleira break-even` prints of the same house."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

import pypdfium2
import pytest

from gateway.settings import ROOT, gateway_environment
from tests.browser.looks import DESK, PHONE, look, on_every_screen
from tests.browser.visit import Visit
from tests.gateway.dashboard import books
from tests.gateway.dashboard.scenarios import SCENARIOS
from tests.gateway.dashboard.site import site
from tests.gateway.house import ADMIN_KEY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path
    from typing import Any

    from playwright.async_api import Browser

    from tests.gateway.house import House

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

EVER = {**SCENARIOS["ours"], "traffic": {"from_ledger": "430w", "models": "all"}}
FILES = {**books.FILES, "break_even.yaml": {**books.FILES["break_even.yaml"], "scenarios": {**SCENARIOS, "ever": EVER}}}
PAGES = (
    "/owning?scenario=moonshot&more=1",
    "/owning?scenario=bought&more=1&cached_share=0.25&peak_to_mean=2",
    "/owning?scenario=b200&more=1",
    "/owning?scenario=unasked",
    "/owning?scenario=moonshot&forced_share=0.3&tokens_per_day=90000000000000",
    "/owning?scenario=moonshot&cached_share=7",
    "/owning?example=1",
)


@pytest.fixture
async def known(tmp_path: Path) -> AsyncIterator[House]:
    """A house with scenarios whose answers are known; its clock is the real one, as the command's is."""
    made = site(tmp_path, books.deployments(), rules=books.ZONES, files=FILES)
    async with made as running:
        await books.enter(running.runtime)
        yield running


async def opened(visit: Visit, path: str) -> None:
    """Sign in, then open a page below the dashboard."""
    await visit.sign_in(ADMIN_KEY)
    await visit.page.wait_for_selector("#ask")
    await visit.page.goto(f"{visit.url}/dashboard{path}")


async def printed(house: House, *arguments: str) -> dict[str, Any]:
    """What the command prints, run as people run it beside the house."""
    settings = house.runtime.settings
    command = [sys.executable, "-P", "-m", "gateway.cli", "break-even", *arguments, "--json"]
    command += ["--data", str(settings.data), "--pack", str(settings.pack)]
    ran = await asyncio.create_subprocess_exec(
        *command,
        env=gateway_environment(),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await ran.communicate()
    assert ran.returncode == 0, err.decode()
    found: dict[str, Any] = json.loads(out)
    return found


async def numbers(visit: Visit, selector: str) -> list[float]:
    """The figures of a part of the page, as a program reads them."""
    values = await visit.page.locator(f"{selector} data").evaluate_all("(all) => all.map((one) => one.value)")
    return [float(value) for value in values]


async def test_the_page_and_the_command_say_the_same_of_the_same_house(browser: Browser, known: House) -> None:
    async with Visit.begin(browser, known.url, locale="en-US", **DESK) as visit:
        await opened(visit, "/owning?scenario=moonshot&more=1")
        asked = (await visit.read(".command")).removeprefix("soleira break-even ").split()
        said = await printed(known, *asked)

        even, best, band = said["break_even"], said["hybrid"], said["band"]
        assert await numbers(visit, "#owned") == [said["today"]["own_usd"]]
        assert await numbers(visit, "#hosted") == [said["today"]["hosted_usd"]]
        assert await numbers(visit, "#pays-from") == [even["million_tokens_per_month"]]
        assert await visit.page.locator(".verdict").get_attribute("data-verdict") == said["verdict"] == "not_yet"
        assert f"{even['times_today']:.1f} times today's volume" in await visit.read(".verdict")
        assert await numbers(visit, "#when dl") == [even["months_until"]]
        assert (await numbers(visit, "#both tr:last-child"))[-1] == best["usd"]
        draws = [band[f"{name}_million_tokens_per_day"] for name in ("p5", "p50", "p95")]
        draws += [band["probability_at_todays_volume"], band["never"]]
        assert await numbers(visit, "#band") == pytest.approx([one for one in draws if one is not None], rel=1e-12)
        for figure in said["figures"]:
            shown = visit.page.locator(f'[data-figure="{figure["name"]}"]')
            line = visit.page.locator(
                f'tr:is([data-figure="{figure["name"]}"], :has([data-figure="{figure["name"]}"]))'
            )
            value = await shown.locator("data").get_attribute("value") or ""
            assert (value if isinstance(figure["value"], str) else float(value)) == figure["value"], figure["name"]
            assert await line.locator(".origin").inner_text()
            assert await line.locator(".age").inner_text()


async def test_the_ledger_s_own_traffic_is_the_same_on_the_page_and_in_the_command(
    browser: Browser, known: House
) -> None:
    async with Visit.begin(browser, known.url, locale="en-US", **DESK) as visit:
        await opened(visit, "/owning?scenario=ever&more=1")
        said = await printed(known, "--scenario", "ever")
        seen = {figure["name"]: figure["value"] for figure in said["figures"] if figure["origin"] == "ledger"}

        assert {"traffic.cached_share", "traffic.output_share", "traffic.forced_share"} <= seen.keys()
        for name, value in seen.items():
            shown = float(await visit.page.locator(f'[data-figure="{name}"] data').get_attribute("value") or "nan")
            # A whole hour more may lie between the two: shares do not change by it, means over time a little.
            assert shown == pytest.approx(value, rel=1e-12 if name.endswith("_share") else 1e-2), name
            assert await visit.read(f'[data-figure="{name}"] .origin') == "the ledger"


async def test_what_is_tried_changes_both_alike_and_can_be_taken_back(browser: Browser, known: House) -> None:
    async with Visit.begin(browser, known.url, locale="en-US", **DESK) as visit:
        await opened(visit, "/owning?scenario=moonshot&more=1")
        await visit.page.fill("[name=cached_share_percent]", "80")
        await visit.page.fill("[name=tokens_per_day_millions]", "250.5")
        await visit.page.click("#inputs button:has-text('Show')")
        await visit.page.wait_for_url("**tokens_per_day=250500000&cached_share=0.8**")

        line = (await visit.read(".command")).removeprefix("soleira break-even ").split()
        assert line[2:] == ["--set", "tokens_per_day=250500000", "--set", "cached_share=0.8"]
        said = await printed(known, *line)
        assert await numbers(visit, "#pays-from") == [said["break_even"]["million_tokens_per_month"]]
        assert await numbers(visit, "#hosted") == [said["today"]["hosted_usd"]]

        await visit.page.click(".chips a:has-text('All as it was')")
        await visit.page.wait_for_url("**/owning?scenario=moonshot&more=1")
        assert round((await numbers(visit, "#pays-from"))[0], 3) == 7144.267


async def test_the_picture_is_drawn_from_the_table_with_today_and_where_owning_pays(
    browser: Browser, known: House
) -> None:
    async with Visit.begin(browser, known.url, locale="en-US", **DESK) as visit:
        await opened(visit, "/owning?scenario=moonshot&currency=USD")
        await visit.page.wait_for_function("Chart.getChart('chart')")

        drawn = await visit.page.evaluate(
            """() => Chart.getChart("chart").data.datasets.map(
              (set) => [set.label, set.data.map((point) => [point.x, point.y])],
            )"""
        )
        said = await printed(known, "--scenario", "moonshot")
        assert [label for label, _ in drawn] == ["Own machines", "Host", "Both"]
        for (_, points), name in zip(drawn, ("own_usd", "hosted_usd", "hybrid_usd"), strict=True):
            assert [y for _, y in points] == [point[name] for point in said["curve"]]
            assert [x / 1e6 for x, _ in points] == pytest.approx(
                [point["million_tokens_per_month"] for point in said["curve"]], rel=1e-12
            )
        table = visit.page.locator("#volumes")
        today = float(await table.get_attribute("data-today") or 0)
        assert today / 1e6 == pytest.approx(said["today"]["million_tokens_per_month"], rel=1e-12)
        pays = (await table.get_attribute("data-pays") or "").split()
        assert [float(each.split(":")[0]) / 1e6 for each in pays] == pytest.approx(
            [each["from"] for each in said["break_even"]["intervals"]], rel=1e-12
        )


@on_every_screen
async def test_no_page_has_a_serious_finding(
    browser: Browser, known: House, locale: str, screen: dict[str, Any], scheme: str
) -> None:
    async with Visit.begin(browser, known.url, locale=locale, color_scheme=scheme, **screen) as visit:
        await visit.sign_in(ADMIN_KEY)
        await visit.page.wait_for_selector("#ask")
        await look(visit, PAGES)


async def test_the_keyboard_alone_tries_a_figure_and_takes_it_back(browser: Browser, known: House) -> None:
    async with Visit.begin(browser, known.url, locale="en-US", **DESK) as visit:
        await opened(visit, "/owning?scenario=moonshot")

        await visit.page.locator("#more > summary").press("Enter")
        await visit.page.locator("[name=peak_to_mean]").fill("1.5")
        await visit.page.locator("[name=peak_to_mean]").press("Enter")
        await visit.page.wait_for_url("**peak_to_mean=1.5**")
        await visit.page.locator(".chips a").first.press("Enter")
        await visit.page.wait_for_url("**/owning?scenario=moonshot&more=1")


async def test_the_answer_is_printed_on_one_page_also_from_a_dark_screen(
    browser: Browser, known: House, tmp_path: Path
) -> None:
    async with Visit.begin(browser, known.url, locale="pt-BR", color_scheme="dark", **DESK) as visit:
        for scenario in ("moonshot", "bought", "ever"):
            await opened_again(visit, f"/owning?scenario={scenario}&more=1")
            await visit.page.wait_for_function("Chart.getChart('chart')")
            paper = tmp_path / f"{scenario}.pdf"
            await visit.page.pdf(path=paper, prefer_css_page_size=True, print_background=True)

            with pypdfium2.PdfDocument(paper) as document:
                text = document[0].get_textpage().get_text_bounded()
                assert len(document) == 1
            assert "Vale a pena ter máquina própria?" in text
            assert "O que mais importa" in text
            assert "SGLang pull request 37878" in text.replace("\r\n", " ")
            assert "Experimentar" not in text
            assert "nobody stated" not in text


async def test_on_a_desk_no_great_sum_lies_over_its_neighbour(browser: Browser, known: House) -> None:
    async with Visit.begin(browser, known.url, locale="pt-BR", **DESK) as visit:
        await opened(visit, "/owning?scenario=moonshot&tokens_per_day=999000000000000")

        fits = "(all) => all.every((one) => one.scrollWidth <= one.clientWidth)"
        assert await visit.page.locator(".big > div").evaluate_all(fits)


async def test_whoever_does_not_know_the_volume_s_name_gives_it_at_the_answer(browser: Browser, known: House) -> None:
    async with Visit.begin(browser, known.url, locale="pt-BR", **PHONE) as visit:
        await opened(visit, "/owning?scenario=unasked")
        await visit.page.get_by_label("Quantos tokens você usa hoje?").fill("400")
        await visit.page.get_by_label("Quantos tokens você usa hoje?").press("Enter")

        await visit.page.wait_for_url("**tokens_per_day=400000000**")
        assert (await visit.read(".verdict")).startswith("Ainda não.")


async def opened_again(visit: Visit, path: str) -> None:
    """Open a page, signing in the first time."""
    if "/dashboard" not in visit.page.url:
        await opened(visit, path)
        return
    await visit.page.goto(f"{visit.url}/dashboard{path}")


async def test_without_a_script_the_answer_and_its_figures_are_there_all_the_same(
    browser: Browser, known: House
) -> None:
    async with Visit.begin(browser, known.url, locale="en-US", java_script_enabled=False, **DESK) as visit:
        await opened(visit, "/owning?scenario=moonshot&more=1")

        assert await visit.page.locator(".canvas").first.is_hidden()
        assert await visit.page.locator("#volumes tbody tr").count() > 30
        await visit.page.locator("[name=peak_to_mean]").fill("1.5")
        await visit.page.click("#inputs button:has-text('Show')")
        await visit.page.wait_for_url("**peak_to_mean=1.5**")
        assert await visit.page.locator(".verdict").is_visible()
