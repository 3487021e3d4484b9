"""Spend: sums by who, what and where; held money is told apart."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from gateway.ledger.entries import Account
from gateway.ledger.spend import spend
from gateway.ledger.usage import Span
from gateway.ledger.writer import open_writer
from gateway.wire.lanes import Usage
from tests.gateway.ledger.samples import BOOT, HOSTED, NOON, a_hold, a_settlement, deployment

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.ledger.entries import Hold

CLUSTER = deployment("our-k3", zone=replace(HOSTED, name="cluster"))


async def written(ledger: Path, holds: list[tuple[Hold, Usage | None]]) -> None:
    async with open_writer(ledger, BOOT) as writer:
        for hold, usage in holds:
            await writer.hold(hold)
            if usage is not None:
                await writer.settle(a_settlement(hold, usage))


async def test_an_empty_ledger_spent_nothing(engine: AsyncEngine) -> None:
    told = (await spend(engine)).as_dict()

    assert (told["total_nano_usd"], told["held_nano_usd"], told["attempts"], told["estimated"]) == (0, 0, 0, 0)
    assert not any(told["total"].values())
    assert [told[name] for name in ("lines", "by_model", "by_zone", "by_deployment", "by_principal")] == [[]] * 5


async def test_sums_are_by_model_zone_deployment_and_principal(ledger: Path, engine: AsyncEngine) -> None:
    await written(
        ledger,
        [
            (a_hold("att-1"), Usage(fresh=10, output=1)),
            (a_hold("att-2", CLUSTER), Usage(fresh=1, cached=2, output=3, reasoning=4, estimated=True)),
            (replace(a_hold("att-3"), account=Account("rui")), Usage(output=10)),
        ],
    )

    total = await spend(engine)

    assert (total.total_nano_usd, total.attempts, total.estimated) == (45_000 + 108_600 + 150_000, 3, 1)
    assert [(line.name, line.nano_usd) for line in total.by_model] == [("kimi-k3", 303_600)]
    assert [(line.name, line.nano_usd) for line in total.by_zone] == [("hosted", 195_000), ("cluster", 108_600)]
    assert [(line.name, line.attempts) for line in total.by_deployment] == [("moonshot-k3", 2), ("our-k3", 1)]
    assert [(line.name, line.nano_usd) for line in total.by_principal] == [("ana", 153_600), ("rui", 150_000)]
    [model] = total.by_model
    assert (model.fresh, model.cached, model.output, model.reasoning) == (11, 2, 14, 4)


async def test_what_is_held_is_not_spent_yet(ledger: Path, engine: AsyncEngine) -> None:
    await written(ledger, [(a_hold("att-1"), Usage(fresh=1)), (a_hold("att-2"), None)])

    total = await spend(engine)

    assert (total.total_nano_usd, total.held_nano_usd) == (3_000, 10_500_000)
    assert (total.attempts, total.held, total.estimated) == (1, 1, 0)
    assert total.by_model[0].attempts == 1


async def test_since_counts_what_started_then_or_later(ledger: Path, engine: AsyncEngine) -> None:
    earlier = replace(a_hold("att-1"), started_at=NOON - timedelta(microseconds=1))
    await written(ledger, [(earlier, Usage(fresh=1)), (a_hold("att-2"), Usage(fresh=2))])

    assert (await spend(engine, Span.open(NOON))).total_nano_usd == 6_000
    assert (await spend(engine)).total_nano_usd == 9_000


async def test_the_json_form_begins_with_the_total(ledger: Path, engine: AsyncEngine) -> None:
    await written(ledger, [(a_hold(), Usage(fresh=1))])

    text = json.dumps((await spend(engine, by="zone")).as_dict())

    assert text.startswith('{"total_nano_usd": 3000,')
    assert [(line["name"], line["nano_usd"]) for line in json.loads(text)["lines"]] == [("hosted", 3000)]
    assert json.loads(text)["by_model"][0] == {
        "name": "kimi-k3",
        "nano_usd": 3000,
        "attempts": 1,
        "estimated": 0,
        "tokens": 1,
        "fresh": 1,
        "cached": 0,
        "output": 0,
        "reasoning": 0,
    }
