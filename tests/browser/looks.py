"""The screens that pages are looked at on, and what nobody should find there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.async_playwright import Axe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.browser.visit import Visit

PHONE = {"viewport": {"width": 360, "height": 740}}
DESK = {"viewport": {"width": 1200, "height": 900}}

on_every_screen = pytest.mark.parametrize(
    ("locale", "screen", "scheme"),
    [
        pytest.param("en-US", DESK, "light", id="desk-light"),
        pytest.param("pt-BR", PHONE, "dark", id="phone-dark"),
        pytest.param("en-US", DESK, "dark", id="desk-dark", marks=pytest.mark.slow),
        pytest.param("pt-BR", PHONE, "light", id="phone-light", marks=pytest.mark.slow),
    ],
)


async def look(visit: Visit, paths: Iterable[str]) -> None:
    """Open each page below the dashboard, all of it: no serious finding of axe, and nothing to scroll sideways."""
    for path in paths:
        await visit.page.goto(f"{visit.url}/dashboard{path}")
        await visit.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        found = (await Axe().run(visit.page)).response["violations"]
        grave = [
            (one["id"], node["html"])
            for one in found
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]
        assert grave == [], path
        width = await visit.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert width[0] == width[1], path
