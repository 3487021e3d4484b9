"""When owning begins to pay, and what it is worth: growth, falling prices, payback, present value.

Months are counted from today: the first one has today's volume and today's prices. Logarithms, falling prices within a
year and present values are floating point; all else is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from math import log, log1p
from typing import TYPE_CHECKING, TypeVar

from gateway.economics.break_even import hosted_usd, is_cheaper, replicas_at
from gateway.economics.scenario import ONE, ZERO, Purchase
from gateway.economics.sensitivity import with_input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.economics.scenario import Owned, Scenario

LONGEST = 120
"""Months that are looked ahead: beyond ten years neither growth nor machines stay what they are."""

_MONTHS_A_YEAR = 12
_Usd = TypeVar("_Usd", Fraction, float)


@dataclass(frozen=True, slots=True)
class Payback:
    """What is paid at once, and how it comes back."""

    usd: Fraction
    """Paid at once: machines and what setting them up costs."""
    months: int | None
    """The first at whose end all is back for good; None: not within the machines' life."""
    discounted_months: int | None
    npv_usd: float
    """Present value of all savings and of what is left, less what is paid at once."""
    over_months: int
    """The machines' life, over which all of this is reckoned; of rented ones as long as they must be paid for."""


def months_until(
    volume: Fraction, needed: Fraction, growth_per_month: Fraction, decline_per_year: Fraction
) -> float | None:
    """Months until a volume that grows reaches the break-even, which falling prices move away; None: never.

    The break-even is taken to rise as prices fall, which holds while one fleet carries all of it;
    `first_cheaper_month` counts the machines as well.
    """
    if volume >= needed:
        return 0.0
    if volume <= 0 or growth_per_month <= -1:
        return None
    nearer = log1p(growth_per_month) + log1p(-decline_per_year) / _MONTHS_A_YEAR
    return log(needed / volume) / nearer if nearer > 0 else None


def first_cheaper_month(scenario: Scenario, tokens: Fraction, within: int = LONGEST) -> int | None:
    """The first month in which owning costs no more than hosted, 0 for this one; None: none of those looked at.

    Volumes grow, prices fall, and each volume takes the machines that carry it.
    """
    growth = 1 + scenario.traffic.growth_per_month
    later = ((month, tokens * growth**month) for month in range(within + 1))
    return next((month for month, volume in later if is_cheaper(aged(scenario, month), volume)), None)


def aged(scenario: Scenario, months: int) -> Scenario:
    """The scenario with the host's prices as they will be so many months later."""
    if not scenario.hosted.decline_per_year or not months:
        return scenario
    return with_input(scenario, "price_factor", _fallen(scenario.hosted.decline_per_year, months))


def fleet(owned: Owned, replicas: int) -> Purchase | None:
    """What so many replicas and the spares cost at once, and are worth at the end; None where nothing is bought."""
    each, machines = owned.purchase, replicas + owned.spares
    return each and Purchase(each.usd * machines, each.life_months, each.residual_usd * machines)


def payback(purchase: Purchase, setup_usd: Fraction, saved_usd: list[Fraction], discount_per_year: Fraction) -> Payback:
    """What a purchase is worth that saves so much by the end of each month of its life, and is worth something then."""
    if len(saved_usd) > purchase.life_months:
        raise ValueError(f"a machine that lasts {purchase.life_months} months saves nothing after them")
    paid = purchase.usd + setup_usd
    rate = monthly_rate(discount_per_year)
    present = [float(saved) / (1 + rate) ** month for month, saved in enumerate(saved_usd, start=1)]
    left = float(purchase.residual_usd) / (1 + rate) ** purchase.life_months
    return Payback(
        usd=paid,
        months=_back_after(paid, saved_usd),
        discounted_months=_back_after(float(paid), present),
        npv_usd=sum(present) + left - float(paid),
        over_months=purchase.life_months,
    )


def monthly_rate(per_year: Fraction) -> float:
    """The rate that comes to a year's in twelve months."""
    return float((1 + float(per_year)) ** (1 / _MONTHS_A_YEAR) - 1)


def savings(scenario: Scenario, tokens: Fraction, months: int) -> list[Fraction]:
    """What each month saves against the host, without capital: volumes grow, prices fall, machines are added.

    The first fleet is not counted, since it is paid at once (`fleet`, `payback`). Machines that are bought later count
    in the month that needs them, and what they are worth at the end in the last one. A fleet that is bought, or that
    must be paid for, does not shrink. A machine that cannot hold the model saves nothing, and the host is paid as well.
    Growth ends with the months that are looked ahead (`LONGEST`): the volume then stays.
    """
    owned = scenario.owned
    running = replace(owned, costs=tuple(cost for cost in owned.costs if cost.line != "capital"))
    replicas = _fleets(scenario, tokens, months)
    later = _bought_later(owned.purchase, replicas, months)
    return [
        _avoided_usd(scenario, tokens, month) - running.monthly(number) - bought
        for month, (number, bought) in enumerate(zip(replicas, later, strict=True))
    ]


def _fleets(scenario: Scenario, tokens: Fraction, months: int) -> list[int]:
    """How many replicas are paid for in each month."""
    owned = scenario.owned
    kept_months = months if owned.purchase else owned.committed_months
    taken = [replicas_at(scenario, _grown(scenario, tokens, month)) for month in range(months)]
    kept = list(accumulate(taken, max))
    return [
        most if month < kept_months else number for month, (number, most) in enumerate(zip(taken, kept, strict=True))
    ]


def _avoided_usd(scenario: Scenario, tokens: Fraction, month: int) -> Fraction:
    """What the host would be paid."""
    if scenario.capacity is not None and scenario.holds is False:
        return ZERO
    return hosted_usd(aged(scenario, month).hosted, scenario.traffic.mix, _grown(scenario, tokens, month))


def _grown(scenario: Scenario, tokens: Fraction, month: int) -> Fraction:
    return tokens * (1 + scenario.traffic.growth_per_month) ** min(month, LONGEST)


def _bought_later(purchase: Purchase | None, replicas: Sequence[int], months: int) -> list[Fraction]:
    """What each month pays for machines beyond the first ones, less what they are worth in the last."""
    bought = [ZERO] * months
    if purchase is None or not months:
        return bought
    if months > purchase.life_months:
        raise ValueError(f"machines that last {purchase.life_months} months save nothing after them")
    for month in range(1, months):
        more = replicas[month] - replicas[month - 1]
        bought[month] += more * purchase.usd
        bought[-1] -= more * _worth(purchase, months - month)
    return bought


def _worth(purchase: Purchase, age: int) -> Fraction:
    """Of a machine that is written off evenly."""
    return purchase.usd - (purchase.usd - purchase.residual_usd) * age / purchase.life_months


def _fallen(decline_per_year: Fraction, months: int) -> Fraction:
    """What is left of a price; exact for whole years."""
    years, rest = divmod(months, _MONTHS_A_YEAR)
    left = 1 - decline_per_year
    return left**years * (Fraction(float(left) ** (rest / _MONTHS_A_YEAR)) if rest else ONE)


def _back_after(paid: _Usd, saved: Sequence[_Usd]) -> int | None:
    """The first month from whose end on nothing is left to pay back; 0: nothing ever is."""
    short = [month for month, balance in enumerate(accumulate(saved, initial=-paid)) if balance < 0]
    if not short:
        return 0
    return short[-1] + 1 if short[-1] < len(saved) else None
