"""A gateway with its page in the test's own loop, and a visitor who keeps cookies as a browser does."""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import aiohttp

from gateway.api.app import create_app
from gateway.dashboard import pages
from gateway.main import open_runtime
from retrieval.client import CollectionInfo, RetrievalNotReady, Scope
from tests.gateway.house import ADMIN_KEY, RULES, FakeRetriever, House, make_settings, served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from retrieval.client import Passage

_TOKEN = re.compile(r'name="token" value="([0-9a-f]+)"')


@dataclass
class Retriever(FakeRetriever):
    """A retriever that can be away, as it is while it starts."""

    away: bool = False

    async def collections(self, scope: Scope) -> list[CollectionInfo]:
        if self.away:
            raise RetrievalNotReady("the retrieval process is not there yet", 2)
        return await super().collections(scope)


@asynccontextmanager
async def site(
    data: Path,
    deployments: Sequence[Mapping[str, Any]] = (),
    *,
    rules: Mapping[str, Any] = RULES,
    passages: Sequence[Passage] = (),
    files: Mapping[str, Any] = {},
    now: Callable[[], datetime] | None = None,
) -> AsyncIterator[House]:
    """Run a gateway with its page on a free loopback port; `files` are more of its pack, `now` is its clock."""
    settings = make_settings(data, rules, deployments)
    for name, content in files.items():
        (settings.pack / name).write_text(json.dumps(content))
    retriever = Retriever(list(passages))
    async with open_runtime(settings, retriever, loopback_only=True) as opened:
        runtime = replace(opened, now=now) if now else opened
        app = create_app(runtime)
        pages.add_to(app, runtime)
        async with served(app) as url:
            yield House(url, runtime, retriever)


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def token(self) -> str:
        """The token of the page's forms."""
        found = _TOKEN.search(self.text)
        assert found, "the page has no form"
        return found[1]


@dataclass
class Visitor:
    """A browser without a screen; `headers` go with every request."""

    http: aiohttp.ClientSession
    origin: str
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def cookie(self) -> str:
        return next(cookie.value for cookie in self.http.cookie_jar if cookie.key == "soleira_session")

    async def get(self, path: str, **headers: str) -> Answer:
        async with self.http.get(path, headers={**self.headers, **headers}, allow_redirects=False) as response:
            return Answer(response.status, response.headers, await response.text())

    async def post(self, path: str, data: Mapping[str, str], **headers: str) -> Answer:
        sent = {"Origin": self.origin, **self.headers, **headers}
        async with self.http.post(path, data=data, headers=sent, allow_redirects=False) as response:
            return Answer(response.status, response.headers, await response.text())

    async def sign_in(self, key: str = ADMIN_KEY) -> Answer:
        token = (await self.get("/dashboard/login")).token
        return await self.post("/dashboard/login", {"token": token, "key": key})

    async def ask(self, question: str, model: str = "auto", collection: str = "") -> Answer:
        form = {"token": (await self.get("/dashboard")).token, "question": question, "model": model}
        return await self.post("/dashboard/ask", {**form, "collection": collection})


@asynccontextmanager
async def visitor(house: House) -> AsyncIterator[Visitor]:
    """Somebody who has not signed in yet."""
    jar = aiohttp.CookieJar(unsafe=True)  # the host is an address
    async with aiohttp.ClientSession(house.url, cookie_jar=jar) as http:
        yield Visitor(http, house.url)
