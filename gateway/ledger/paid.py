"""What hosts were really paid for chats, by lane."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gateway.catalog.price_lists import price_of
from gateway.economics.scenario import Mix
from gateway.ledger.chat_lanes import FOLDED, LANES, OTHERS, Lane, Measures, mix, summed, tokens
from gateway.wire.lanes import LANES as ALL_LANES

if TYPE_CHECKING:
    from datetime import date

    from gateway.catalog.prices import Price
    from gateway.db.rollups import Summed
    from policies.pack import Pack

_MILLION = 1_000_000
_HALF_A_DAY = timedelta(hours=12)
"""Prices change with days of Greenwich: the one counts that the middle of the owner's day lies in."""
_NANO_USD_PER_USD = 1_000_000_000

Prices = Mapping[str, "Price"]
"""What deployments cost over time, by name."""
_Weights = dict[str, Fraction]


@dataclass(frozen=True, slots=True)
class Paid:
    """What hosts were paid, taxes and fees included."""

    tokens: int = 0
    usd: Fraction = Fraction(0)
    mix: Mix | None = None
    """Of these tokens; None: there are none."""
    by_lane: Mapping[Lane, Fraction] = field(default_factory=dict)
    """Dollars for a million tokens of each lane that had any: what was paid, divided as the usual prices of those days
    divide it."""
    undivided_tokens: int = 0
    """Those that `by_lane` leaves out, as the pack does not say any more what they cost."""

    @property
    def usd_per_million(self) -> Fraction | None:
        """Of all lanes together, exact; None: no tokens went to a host."""
        return self.usd * _MILLION / self.tokens if self.tokens else None

    def as_dict(self) -> dict[str, Any]:
        """The form for JSON."""
        whole = self.usd_per_million
        return {
            "tokens": self.tokens,
            "usd": float(self.usd),
            "usd_per_million": None if whole is None else float(whole),
            "usd_per_million_by_lane": {lane: float(price) for lane, price in self.by_lane.items()},
            "undivided_tokens": self.undivided_tokens,
        }


def prices_of(pack: Pack, today: date) -> Prices:
    """What the pack's deployments cost, also on days before."""
    return {spec.name: price_of(spec, pack, today) for spec in pack.deployments}


def paid(daily: Iterable[Summed], prices: Prices) -> Paid:
    """Put together what was paid to hosts; each group is of one deployment and one day."""
    days = list(daily)
    usd, undivided = Fraction(0), 0
    amounts: dict[Lane, Fraction] = defaultdict(Fraction)
    counts: dict[Lane, int] = defaultdict(int)
    for group in days:
        counted, weights = tokens(group.measures), _weights(group, prices)
        usd += _of_chats(group.measures, weights)
        if weights is None:
            undivided += counted
            continue
        for lane, into in FOLDED.items():
            counts[into] += group.measures[lane]
            amounts[into] += _share(group.measures, weights, lane)
    by_lane = {lane: amounts[lane] * _MILLION / counts[lane] for lane in LANES if counts[lane]}
    total = summed(days)
    return Paid(tokens(total), usd, mix(total), by_lane, undivided)


def _weights(group: Summed, prices: Prices) -> _Weights | None:
    """What each lane's tokens cost by the price of that day; None where it does not explain that anything was paid."""
    price = prices.get(group.names["deployment"])
    if price is None or group.bucket is None:
        return None
    try:
        meter = price.at(group.bucket + _HALF_A_DAY).meters.usual.standard.meters[0]
    except ValueError:  # no rate of exchange is known any more
        return None
    rates = dict(zip(ALL_LANES, meter.numerators, strict=True))
    met = [lane for lane in ALL_LANES if group.measures[lane]]
    if any(rates[lane] is None for lane in met):
        return None
    weights = {lane: Fraction(group.measures[lane] * (rates[lane] or 0), meter.per) for lane in met}
    return weights if any(weights.values()) or not group.measures["cost_nano_usd"] else None


def _of_chats(measures: Measures, weights: _Weights | None) -> Fraction:
    """The dollars of a group without what its embeddings cost, by their prices or, where those are unknown, tokens."""
    others = sum(measures[lane] for lane in OTHERS)
    if not others and not measures["searches"]:
        return Fraction(measures["cost_nano_usd"], _NANO_USD_PER_USD)
    if weights is not None:
        return sum((_share(measures, weights, lane) for lane in FOLDED), Fraction(0))
    chats = tokens(measures)
    return Fraction(measures["cost_nano_usd"] * chats, (chats + others) * _NANO_USD_PER_USD) if chats else Fraction(0)


def _share(measures: Measures, weights: _Weights, lane: str) -> Fraction:
    """The dollars of a group that fall to a lane."""
    whole = sum(weights.values())
    if not whole:
        return Fraction(0)
    return Fraction(measures["cost_nano_usd"], _NANO_USD_PER_USD) * weights.get(lane, 0) / whole
