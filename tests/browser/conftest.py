"""The whole house, as `soleira up` starts it, with a hosted model that answers as it is told, and a real browser."""

from __future__ import annotations

import asyncio
import shutil
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import async_playwright

from tests.browser.visit import Visit
from tests.gateway.house import deployment
from tests.running import running, write_pack
from tests.wire.upstream import DONE, Script, Upstream, delta, fake_upstream, finish, stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from playwright.async_api import Browser

USAGE = {"prompt_tokens": 1834, "completion_tokens": 77, "prompt_tokens_details": {"cached_tokens": 1024}}
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def answering(*words: str) -> Script:
    """A stream that says the words, one event each, and its usage in an event of its own, as OpenAI's do."""
    usage = {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [], "usage": USAGE}
    return stream(*(delta(word) for word in words), finish(), usage, DONE, pause=0.005)


@dataclass(frozen=True)
class Site:
    """Where the house answers, and the hosted model behind it."""

    url: str
    upstream: Upstream


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's executable."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    return found


@pytest.fixture(scope="session")
def shared_upstream(chromium: str) -> Iterator[Upstream]:
    """The hosted model, in a loop of its own, since the tests' loops come and go."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    serving = fake_upstream(answering("Olá", "!"))
    try:
        yield asyncio.run_coroutine_threadsafe(serving.__aenter__(), loop).result(5)
    finally:
        asyncio.run_coroutine_threadsafe(serving.__aexit__(None, None, None), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture(scope="session")
def started(shared_upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A house that has read its samples; its hosted models are `kimi-k3`, and `counted`, which one test alone asks."""
    data = tmp_path_factory.mktemp("house")
    models = [deployment(name, shared_upstream.url) for name in ("kimi-k3", "counted")]
    write_pack(data / "pack", models)
    with running(data) as house:
        yield Site(house.url, shared_upstream)


@pytest.fixture
def house(started: Site) -> Site:
    """The house, its hosted model answering `Olá!` again."""
    started.upstream.scripts = (answering("Olá", "!"),)
    return started


@pytest.fixture
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """A browser of this test's own."""
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=chromium, args=_ARGUMENTS)
        yield running
        await running.close()


@pytest.fixture
async def visit(browser: Browser, house: Site) -> AsyncIterator[Visit]:
    """An English reader before the sign-in."""
    async with Visit.begin(browser, house.url, locale="en-US", timezone_id="America/Sao_Paulo") as begun:
        yield begun
