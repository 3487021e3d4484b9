"""Costs over volume and over use, as they are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.economics.break_even import (
    blended,
    hosted_usd,
    load_per_token,
    most_tokens,
    owned_usd,
    usd_per_million,
)
from gateway.economics.hybrid import Divider
from gateway.economics.scenario import MILLION, ONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.economics.break_even import BreakEven
    from gateway.economics.scenario import Scenario

_POINTS = 40
_STAIRS = 12
"""So many steps are drawn with both their edges; of more, none: the points between show the slope."""
_ROOM = Fraction(8, 5)
_UTILISATIONS = tuple(Fraction(percent, 100) for percent in (5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 100))


@dataclass(frozen=True, slots=True)
class VolumePoint:
    """A volume of the chart, in tokens of a month, and what it costs either way, in dollars."""

    tokens: Fraction
    own_usd: Fraction
    hosted_usd: Fraction
    hybrid_usd: Fraction | None


@dataclass(frozen=True, slots=True)
class UsedPoint:
    """What a million tokens cost on replicas that are so busy."""

    utilisation: Fraction
    usd_per_million: Fraction
    """Of all tokens."""
    usd_per_million_output: Fraction | None
    """The same money over the written tokens alone; None: none are written."""


def over_volume(scenario: Scenario, needed: Fraction | None) -> tuple[VolumePoint, ...]:
    """From nothing to beyond today and the break-even, both edges of each step among them."""
    end = _end(scenario, needed)
    even = {end * number / _POINTS for number in range(_POINTS + 1)}
    marked = {volume for volume in (needed, scenario.traffic.tokens_per_month) if volume is not None}
    divider = Divider.of(scenario)
    return tuple(_point(scenario, divider, tokens) for tokens in sorted({*even, *marked, *_edges(scenario, end)}))


def over_utilisation(scenario: Scenario, result: BreakEven) -> tuple[UsedPoint, ...]:
    """Of the least fleet, without regard to peaks; empty without capacity."""
    capacity, mix = scenario.capacity, scenario.traffic.mix
    if capacity is None or scenario.holds is False or not load_per_token(capacity, mix):
        return ()
    replica_usd = result.monthly_usd / scenario.owned.least_replicas
    return tuple(
        UsedPoint(
            utilisation=used,
            usd_per_million=usd_per_million(replica_usd, capacity, mix, used),
            usd_per_million_output=usd_per_million(replica_usd, capacity, mix, used, "output") if mix.output else None,
        )
        for used in _UTILISATIONS
    )


def used_at_break_even(scenario: Scenario, result: BreakEven) -> Fraction | None:
    """At which use a million tokens cost what they cost at the host."""
    capacity, mix = scenario.capacity, scenario.traffic.mix
    price = blended(scenario.hosted, mix)
    if capacity is None or scenario.holds is False or not price or not load_per_token(capacity, mix):
        return None
    return usd_per_million(result.monthly_usd / scenario.owned.least_replicas, capacity, mix, ONE) / price


def _end(scenario: Scenario, needed: Fraction | None) -> Fraction:
    """Where the chart ends: what is known lies well within."""
    known = [volume for volume in (needed, scenario.traffic.tokens_per_month) if volume]
    if known:
        return max(known) * _ROOM
    carried = _step(scenario)
    price = blended(scenario.hosted, scenario.traffic.mix)
    if carried is not None:
        return carried * 3
    return scenario.owned.monthly(scenario.owned.least_replicas) * MILLION / price * 2 if price else Fraction(MILLION)


def _step(scenario: Scenario) -> Fraction | None:
    """The tokens of a month that each further replica carries."""
    if scenario.capacity is None:
        return None
    return most_tokens(scenario.capacity, scenario.traffic.mix, scenario.traffic.peak_to_mean, 1)


def _edges(scenario: Scenario, end: Fraction) -> Iterator[Fraction]:
    """The last volume before each step and the first one on it."""
    step = _step(scenario)
    if step is None or step * _STAIRS < end:
        return
    for replicas in range(scenario.owned.least_replicas, _STAIRS + 1):
        if step * replicas < end:
            yield step * replicas
            yield step * replicas + 1


def _point(scenario: Scenario, divider: Divider | None, tokens: Fraction) -> VolumePoint:
    return VolumePoint(
        tokens=tokens,
        own_usd=owned_usd(scenario, tokens),
        hosted_usd=hosted_usd(scenario.hosted, scenario.traffic.mix, tokens),
        hybrid_usd=None if divider is None else divider.best(tokens).usd,
    )
