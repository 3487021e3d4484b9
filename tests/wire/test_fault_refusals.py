"""Refusals and silences of upstreams, as each endpoint tells them: asked no more often than helps, and never quoted."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from gateway.db import attempts
from tests.gateway.house import RULES, house
from tests.wire.endpoints import ENDPOINTS, OWN_MESSAGES, Endpoint, Said, ask
from tests.wire.frames import DONE, Framing, streamed
from tests.wire.upstream import STREAM_HEAD, Script, answer, fake_upstream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.gateway.house import House
    from tests.wire.endpoints import Given
    from tests.wire.upstream import Upstream

pytestmark = pytest.mark.asyncio(loop_scope="module")

USAGE = (10, 0, 20, 0)
SAID = Said("Vence no dia 10.", "", (), USAGE)
CANARY = "sk-canary-0123456789"


def good(endpoint: Endpoint, *, stream: bool) -> Script:
    if not stream:
        return answer(endpoint.whole(SAID))
    events = endpoint.events(SAID)
    return streamed(Framing().write(events if endpoint is OWN_MESSAGES else [*events, DONE]))


@dataclass
class Pair:
    """A house in which two deployments serve each endpoint, in this order."""

    home: House
    one: Upstream
    two: Upstream

    async def ask(self, endpoint: Endpoint, first: Script, second: Script, *, stream: bool) -> Given:
        for upstream, script in ((self.one, first), (self.two, second)):
            upstream.scripts = (script,)
            upstream.requests.clear()
        for deployment in self.home.runtime.packs.current.catalog.deployments:
            await self.home.runtime.upstreams.cooldown.succeeded(deployment.name)  # each case finds them well
        return await ask(self.home.url, endpoint, endpoint.asking(stream=stream))

    @property
    def asked(self) -> tuple[int, int]:
        return len(self.one.requests), len(self.two.requests)


@asynccontextmanager
async def opened(data: Path, rules: dict[str, Any] = RULES, **more: Any) -> AsyncIterator[Pair]:
    async with fake_upstream() as one, fake_upstream() as two:
        listed = [
            endpoint.deployment(
                upstream.url, name=f"{endpoint.name}-{number}", model=endpoint.name, price=_price(number), **more
            )
            for endpoint in ENDPOINTS
            for number, upstream in enumerate((one, two), 1)
        ]
        async with house(data, listed, rules=rules) as home:
            yield Pair(home, one, two)


def _price(dollars: int) -> dict[str, Any]:
    """The first is the cheaper one, so that it is asked first."""
    per_million = {"input": dollars, "output": dollars}
    return {"currency": "USD", "per_million": per_million, "source": "test", "as_of": "2026-11-01"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pair(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pair]:
    key = tmp_path_factory.mktemp("keys") / "key"
    key.write_text(CANARY)
    async with opened(tmp_path_factory.mktemp("pair"), api_key={"file": str(key)}) as standing:
        yield standing


BILLED = (408,)
"""An upstream that gave up in the middle may have charged."""
QUOTING = {"error": {"message": f"{CANARY} wrote 'Quando vence'", "type": "x", "param": CANARY}}
REFUSALS = {
    400: ((1, 0), 400),
    401: ((1, 1), 200),
    402: ((1, 1), 200),
    403: ((1, 1), 200),
    404: ((1, 1), 200),
    408: ((1, 1), 200),
    413: ((1, 0), 413),
    422: ((1, 0), 422),
    429: ((1, 1), 200),
    500: ((2, 1), 200),
    503: ((2, 1), 200),
}
"""For each status how often both are asked, and what the client gets."""


@pytest.mark.parametrize("status", REFUSALS)
async def test_only_what_may_pass_is_asked_again_or_elsewhere(
    pair: Pair, endpoint: Endpoint, stream: bool, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    asked, shown = REFUSALS[status]
    caplog.set_level(logging.DEBUG)
    with capture_logs() as logs:
        got = await pair.ask(endpoint, answer(QUOTING, status=status), good(endpoint, stream=stream), stream=stream)

    assert (got.status, pair.asked) == (shown, asked)
    if shown == 200:
        assert endpoint.read(got).said == SAID
        assert got.headers["soleira-deployment"] == f"{endpoint.name}-2"
    rows = await attempts.of_decision(pair.home.runtime.engine, got.headers["soleira-decision"])
    assert [row.deployment[-1] for row in rows] == ["1"] * asked[0] + ["2"] * asked[1]
    free = [row.cost_nano_usd == 0 for row in rows if row.outcome != "ok"]
    assert free == [status not in BILLED] * asked[0]
    assert pair.one.requests[0].headers["authorization"] == f"Bearer {CANARY}"
    assert "canary" not in f"{got.body!r} {got.headers} {logs} {caplog.text} {rows}"


async def test_a_refusal_of_everybody_has_the_form_of_its_endpoint(
    pair: Pair, endpoint: Endpoint, stream: bool
) -> None:
    refuses = answer(QUOTING, status=401)
    got = await pair.ask(endpoint, refuses, refuses, stream=stream)

    assert (got.status, pair.asked) == (401, (1, 1))
    if endpoint.kind == "messages":
        assert (got.json["type"], got.json["error"]["type"]) == ("error", "authentication_error")
        assert got.json["request_id"] == got.headers["request-id"]
    else:
        assert got.json["error"].keys() == {"message", "type", "param", "code"}
    assert "canary" not in got.body.decode()


TIMES = {
    "seconds": ({"Retry-After": "30"}, "30"),
    "a date": ({"Retry-After": "Wed, 21 Oct 2126 07:28:00 GMT"}, "Wed, 21 Oct 2126 07:28:00 GMT"),
    "milliseconds": ({"retry-after-ms": "30000"}, "30"),
    "words": ({"Retry-After": CANARY}, None),
    "none": ({}, None),
}


@pytest.mark.parametrize(("headers", "told"), TIMES.values(), ids=TIMES.keys())
async def test_the_time_to_come_back_reaches_the_client(
    pair: Pair, endpoint: Endpoint, stream: bool, headers: dict[str, str], told: str | None
) -> None:
    limited = answer(QUOTING, status=429, headers=headers)
    got = await pair.ask(endpoint, limited, limited, stream=stream)

    assert (got.status, got.headers.get("retry-after"), pair.asked) == (429, told, (1, 1))


async def test_a_time_that_is_soon_is_waited_for(pair: Pair, endpoint: Endpoint, stream: bool) -> None:
    limited = answer(QUOTING, status=429, headers={"Retry-After": "0"})
    got = await pair.ask(endpoint, limited, answer(QUOTING, status=429), stream=stream)

    assert got.status == 429
    assert pair.asked == (2, 1)


CLIENTS_OWN = {
    "cookie": "session=canary",
    "api-key": "canary",
    "x-forwarded-for": "10.9.8.7",
    "x-forwarded-host": "canary",
    "forwarded": "for=canary",
    "referer": "http://canary",
    "traceparent": "00-canary",
    "anthropic-beta": "canary",
    "openai-organization": "canary",
}


async def test_nothing_of_the_clients_headers_goes_out(pair: Pair, endpoint: Endpoint) -> None:
    pair.one.scripts = (good(endpoint, stream=False),)
    pair.one.requests.clear()
    got = await ask(pair.home.url, endpoint, endpoint.asking(stream=False), CLIENTS_OWN)

    head = pair.one.requests[0].head.decode().lower()
    assert got.status == 200
    assert pair.one.requests[0].headers["authorization"] == f"Bearer {CANARY}"
    assert "canary" not in head.replace(CANARY, "")
    assert not [name for name in CLIENTS_OWN if f"\r\n{name}:" in head]


async def test_a_silent_stream_is_kept_alive_and_understood_as_ever(tmp_path: Path) -> None:
    """Silent longer than the pulse, before the first event and in the middle; all endpoints wait at once."""
    async with AsyncExitStack() as stack:
        slow = [await stack.enter_async_context(fake_upstream(_slow(endpoint))) for endpoint in ENDPOINTS]
        pairs = zip(ENDPOINTS, slow, strict=True)
        listed = [endpoint.deployment(upstream.url) for endpoint, upstream in pairs]
        home = await stack.enter_async_context(house(tmp_path, listed, rules={**RULES, "keep_alive": 0.1}))
        answers = [ask(home.url, endpoint, endpoint.asking(stream=True)) for endpoint in ENDPOINTS]
        given = await asyncio.gather(*answers)

    for endpoint, got in zip(ENDPOINTS, given, strict=True):
        heard = endpoint.read(got)
        assert (heard.text, heard.usage) == (SAID.text, USAGE)
        first = got.body.index(b"data:")
        assert b": keep-alive\n\n" in got.body[:first]
        assert b": keep-alive\n\n" in got.body[first:]
        assert [len(upstream.requests) for upstream in slow] == [1] * len(slow)


def _slow(endpoint: Endpoint) -> Script:
    events = [Framing().write([event]) for event in endpoint.events(SAID)]
    half = len(events) // 2 + 1
    done = b"" if endpoint is OWN_MESSAGES else b"data: [DONE]\n\n"
    return Script((STREAM_HEAD, b"".join(events[:half]), b"".join([*events[half:], done])), pause=0.4)


async def test_a_failure_after_a_comment_is_told_within_the_stream(tmp_path: Path) -> None:
    """The status went out with the first comment; what follows must still not look like an answer."""
    async with AsyncExitStack() as stack:
        silent = Script((answer(QUOTING, status=400).pieces[0],), pause=0.5)
        upstream = await stack.enter_async_context(fake_upstream(silent))
        listed = [endpoint.deployment(upstream.url) for endpoint in ENDPOINTS]
        home = await stack.enter_async_context(house(tmp_path, listed, rules={**RULES, "keep_alive": 0.1}))
        answers = [ask(home.url, endpoint, endpoint.asking(stream=True)) for endpoint in ENDPOINTS]
        given = await asyncio.gather(*answers)

    for endpoint, got in zip(ENDPOINTS, given, strict=True):
        heard = endpoint.read(got)
        assert (got.status, heard.ending, heard.text) == (200, "failed", "")
        assert (b"[DONE]" in got.body, b"canary" in got.body) == (False, False)
