"""One reader's browser on the page: what they do, and what must not happen meanwhile."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser, ConsoleMessage, Page, Request

_PATIENCE_MS = 20_000


@dataclass
class Visit:
    """A page in a browser that has signed in to nothing yet."""

    page: Page
    url: str
    elsewhere: list[str] = field(default_factory=list)
    """What the browser asked of any other host."""
    complaints: list[str] = field(default_factory=list)
    """Errors of scripts, and whatever the content security policy blocked."""

    @classmethod
    @asynccontextmanager
    async def begin(cls, browser: Browser, url: str, **context: Any) -> AsyncIterator[Visit]:
        """Open a browser window of its own; leaving it checks that all was quiet."""
        opened = await browser.new_context(**context)
        visit = cls(await opened.new_page(), url)
        visit.page.set_default_timeout(_PATIENCE_MS)
        visit.page.on("request", visit._requested)
        visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
        visit.page.on("console", visit._said)
        yield visit
        await opened.close()
        assert visit.elsewhere == []
        assert visit.complaints == []

    async def sign_in(self, key: str) -> None:
        """Open the page and sign in."""
        await self.page.goto(f"{self.url}/dashboard")
        await self.page.fill("#key", key)
        await self.page.click("main button")

    async def ask(self, question: str, *, model: str = "auto", collection: str = "") -> None:
        """Ask, and wait until the page has said all there is to say."""
        await self.begin_asking(question, model=model, collection=collection)
        await self.page.wait_for_selector("#answer:not([aria-busy]) .badge")
        await self.page.wait_for_selector("#ledger:not(.htmx-request):not(.htmx-settling)")

    async def begin_asking(self, question: str, *, model: str = "auto", collection: str = "") -> None:
        """Ask without waiting for the answer."""
        await self.page.fill("#question", question)
        await self.page.select_option("#collection", collection)
        await self.page.select_option("#model", model)
        await self.page.click("#ask button")

    async def read(self, selector: str) -> str:
        """The text of an element, blanks as one."""
        return " ".join((await self.page.inner_text(selector)).split())

    async def row(self, name: str) -> list[str]:
        """The figures of one row of the spend tables."""
        return await self.page.locator(f'tr[data-name="{name}"] td').all_inner_texts()

    def _requested(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:", "http://elsewhere.example/")):
            self.elsewhere.append(request.url)

    def _said(self, message: ConsoleMessage) -> None:
        # That a refusal has the status of one is no complaint.
        if message.type == "error" and "the server responded with a status of 40" not in message.text:
            self.complaints.append(message.text)
