"""Whatever becomes of calls and processes, nothing stays held, and each call is in the books once."""

from __future__ import annotations

import asyncio
import random
import signal
from typing import TYPE_CHECKING

import aiohttp
import pytest

from tests.money.books import HELD, IN_WINDOWS, ROLLED, TOTAL, one, query

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from typing import Any

    from tests.money.conftest import House

_ENDINGS = ("ok", "ok", "ok", "ok", "400", "429", "500", "cut", "leave", "timeout")
_BUDGET = {"budgets.yaml": {"budgets": [{"name": "house", "of": "house", "limit": {"usd": 1000}, "per": "month"}]}}
_SETTLED_SECONDS = 60.0


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("house", "calls"),
    [
        ("sqlite", 120),
        pytest.param("postgresql", 120, marks=pytest.mark.slow),
        pytest.param("sqlite", 500, marks=pytest.mark.slow),
        pytest.param("postgresql", 500, marks=pytest.mark.slow),
    ],
    indirect=["house"],
)
async def test_mixed_endings_and_a_killed_process_leave_nothing_held(
    house: Callable[..., AbstractAsyncContextManager[House]], calls: int
) -> None:
    draw = random.Random(500)
    plan = [(draw.choice(_ENDINGS), draw.random() < 0.5) for _ in range(calls)]
    before = calls * 2 // 5

    async with house(2, _BUDGET) as opened, aiohttp.ClientSession() as session:
        victim, survivor = opened.fleet.gateways
        gate = asyncio.Semaphore(40)

        async def ask(position: int, ending: str, stream: bool) -> None:
            async with gate:
                gateway = victim if position % 2 and position < calls else survivor
                if ending == "leave":
                    await gateway.leave(session, "slow 7 3 5 2")
                else:
                    await gateway.ask(session, f"{ending} 7 3 5 2" if ending == "ok" else ending, stream=stream)

        await asyncio.gather(*(ask(position, *how) for position, how in enumerate(plan[:before])))
        dying = asyncio.gather(*(victim.ask(session, "wait 7 3 5 2", stream=stream) for stream in (False, True) * 5))
        while opened.counts.calls.get("wait", 0) < 10:
            await asyncio.sleep(0.01)
        victim.process.send_signal(signal.SIGKILL)
        victim.process.wait()
        await dying
        await asyncio.gather(*(ask(position, *how) for position, how in enumerate(plan[before:], 1000)))
        opened.counts.release.set()
        await _until_nothing_is_held(opened.ledger)
        rows, rolled = await one(opened.ledger, TOTAL), await one(opened.ledger, ROLLED)
        windows = await one(opened.ledger, IN_WINDOWS)
        ends = await _ends(opened.ledger)
        known = await one(opened.ledger, f"{TOTAL} WHERE NOT estimated")
        exact = [row["cost_nano_usd"] for row in await query(opened.ledger, _COSTS)]

    counts = opened.counts
    assert dict(rows) == dict(rolled)
    assert (windows["held"], windows["held_tokens"], windows["spent"]) == (0, 0, rows["cost"])
    assert rows["cost"] == sum(exact)
    assert rows["attempts"] == counts.total, "each call has its row, and no row is without its call"
    assert (known["fresh"] + known["cached"], known["output"] + known["reasoning"]) == _told(
        counts.prompt, counts.completion
    )
    assert ends["unknown"] == 10
    assert all(row["estimated"] for row in await _of(opened.ledger, "unknown"))


_COSTS = "SELECT cost_nano_usd FROM attempts"


def _told(prompt: int, completion: int) -> tuple[int, int]:
    return prompt, completion


async def _until_nothing_is_held(ledger: str) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + _SETTLED_SECONDS
    while loop.time() < until:
        if not (await one(ledger, HELD))["held"]:
            return
        await asyncio.sleep(0.5)
    raise AssertionError(f"still held: {await query(ledger, 'SELECT owner, outcome FROM attempts WHERE state = 0')}")


async def _ends(ledger: str) -> dict[str, int]:
    rows = await query(ledger, "SELECT outcome, count(*) AS number FROM attempts GROUP BY outcome")
    return {row["outcome"]: row["number"] for row in rows}


async def _of(ledger: str, outcome: str) -> list[Mapping[str, Any]]:
    return await query(ledger, f"SELECT estimated FROM attempts WHERE outcome = '{outcome}'")
