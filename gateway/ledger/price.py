"""What tokens cost, exactly.

A price is in US dollars per million tokens, so a token costs `price * 1000` nano-dollars. The lanes are disjoint
(`gateway.wire.lanes.Usage`): every token is charged in one lane, at the price of that lane.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, Inexact, InvalidOperation, Overflow, localcontext
from typing import TYPE_CHECKING

from gateway.wire.lanes import Usage

if TYPE_CHECKING:
    from gateway.catalog.deployments import Price

_NANO_USD_PER_USD = 1_000_000_000
_NANO_USD_PER_MILLIONTH = Decimal(_NANO_USD_PER_USD // 1_000_000)
# A sum that would not fit exactly is an error, never a rounded price.
_EXACT = Context(prec=100, rounding=ROUND_HALF_EVEN, traps=[Inexact, InvalidOperation, Overflow])


def nano_usd(usage: Usage, price: Price) -> int:
    """The cost of one attempt, rounded half-even once, over the sum of its lanes.

    A missing `cached` price is the `input` price, a missing `reasoning` price the `output` price: a lane without
    its own price is charged in full, never given away.
    """
    if price.currency != "USD":
        raise ValueError(f"a price in {price.currency!r} has no cost in USD: no exchange rate is known")
    if min(usage.fresh, usage.cached, usage.output, usage.reasoning) < 0:
        raise ValueError("tokens of an attempt are never negative")
    with localcontext(_EXACT):
        return int((_usd_millionths(usage, price) * _NANO_USD_PER_MILLIONTH).to_integral_value())


def estimate(prompt: int, completion: int, price: Price) -> Usage:
    """The dearest use of so many tokens: nothing from the cache, and the dearer of the two output lanes."""
    if _or(price.reasoning, price.output) > price.output:
        return Usage(fresh=prompt, reasoning=completion, estimated=True)
    return Usage(fresh=prompt, output=completion, estimated=True)


def as_usd(nano: int) -> str:
    """Nano-dollars as a plain decimal number of dollars, every digit kept: `1500` is `0.0000015`."""
    sign, whole, rest = "-" if nano < 0 else "", *divmod(abs(nano), _NANO_USD_PER_USD)
    return f"{sign}{whole}.{rest:09d}".rstrip("0").rstrip(".")


def _usd_millionths(usage: Usage, price: Price) -> Decimal:
    return (
        usage.fresh * price.input
        + usage.cached * _or(price.cached, price.input)
        + usage.output * price.output
        + usage.reasoning * _or(price.reasoning, price.output)
    )


def _or(price: Decimal | None, otherwise: Decimal) -> Decimal:
    return otherwise if price is None else price
