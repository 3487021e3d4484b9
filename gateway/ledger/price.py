"""What tokens cost, exactly.

A price is per million tokens, so a token costs `price * 1000` nano-dollars at one unit of the currency for a dollar.
The lanes are disjoint (`gateway.wire.lanes.Usage`): every token is charged in one lane, at the price of that lane.
Prices are integers over a common denominator, worked out once (`gateway.catalog.meters`); a cost is a sum of products
and one division, rounded half-even.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

from gateway.wire.lanes import LANES, Usage

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from gateway.catalog.meters import Meter, Schedule
    from gateway.catalog.prices import Price

_NANO_USD_PER_USD = 1_000_000_000
_COUNTS = attrgetter(*LANES)
_ALL = frozenset(LANES)
_FRESH, _CACHED = LANES.index("fresh"), LANES.index("cached")
_INPUT = ("fresh", "cached", "cache_write_5m", "cache_write_1h", "image_input", "audio_input", "embedding", "rerank")
_OUTPUT = ("output", "reasoning", "image_output", "audio_output")


class UnpricedLaneError(ValueError):
    """Usage of a kind that the price says nothing of: nobody knows what it costs."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What a usage costs."""

    nano_usd: int
    """The whole, surcharges included."""
    surcharge_nano_usd: int = 0
    """Of the whole, what the owner's cost lines add to the provider's own price."""
    saved_nano_usd: int = 0
    """What cached tokens would have cost more as fresh ones; below 0 where a cache is dearer."""
    assumed: bool = False
    """True if something was charged at a price that is not its own: another lane's, another tier's, a lapsed one."""


def charge(usage: Usage, price: Price, at: datetime, service_tier: str | None = None) -> Charge:
    """The cost of one attempt that began at a moment, rounded half-even once, over the sum of its lanes.

    `service_tier` is what the upstream says it was served under. UnpricedLaneError if the price says nothing of a lane.
    """
    counts = _counted(usage)
    current = price.at(at)
    schedule, stands_in = current.meters.services(at).served(service_tier)
    meter = _meter(schedule, usage)
    parts = _sum(counts, meter)
    total = _whole(parts, meter)
    return Charge(
        nano_usd=total,
        surcharge_nano_usd=total - _rounded(parts, meter.per),
        saved_nano_usd=_saved(counts[_CACHED], meter),
        assumed=current.lapsed
        or (stands_in and total != 0)
        or any(assumed for count, assumed in zip(counts, meter.assumed, strict=True) if count),
    )


def nano_usd(usage: Usage, price: Price) -> int:
    """The cost at the price's usual rates, whatever the moment: what is expected before anything is known."""
    counts = _counted(usage)
    meter = _meter(price.meters.usual.standard, usage)
    return _whole(_sum(counts, meter), meter)


def most_nano_usd(usage: Usage, price: Price) -> int:
    """The most that so many tokens may come to: at any time of day, under any service tier, with a smaller prompt."""
    counts = _counted(usage)
    return max(_whole(_sum(counts, meter), meter) for meter in price.meters.up_to(usage.prompt))


def estimate(prompt: int, completion: int, price: Price, lanes: Collection[str] = _ALL, *, searches: int = 0) -> Usage:
    """The dearest use of so many tokens, among the lanes that the request may meet, beside its searches if those cost.

    Where hours, service tiers or the prompt's size change the rates, those decide that come to the most: nothing that
    uses at most so many tokens of these lanes costs more than `most_nano_usd` of this.
    """
    met = [_dearest(meter, frozenset(lanes)) for meter in price.meters.up_to(prompt)]
    best = met[0] if len(met) == 1 else max(met, key=lambda dear: prompt * dear.input + completion * dear.output)
    counted = searches if best.counts_searches else 0
    return Usage(**{best.input_lane: prompt, best.output_lane: completion}, searches=counted, estimated=True)


def as_usd(nano: int) -> str:
    """Nano-dollars as a plain decimal number of dollars, every digit kept: `1500` is `0.0000015`."""
    sign, whole, rest = "-" if nano < 0 else "", *divmod(abs(nano), _NANO_USD_PER_USD)
    return f"{sign}{whole}.{rest:09d}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class _Dearest:
    """The dearest lanes of a meter, and what a token costs there with everything on top."""

    input_lane: str
    output_lane: str
    input: Fraction
    output: Fraction
    counts_searches: bool


@lru_cache(maxsize=1024)
def _dearest(meter: Meter, lanes: frozenset[str]) -> _Dearest:
    rates = dict(zip(LANES, meter.numerators, strict=True))
    into, out = (
        max((lane for lane in among if lane in lanes), key=lambda lane: rates[lane] or 0) for among in (_INPUT, _OUTPUT)
    )
    whole = Fraction(*meter.on_top) / meter.per
    return _Dearest(into, out, (rates[into] or 0) * whole, (rates[out] or 0) * whole, rates["searches"] is not None)


def _meter(schedule: Schedule, usage: Usage) -> Meter:
    return schedule.meter(usage.prompt) if schedule.above else schedule.meters[0]


def _counted(usage: Usage) -> tuple[int, ...]:
    counts: tuple[int, ...] = _COUNTS(usage)
    if min(counts) < 0:
        raise ValueError("tokens of an attempt are never negative")
    return counts


def _sum(counts: tuple[int, ...], meter: Meter) -> int:
    """What the provider takes, as a numerator over the meter's denominator."""
    total = 0
    for lane, count, rate in zip(LANES, counts, meter.numerators, strict=True):
        if not count:
            continue
        if rate is None:
            raise UnpricedLaneError(f"the price says nothing of {lane}: add what they cost to the pack")
        total += count * rate
    return total


def _whole(parts: int, meter: Meter) -> int:
    """Nano-dollars with surcharges, rounded half-even."""
    numerator, denominator = meter.on_top
    return _rounded(parts * numerator, meter.per * denominator)


def _saved(cached: int, meter: Meter) -> int:
    """What so many tokens would have cost more as fresh ones."""
    as_fresh, as_cached = meter.numerators[_FRESH] or 0, meter.numerators[_CACHED] or 0
    return _whole(cached * (as_fresh - as_cached), meter) if cached else 0


def _rounded(numerator: int, denominator: int) -> int:
    """The quotient, rounded half-even."""
    whole, rest = divmod(numerator, denominator)
    if 2 * rest > denominator or (2 * rest == denominator and whole % 2):
        return whole + 1
    return whole
