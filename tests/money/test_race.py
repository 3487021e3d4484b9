"""A budget of n calls admits n of fifty that come at once over two processes, never more."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import aiohttp
import pytest

from gateway.ledger.price import as_usd
from tests.money.books import IN_WINDOWS, TOTAL, cost_of, one
from tests.money.gateways import bound

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from tests.money.conftest import House

_CALLS = 50
_ROOM = 7


def _budget(nano_usd: int) -> dict[str, object]:
    limit = {"usd": as_usd(nano_usd)}
    return {"budgets.yaml": {"budgets": [{"name": "narrow", "of": "house", "limit": limit, "per": "month"}]}}


def _used_as_estimated() -> tuple[str, int]:
    """A prompt that has the upstream use exactly what was estimated, all output being thoughts, and its cost."""
    prompt = next(tokens for tokens in range(1, 100) if bound(f"ok {tokens} 0 16 16") == tokens)
    return f"ok {prompt} 0 16 16", cost_of(prompt, 0, 16, 16)


@pytest.mark.timeout(120)
async def test_fifty_calls_at_once_never_pass_a_budget_of_seven(
    house: Callable[..., AbstractAsyncContextManager[House]],
) -> None:
    """The budget has room for seven holds; what is settled is less, so that later calls find room again."""
    said = "wait 7 3 5 2"
    held = cost_of(bound(said), 0, 16, 16)
    async with house(2, _budget(_ROOM * held + held // 2)) as opened, aiohttp.ClientSession() as session:
        asked = [
            opened.fleet.gateways[position % 2].ask(session, said, stream=position % 4 < 2)
            for position in range(_CALLS)
        ]
        answers = asyncio.gather(*asked)
        for _ in range(200):
            if opened.counts.total >= _ROOM:
                break
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        waiting = opened.counts.total
        opened.counts.release.set()
        statuses = Counter(status for status, _ in await answers)
        after = await opened.fleet.gateways[0].ask(session, "ok 7 3 5 2")

    assert waiting == _ROOM
    assert statuses == {200: _ROOM, 429: _CALLS - _ROOM}
    assert after[0] == 200


@pytest.mark.timeout(120)
async def test_where_estimates_equal_settlements_exactly_so_many_are_admitted(
    house: Callable[..., AbstractAsyncContextManager[House]],
) -> None:
    said, cost = _used_as_estimated()
    async with house(2, _budget(_ROOM * cost)) as opened, aiohttp.ClientSession() as session:
        asked = [opened.fleet.gateways[position % 2].ask(session, said) for position in range(_CALLS)]
        statuses = Counter(status for status, _ in await asyncio.gather(*asked))
        refused = await opened.fleet.gateways[1].ask(session, said)
        rows, windows = await one(opened.ledger, TOTAL), await one(opened.ledger, IN_WINDOWS)

    assert statuses == {200: _ROOM, 429: _CALLS - _ROOM}
    assert rows["attempts"] == opened.counts.total == _ROOM
    assert (windows["held"], windows["spent"]) == (0, rows["cost"]) == (0, _ROOM * cost)
    assert refused[0] == 429
    assert int(refused[1]["retry-after"]) > 0
    assert refused[1]["x-should-retry"] == "false"
