"""Takes the README's pictures anew, from a real house: `./soleira test tests/browser/picture.py`.

pytest runs it only when it is named: no check should depend on pixels.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from gateway.settings import ROOT
from tests.browser.visit import Visit
from tests.running import ADMIN_KEY

if TYPE_CHECKING:
    from playwright.async_api import Browser

    from tests.browser.conftest import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

IMAGES = ROOT / "docs" / "images"


async def test_the_picture_is_taken(browser: Browser, house: Site) -> None:
    window = {"viewport": {"width": 960, "height": 900}, "device_scale_factor": 1.5}
    async with Visit.begin(browser, house.url, locale="en-US", timezone_id="America/Sao_Paulo", **window) as visit:
        await visit.sign_in(ADMIN_KEY)
        await visit.ask("Write me a haiku about doorsills.", model="kimi-k3")
        await visit.ask("Is the CPF 529.982.247-25 valid?", model="kimi-k3")
        await visit.ask("Quando vence o aluguel?", collection="samples")
        await visit.ask("When is the rent due?", collection="samples")
        assert "The rent is $1,150 per month" in await visit.read("#text")
        assert await visit.read("#total") == "$0.0038922"
        await visit.page.mouse.move(0, 0)
        await visit.page.evaluate("document.activeElement.blur()")
        taken = await visit.page.screenshot(full_page=True)
    kept(taken, "dashboard.png")


async def test_the_picture_of_owning_is_taken(browser: Browser, house: Site) -> None:
    window = {"viewport": {"width": 960, "height": 900}, "device_scale_factor": 1.5}
    async with Visit.begin(browser, house.url, locale="en-US", timezone_id="America/Sao_Paulo", **window) as visit:
        await visit.sign_in(ADMIN_KEY)
        await visit.page.goto(f"{house.url}/dashboard/owning?example=1")
        await visit.page.wait_for_selector("canvas")
        await visit.page.wait_for_timeout(1000)  # the chart is drawn in motion
        taken = await visit.page.screenshot(full_page=True)

    kept(taken, "owning.png")


def kept(taken: bytes, name: str) -> None:
    """Write a picture. A page has few colours: with a palette it is a quarter as large."""
    Image.open(BytesIO(taken)).convert("RGB").quantize(128).save(IMAGES / name, optimize=True)
    assert (IMAGES / name).stat().st_size < 200_000
