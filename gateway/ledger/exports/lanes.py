"""What each lane of an attempt cost: the parts that its one rounded cost is made of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.ledger.price import UnpricedLaneError, charge
from gateway.wire.lanes import LANES, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateway.catalog.meters import Schedule
    from gateway.catalog.prices import Price
    from gateway.db.attempts import AttemptRow


@dataclass(frozen=True, slots=True)
class LaneCost:
    """One lane's tokens, what the provider takes for one of them, and the whole nano-dollars that they cost."""

    lane: str
    count: int
    rate: Fraction
    """Nano-dollars for one, without surcharges."""
    nano_usd: int
    above: int | None
    """Its price is of prompts with more tokens than this; None: of all, or of those below the first threshold."""


def usage_of(row: AttemptRow) -> Usage:
    """The row's tokens by lane."""
    return Usage(**{lane: getattr(row, lane) for lane in LANES}, estimated=row.estimated)


def lane_costs(row: AttemptRow, prices: Iterable[Price]) -> tuple[LaneCost, ...] | None:
    """The row's cost without surcharges by lane; the parts are whole nano-dollars and add up to it exactly.

    None if none of the prices comes to what the row says: it was another price, which is not known any more.
    """
    usage = usage_of(row)
    for price in prices:
        if _explains(price, usage, row):
            return _split(usage, _schedule(price, row), _own(row))
    return None


def _own(row: AttemptRow) -> int:
    return (row.cost_nano_usd or 0) - row.surcharge_nano_usd


def _explains(price: Price, usage: Usage, row: AttemptRow) -> bool:
    try:
        charged = charge(usage, price, row.started_at, row.service_tier)
    except (UnpricedLaneError, ValueError):
        return False
    return (charged.nano_usd, charged.surcharge_nano_usd) == (row.cost_nano_usd, row.surcharge_nano_usd)


def _schedule(price: Price, row: AttemptRow) -> Schedule:
    schedule, _ = price.at(row.started_at).meters.services(row.started_at).served(row.service_tier)
    return schedule


def _split(usage: Usage, schedule: Schedule, total: int) -> tuple[LaneCost, ...]:
    """Cut the total at the lanes' exact costs; what is less than a nano-dollar goes where most of one is left."""
    meter = schedule.meter(usage.prompt)
    above = max((least for least in schedule.above if usage.prompt > least), default=None)
    rates = dict(zip(LANES, meter.numerators, strict=True))
    met = [(lane, count, Fraction(rates[lane] or 0, meter.per)) for lane, count in usage.lanes.items() if count]
    parts = _whole([count * rate for _, count, rate in met], total)
    return tuple(LaneCost(lane, count, rate, part, above) for (lane, count, rate), part in zip(met, parts, strict=True))


def _whole(exact: Sequence[Fraction], total: int) -> list[int]:
    """Whole numbers near the exact ones that add up to the total."""
    whole = [int(part) for part in exact]
    order = sorted(range(len(exact)), key=lambda index: (whole[index] - exact[index], index))
    for index in order[: total - sum(whole)]:
        whole[index] += 1
    return whole
