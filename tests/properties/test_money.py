"""Money is conserved: what the ledger says was spent is what the tokens cost, to the nano-dollar."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.catalog.deployments import Price
from gateway.db.engine import open_engine
from gateway.errors import UpstreamCut, UpstreamUnavailable
from gateway.ledger.attempt import attempt
from gateway.ledger.price import as_usd, estimate, nano_usd
from gateway.ledger.spend import Spend, spend
from gateway.ledger.writer import open_writer
from gateway.wire.lanes import Usage
from tests.gateway.ledger.samples import BOOT, a_hold, deployment, fresh_ledger, rows, url_of

tokens = st.integers(0, 2_000_000)
usages = st.builds(Usage, fresh=tokens, cached=tokens, output=tokens, reasoning=tokens)
amounts = st.decimals(0, 1000, places=6, allow_nan=False, allow_infinity=False)
prices = st.builds(
    Price,
    input=amounts,
    output=amounts,
    source=st.just("made up"),
    as_of=st.just(date(2026, 1, 1)),
    cached=st.none() | amounts,
    reasoning=st.none() | amounts,
)


def by_hand(usage: Usage, price: Price) -> Fraction:
    """The exact cost in nano-dollars, in rational arithmetic."""
    cached = price.input if price.cached is None else price.cached
    reasoning = price.output if price.reasoning is None else price.reasoning
    lanes = [
        (usage.fresh, price.input),
        (usage.cached, cached),
        (usage.output, price.output),
        (usage.reasoning, reasoning),
    ]
    return sum((count * Fraction(per_million) * 1000 for count, per_million in lanes), Fraction(0))


@given(usages, prices)
def test_a_cost_is_the_exact_sum_of_its_lanes_rounded_once_half_even(usage: Usage, price: Price) -> None:
    cost = nano_usd(usage, price)

    assert type(cost) is int
    assert cost == round(by_hand(usage, price))


@given(tokens, tokens, prices, st.data())
def test_no_division_into_lanes_costs_more_than_the_estimate(
    prompt: int, completion: int, price: Price, data: st.DataObject
) -> None:
    cached = data.draw(st.integers(0, prompt))
    thinking = data.draw(st.integers(0, completion))
    usage = Usage(prompt - cached, cached, completion - thinking, thinking)

    held = nano_usd(estimate(prompt, completion, price), price)

    if price.cached is None or price.cached <= price.input:
        assert nano_usd(usage, price) <= held


@given(st.integers(-(10**15), 10**15))
def test_shown_dollars_are_the_stored_ones(nano: int) -> None:
    assert Decimal(as_usd(nano)) * 10**9 == nano


@dataclass(frozen=True)
class Call:
    """One attempt: what it costs, and how it ends."""

    usage: Usage | None
    price: Price
    end: str
    zone: int


calls = st.builds(
    Call,
    usage=st.none() | usages,
    price=prices,
    end=st.sampled_from(["ok", "cut", "unavailable", "bug", "gone"]),
    zone=st.integers(0, 2),
)
_ENDS: dict[str, BaseException] = {
    "cut": UpstreamCut("the answer ended early"),
    "unavailable": UpstreamUnavailable("no connection"),
    "bug": RuntimeError("a mistake of ours"),
    "gone": asyncio.CancelledError(),
}


@settings(max_examples=30, deadline=None)
@given(st.lists(calls, max_size=12))
def test_the_ledger_neither_makes_nor_loses_money(made: list[Call]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = fresh_ledger(Path(folder))
        total = asyncio.run(_make(path, made))

        stored = rows(path)

    expected = sum(round(by_hand(_charged(call), call.price)) for call in made)
    assert total.total_nano_usd == expected == sum(row["cost_nano_usd"] for row in stored)
    assert total.held_nano_usd == 0
    assert {type(row[name]) for row in stored for name in ("cost_nano_usd", "held_nano_usd", "fresh")} <= {int}
    for lines in (total.by_model, total.by_zone, total.by_deployment, total.by_principal):
        assert sum(line.nano_usd for line in lines) == expected
        assert sum(line.output for line in lines) == sum(_charged(call).output for call in made)


def _charged(call: Call) -> Usage:
    """The rule: known usage; else nothing where nothing was taken; else the estimate."""
    if call.usage is not None:
        return call.usage
    return Usage() if call.end == "unavailable" else estimate(1000, 500, call.price)


async def _make(path: Path, made: list[Call]) -> Spend:
    async with open_writer(path, BOOT) as writer:

        async def one(number: int, call: Call) -> None:
            where = deployment(f"d{number % 3}", call.price, model=f"m{call.zone}")
            hold = a_hold(f"att-{number}", where, estimate(1000, 500, call.price))
            async with attempt(writer, hold) as record:
                record.usage = call.usage
                if call.end != "ok":
                    raise _ENDS[call.end]

        await asyncio.gather(*(one(*numbered) for numbered in enumerate(made)), return_exceptions=True)
    engine = open_engine(url_of(path))
    try:
        return await spend(engine)
    finally:
        await engine.dispose()
