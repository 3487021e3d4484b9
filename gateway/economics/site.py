"""What a place costs in a month: capital that is written off, energy by the hour of the day, and room for machines."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.economics.scenario import HOURS_A_MONTH, ONE, ZERO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.economics.scenario import Purchase

_HOURS_A_DAY = 24


@dataclass(frozen=True, slots=True)
class Band:
    """Hours of each day with a tariff of their own, from one until another; past midnight where it ends earlier."""

    first: Fraction
    """In hours from midnight: 18, or 17 1/2."""
    until: Fraction
    usd_per_kwh: Fraction


def written_off(purchase: Purchase) -> Fraction:
    """What of a machine is written off in each month of its life, in dollars."""
    return (purchase.usd - purchase.residual_usd) / purchase.life_months


def energy_kwh(kw: Fraction, pue: Fraction = ONE) -> Fraction:
    """What a month takes, with what the building adds to each kilowatt-hour of the machines."""
    return kw * pue * HOURS_A_MONTH


def energy_usd(kw: Fraction, pue: Fraction, usd_per_kwh: Fraction) -> Fraction:
    """What a month's energy costs."""
    return energy_kwh(kw, pue) * usd_per_kwh


def tariff(usd_per_kwh: Fraction, bands: Sequence[Band] = ()) -> Fraction:
    """What a kilowatt-hour costs on average to machines that draw the same all day.

    Bands are of every day alike; ValueError where two of them claim an hour.
    """
    usd, hours = ZERO, ZERO
    claimed: list[tuple[Fraction, Fraction]] = []
    for band in bands:
        for first, until in _of_one_day(band):
            if any(first < ends and begins < until for begins, ends in claimed):
                raise ValueError(f"two tariffs claim the hours from {_clock(first)} until {_clock(until)}")
            claimed.append((first, until))
            hours += until - first
            usd += band.usd_per_kwh * (until - first)
    return (usd + usd_per_kwh * (_HOURS_A_DAY - hours)) / _HOURS_A_DAY


def colocation_usd(kw: Fraction, usd_per_kw_month: Fraction) -> Fraction:
    """What a place for machines costs that is paid by the kilowatt that they may draw."""
    return kw * usd_per_kw_month


def storage_usd(terabytes: Fraction, usd_per_tb_month: Fraction) -> Fraction:
    """What a month's disks cost."""
    return terabytes * usd_per_tb_month


def _of_one_day(band: Band) -> list[tuple[Fraction, Fraction]]:
    if not (0 <= band.first < _HOURS_A_DAY and 0 <= band.until <= _HOURS_A_DAY) or band.first == band.until:
        raise ValueError("a tariff's hours are from 0 to 24, and its end is not its beginning")
    if band.first < band.until:
        return [(band.first, band.until)]
    until_midnight = [(band.first, Fraction(_HOURS_A_DAY))]
    return [*until_midnight, (ZERO, band.until)] if band.until else until_midnight


def _clock(hours: Fraction) -> str:
    minutes = round(hours * 60)
    return f"{minutes // 60}:{minutes % 60:02}"
