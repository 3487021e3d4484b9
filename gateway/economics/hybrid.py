"""How many machines to own where what they do not carry goes to a host."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

from gateway.economics.break_even import bill, most_tokens, owned_usd, replicas_at, replicas_for
from gateway.economics.scenario import ONE, ZERO

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.economics.scenario import Scenario, Traffic

_ALL = 128
"""Up to so many numbers of replicas each is tried; of more some evenly apart (`_SOME`), then those around the best."""
_SOME = 24


@dataclass(frozen=True, slots=True)
class Hybrid:
    """The cheapest division of a volume between own machines and a host, per month."""

    replicas: int
    own_usd: Fraction
    """With spare machines only where privacy keeps a part in the house: for the rest the host stands in."""
    hosted_usd: Fraction
    """As `break_even.hosted_usd` counts it; nothing where no token goes there, since no contract is needed then."""
    overflow_share: Fraction
    """Of all tokens, what goes to the host."""
    all_hosted_usd: Fraction | None
    """None where privacy keeps a part in the house."""
    all_own_usd: Fraction

    @property
    def usd(self) -> Fraction:
        return self.own_usd + self.hosted_usd


def hybrid(scenario: Scenario, tokens: Fraction) -> Hybrid | None:
    """The best number of replicas for a month's tokens; None without capacity, or where none can hold the model."""
    divider = Divider.of(scenario)
    return None if divider is None else divider.best(tokens)


@dataclass(frozen=True, slots=True)
class Divider:
    """Divides volumes between own machines and a host; the hours that were seen are sorted once for all of them."""

    scenario: Scenario
    loads: _Loads
    host_usd: Callable[[Fraction], Fraction]
    carried: Fraction | None
    """By each replica if no hour is busier than another, in tokens of a month; None: any volume."""

    @classmethod
    def of(cls, scenario: Scenario) -> Divider | None:
        """None without capacity, or where none can hold the model."""
        if scenario.capacity is None or scenario.holds is False:
            return None
        carried = most_tokens(scenario.capacity, scenario.traffic.mix, ONE, 1)
        return cls(scenario, _Loads.of(scenario.traffic), bill(scenario.hosted, scenario.traffic.mix), carried)

    def best(self, tokens: Fraction) -> Hybrid:
        """The cheapest number of replicas.

        Never dearer than all of it hosted (where privacy allows that) or all of it owned. What privacy forces home is
        carried through its own busiest hour. Among hundreds of replicas the best is exact where the host has one price
        for any volume; with volume tiers or a least bill it may be one near it.
        """
        scenario, host_usd = self.scenario, self.host_usd
        forced = scenario.traffic.forced_share * tokens
        least = _replicas_for_forced(scenario, forced)
        all_hosted_usd = None if forced else host_usd(tokens)
        all_own_usd = owned_usd(scenario, tokens)

        def divided(replicas: int) -> Hybrid:
            full = None if self.carried is None else replicas * self.carried
            share = _overflow_share(scenario.traffic, self.loads, tokens, full)
            return Hybrid(
                replicas=replicas,
                own_usd=_own_usd(scenario, replicas, has_forced=forced > 0),
                hosted_usd=host_usd(share * tokens) if share else ZERO,
                overflow_share=share,
                all_hosted_usd=all_hosted_usd,
                all_own_usd=all_own_usd,
            )

        best = _best(divided, max(least, scenario.owned.least_replicas), replicas_at(scenario, tokens))
        nothing_owned = Hybrid(
            0, ZERO, host_usd(tokens) if tokens else ZERO, ONE if tokens else ZERO, all_hosted_usd, all_own_usd
        )
        return best if least else min(nothing_owned, best, key=lambda each: each.usd)


def overflow_share(scenario: Scenario, tokens: Fraction, replicas: int) -> Fraction:
    """Of a month's tokens, what so many replicas do not carry hour by hour; ValueError without capacity.

    Hours are those that were seen (`shape`). Without them they are taken to lie on the load-duration curve
    κ·q^(κ-1) over the part q of the month, whose mean is 1 and whose top is κ = `peak_to_mean`: the one figure that is
    known. Loads above `peak_to_mean` wait, as they do where all is owned.
    """
    if scenario.capacity is None:
        raise ValueError("what overflows takes the capacity of a replica")
    if not replicas:
        return ONE if tokens else ZERO
    carried = most_tokens(scenario.capacity, scenario.traffic.mix, ONE, replicas)
    return _overflow_share(scenario.traffic, _Loads.of(scenario.traffic), tokens, carried)


@dataclass(frozen=True, slots=True)
class _Loads:
    """Hours that were seen, by rising load; their mean is 1."""

    loads: tuple[Fraction, ...]
    sums: tuple[Fraction, ...]
    """Of the first so many of them."""

    @classmethod
    def of(cls, traffic: Traffic) -> _Loads:
        mean = sum(traffic.shape, ZERO) / max(len(traffic.shape), 1)
        loads = tuple(sorted(load / mean for load in traffic.shape))
        return cls(loads, tuple(accumulate(loads, initial=ZERO)))

    def above(self, carried: Fraction, peak: Fraction) -> Fraction:
        """The part of all tokens above what is carried; loads above the peak wait."""
        at, top = bisect_right(self.loads, carried), bisect_right(self.loads, peak)
        below_peak = self.sums[top] - self.sums[at] - (top - at) * carried
        return (below_peak + (len(self.loads) - top) * (peak - carried)) / self.sums[-1]


def _overflow_share(traffic: Traffic, seen: _Loads, tokens: Fraction, carried: Fraction | None) -> Fraction:
    """Above what is carried if no hour is busier than another; None: any volume is."""
    if not tokens or carried is None or carried >= tokens * traffic.peak_to_mean:
        return ZERO
    if seen.loads:
        return seen.above(carried / tokens, traffic.peak_to_mean)
    return _above_curve(traffic.peak_to_mean, carried / tokens)


def _replicas_for_forced(scenario: Scenario, forced: Fraction) -> int:
    if not forced or scenario.capacity is None:
        return 0
    return replicas_for(scenario.capacity, scenario.traffic.mix, scenario.traffic.peak_to_mean, forced)


def _own_usd(scenario: Scenario, replicas: int, *, has_forced: bool) -> Fraction:
    owned = scenario.owned if has_forced else replace(scenario.owned, spares=0)
    return owned.monthly(replicas)


def _best(divided: Callable[[int], Hybrid], low: int, high: int) -> Hybrid:
    """The cheapest of a range: a coarse look at all of it, then a closer one around what was best."""
    while True:
        stride = 1 if high - low <= _ALL else (high - low) // _SOME
        tried = [divided(replicas) for replicas in {*range(low, high + 1, stride), high}]
        best = min(tried, key=lambda each: (each.usd, each.replicas))
        if stride == 1:
            return best
        low, high = max(low, best.replicas - stride), min(high, best.replicas + stride)


def _above_curve(peak: Fraction, carried: Fraction) -> Fraction:
    """The integral of κ·q^(κ-1) above what is carried: 1 - c + q·c·(1 - 1/κ), where q is the part of time below c."""
    if peak == 1:
        return ONE - carried
    below = Fraction(float(carried / peak) ** float(1 / (peak - 1)))
    return max(ZERO, 1 - carried + below * carried * (1 - 1 / peak))
