"""Takes the README's picture anew, from a real house: `./soleira test tests/browser/picture.py`.

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

PICTURE = ROOT / "docs" / "images" / "dashboard.png"


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

    # A page has few colours: with a palette its picture is a quarter as large.
    Image.open(BytesIO(taken)).convert("RGB").quantize(128).save(PICTURE, optimize=True)
    assert PICTURE.stat().st_size < 200_000
