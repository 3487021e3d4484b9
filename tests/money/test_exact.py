"""Sums are exact: rows, rollups, counters, what clients were told and what the upstream counted are one figure."""

from __future__ import annotations

import asyncio
import random
import re
from decimal import Decimal
from typing import TYPE_CHECKING

import aiohttp
import pytest

from tests.gateway.dashboard.site import Visitor
from tests.money.books import HELD, ROLLED, TOTAL, cost_of, one
from tests.money.gateways import ADMIN, body_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from tests.money.conftest import House
    from tests.money.gateways import Gateway

_AT_ONCE = 24


@pytest.mark.parametrize("calls", [600, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
async def test_every_sum_is_the_same_to_the_last_digit(
    house: Callable[..., AbstractAsyncContextManager[House]], calls: int
) -> None:
    draw = random.Random(20261201)
    prompts = [_prompt(draw) for _ in range(calls)]

    async with house() as opened, aiohttp.ClientSession() as session:
        gateway = opened.fleet.gateways[0]
        told = await _ask_all(gateway, session, prompts)
        counted = await _counter(session, gateway)
        shown, on_page = await _usage(session, gateway), await _page(gateway)
        rows, rolled = await one(opened.ledger, TOTAL), await one(opened.ledger, ROLLED)
        held = await one(opened.ledger, HELD)

    expected = sum(cost_of(*usage) for usage in prompts)
    assert rows["attempts"] == calls
    assert rows["cost"] == rolled["cost"] == counted == shown == on_page == told == expected
    assert dict(rows) == dict(rolled)
    assert (rows["fresh"] + rows["cached"], rows["cached"]) == (opened.counts.prompt, opened.counts.cached)
    assert (rows["output"] + rows["reasoning"], rows["reasoning"]) == (
        opened.counts.completion,
        opened.counts.reasoning,
    )
    assert held["held"] == 0


def _prompt(draw: random.Random) -> tuple[int, int, int, int]:
    prompt, completion = draw.randrange(1, 5000), draw.randrange(0, 900)
    return prompt, draw.randrange(0, prompt + 1), completion, draw.randrange(0, completion + 1)


async def _ask_all(gateway: Gateway, session: aiohttp.ClientSession, prompts: list[tuple[int, int, int, int]]) -> int:
    """Ask all of them, half as streams; the nano-dollars that the answers said in all."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def ask(position: int, usage: tuple[int, int, int, int]) -> int:
        said = f"ok {' '.join(map(str, usage))}"
        async with gate:
            return await _cost(gateway, session, said, stream=position % 2 == 1)

    return sum(await asyncio.gather(*(ask(position, usage) for position, usage in enumerate(prompts))))


async def _cost(gateway: Gateway, session: aiohttp.ClientSession, said: str, *, stream: bool) -> int:
    body = body_of(said, stream=stream)
    url, headers = f"{gateway.url}/v1/chat/completions", {"authorization": f"Bearer {ADMIN}"}
    async with session.post(url, json=body, headers=headers) as answer:
        content = (await answer.read()).decode()
        assert answer.status == 200, content
        found = re.search(r"soleira-cost-usd[=:] ?([\d.]+)", content) if stream else None
        cost = found[1] if found else answer.headers["soleira-cost-usd"]
    return int(Decimal(cost) * 10**9)


async def _counter(session: aiohttp.ClientSession, gateway: Gateway) -> int:
    """The counter that Prometheus reads."""
    async with session.get(f"{gateway.url}/metrics", headers={"authorization": f"Bearer {ADMIN}"}) as answer:
        text = await answer.text()
    values = re.findall(r"^soleira_cost_nano_usd_total\{[^}]*\} (\S+)$", text, re.MULTILINE)
    return int(sum(Decimal(value) for value in values))


async def _page(gateway: Gateway) -> int:
    """The figure of the month on the cost page, as its owner sees it."""
    jar = aiohttp.CookieJar(unsafe=True)  # the host is an address
    async with aiohttp.ClientSession(gateway.url, cookie_jar=jar) as http:
        visits = Visitor(http, gateway.url)
        await visits.sign_in(ADMIN)
        page = await visits.get("/dashboard/costs")
    figures = re.findall(r'<p class="figure"><a[^>]*><data class="money" value="(\d+)"', page.text)
    return int(figures[1])  # today's comes first


async def _usage(session: aiohttp.ClientSession, gateway: Gateway) -> int:
    """The total that the figures' endpoint answers."""
    async with session.get(f"{gateway.url}/admin/usage", headers={"authorization": f"Bearer {ADMIN}"}) as answer:
        return int((await answer.json())["total_nano_usd"])
