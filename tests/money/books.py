"""What the ledger says, read by a connection of its own, and what it should say."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from gateway.db.engine import open_engine
from tests.money.gateways import PRICE

if TYPE_CHECKING:
    from collections.abc import Mapping


async def query(url: str, statement: str) -> list[Mapping[str, Any]]:
    """The rows of a statement; sums are integers whatever the database calls them."""
    engine = open_engine(url)
    try:
        async with engine.begin() as connection:
            rows = (await connection.execute(text(statement))).mappings().all()
    finally:
        await engine.dispose()
    return [{name: int(value) if isinstance(value, Decimal) else value for name, value in row.items()} for row in rows]


async def one(url: str, statement: str) -> Mapping[str, Any]:
    """The only row of a statement."""
    (row,) = await query(url, statement)
    return row


def cost_of(prompt: int, cached: int, completion: int, reasoning: int) -> int:
    """The nano-dollars of one call by hand: exact, and rounded half to even once."""
    rates = {lane: Fraction(amount) for lane, amount in PRICE["per_million"].items()}  # type: ignore[attr-defined]
    millionths = (
        (prompt - cached) * rates["input"]
        + cached * rates["cached"]
        + (completion - reasoning) * rates["output"]
        + reasoning * rates["reasoning"]
    )
    return round(millionths * 1000)


LANES = "sum(fresh) AS fresh, sum(cached) AS cached, sum(output) AS output, sum(reasoning) AS reasoning"
TOTAL = f"SELECT count(*) AS attempts, coalesce(sum(cost_nano_usd), 0) AS cost, {LANES} FROM attempts"
ROLLED = f"SELECT sum(attempts) AS attempts, coalesce(sum(cost_nano_usd), 0) AS cost, {LANES} FROM rollups"
HELD = "SELECT count(*) AS held FROM attempts WHERE state = 'held'"
IN_WINDOWS = (
    "SELECT coalesce(sum(held_nano_usd), 0) AS held, coalesce(sum(held_tokens), 0) AS held_tokens, "
    "coalesce(sum(spent_nano_usd), 0) AS spent FROM budget_windows"
)
