"""What each machine of one's own costs over a stretch of time, and how much of that was for work done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gateway.db import readings
from gateway.economics import machines as economics
from gateway.economics.calendar import day_of, start_of
from gateway.economics.machines import Capital, Cost, Days, Power, Rate, Reading, split
from gateway.ledger import days
from gateway.ledger.price import as_usd
from gateway.wire.lanes import LANES
from policies.prices import rate_on

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy.ext.asyncio import AsyncEngine

    from policies.load import Pack
    from policies.machines import Capex, Dated, Energy, Machine, Rent, Staff
    from policies.prices import ExchangeRate
    from policies.schema import DeploymentSpec

_NANO_USD_PER_USD = 1_000_000_000
_MILLISECOND = timedelta(milliseconds=1)
_MILLION = 1_000_000
_TOKEN_LANES = tuple(lane for lane in LANES if lane != "searches")


@dataclass(frozen=True, slots=True)
class MachineCost:
    """One machine of break_even.yaml: its full price by line, and what the time was used for.

    Attempts are charged the machine's marginal price, mostly energy; that is no part of these sums, nor are they to be
    added to it: they are the same machine, reckoned for routing and for reporting.
    """

    name: str
    deployments: tuple[str, ...]
    capital_nano_usd: int
    rent_nano_usd: int
    energy_nano_usd: int
    staff_nano_usd: int
    used_nano_usd: int
    """Of the whole, by busy time over capacity."""
    idle_nano_usd: int
    busy_ms: int
    """Of all slots together; a request's wait for a slot counts as well."""
    capacity_ms: int
    tokens: int
    marginal_nano_usd: int
    """What its attempts were charged in the ledger."""
    metered_kwh: Decimal
    assumed_kwh: Decimal
    """Reckoned from kilowatts where no meter was read."""
    unmetered_hours: Decimal
    """Without a reading or kilowatts: that energy is missing from the sum."""

    @property
    def allocated_nano_usd(self) -> int:
        """The whole, used or not."""
        return self.capital_nano_usd + self.rent_nano_usd + self.energy_nano_usd + self.staff_nano_usd

    @property
    def full_nano_usd_per_million(self) -> int | None:
        """What a million tokens cost with everything; None where there were none."""
        return round(Fraction(self.allocated_nano_usd * _MILLION, self.tokens)) if self.tokens else None

    def as_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        per_million = self.full_nano_usd_per_million
        return {
            "name": self.name,
            "deployments": list(self.deployments),
            "allocated_nano_usd": self.allocated_nano_usd,
            "allocated_usd": as_usd(self.allocated_nano_usd),
            "capital_nano_usd": self.capital_nano_usd,
            "rent_nano_usd": self.rent_nano_usd,
            "energy_nano_usd": self.energy_nano_usd,
            "staff_nano_usd": self.staff_nano_usd,
            "used_nano_usd": self.used_nano_usd,
            "idle_nano_usd": self.idle_nano_usd,
            "busy_ms": self.busy_ms,
            "capacity_ms": self.capacity_ms,
            "tokens": self.tokens,
            "marginal_nano_usd": self.marginal_nano_usd,
            "full_nano_usd_per_million": per_million,
            "metered_kwh": str(self.metered_kwh),
            "assumed_kwh": str(self.assumed_kwh),
            "unmetered_hours": str(self.unmetered_hours),
        }


async def report(engine: AsyncEngine, pack: Pack, start: datetime, end: datetime) -> list[MachineCost]:
    """The cost of every machine between two moments, both at a bucket's edge; what has not passed yet is idle.

    Machines of which the pack says the marginal price alone are left out: their cost over time is not known.
    """
    groups = await days.sums(engine, pack.budgets.zone, start, end, ("deployment",))
    sums = {group.names["deployment"]: group.measures for group in groups}
    found = []
    for name, machine in pack.machines.items():
        if not machine.has_costs:
            continue
        rows = await readings.between(engine, name, start, end)
        seen = [Reading(row.starts_at, row.ends_at, row.milliwatt_hours) for row in rows]
        cost = cost_of(machine, pack, start, end, seen)
        specs = [spec for spec in pack.deployments if spec.owned == name]
        measures = [sums[spec.name] for spec in specs if spec.name in sums]
        found.append(
            _machine_cost(name, cost, specs, measures, _slots(machine, specs) * ((end - start) // _MILLISECOND))
        )
    return found


def cost_of(machine: Machine, pack: Pack, start: datetime, end: datetime, seen: Iterable[Reading]) -> Cost:
    """What a machine costs between two moments; each day's amounts at the owner's rate of exchange of that day."""
    zone, rates, total = pack.budgets.zone, pack.exchange_rates, Cost()
    metered = list(seen)
    for begins, ends in _pieces(start, end, rates, zone):
        valued = _Valued(machine, rates, day_of(begins, zone)).machine()
        total += economics.cost(valued, begins, ends, zone, metered)
    return total


def _pieces(
    start: datetime, end: datetime, rates: Sequence[ExchangeRate], zone: tzinfo
) -> Iterator[tuple[datetime, datetime]]:
    """The stretch, cut where a rate of exchange begins."""
    begins = {start_of(rate.as_of, zone) for rate in rates}
    cuts = [start, *sorted(moment for moment in begins if start < moment < end), end]
    yield from pairwise(cuts)


@dataclass(frozen=True, slots=True)
class _Valued:
    """A machine's amounts in nano-dollars, on one day."""

    entry: Machine
    rates: Sequence[ExchangeRate]
    day: date

    def machine(self) -> economics.Machine:
        entry = self.entry
        return economics.Machine(
            capital=tuple(self._capital(capex) for capex in entry.capex or ()),
            rent=tuple(self._rent(rent) for rent in entry.rent or ()),
            power=tuple(self._power(energy) for energy in entry.energy or ()),
            staff=tuple(self._staff(staff) for staff in entry.staff or ()),
        )

    def _capital(self, capex: Capex) -> Capital:
        """What was paid was paid at the rate of that day."""
        paid = self._nano_usd(capex.written_off * self.entry.count, capex.currency, capex.from_)
        return Capital(paid, capex.life_months, capex.from_)

    def _rent(self, rent: Rent) -> Rate:
        amount = (rent.per_hour or rent.per_month or Decimal(0)) * self.entry.count
        return Rate(self._nano_usd(amount, rent.currency, self.day), _days(rent), hourly=rent.per_hour is not None)

    def _power(self, energy: Energy) -> Power:
        return Power(
            nano_usd_per_kwh=self._nano_usd(energy.tariff_per_kwh, energy.currency, self.day),
            kw=None if energy.kw is None else Fraction(energy.kw) * self.entry.count,
            pue=Fraction(energy.pue),
            days=_days(energy),
        )

    def _staff(self, staff: Staff) -> Rate:
        amount = staff.hours_per_month * staff.rate
        return Rate(self._nano_usd(amount, staff.currency, self.day), _days(staff))

    def _nano_usd(self, amount: Decimal, currency: str, day: date) -> Fraction:
        if currency == "USD":
            return Fraction(amount) * _NANO_USD_PER_USD
        rate = rate_on(self.rates, currency, day)
        if rate is None:  # refused when the pack is read
            raise ValueError(f"no exchange rate of {currency} is known")
        return Fraction(amount) * _NANO_USD_PER_USD / Fraction(rate.per_usd)


def _days(entry: Dated) -> Days:
    return Days(entry.from_, entry.until)


def _slots(machine: Machine, specs: Sequence[DeploymentSpec]) -> int:
    """Requests that all machines of the entry answer at once."""
    if machine.slots is not None:
        return machine.slots * machine.count
    stated = [spec.slots for spec in specs]
    return sum(slots for slots in stated if slots) if stated and all(stated) else machine.count


def _machine_cost(
    name: str, cost: Cost, specs: Sequence[DeploymentSpec], measures: Sequence[dict[str, int]], capacity_ms: int
) -> MachineCost:
    """Each line rounded half-even, once."""
    capital, rent, energy, staff = (round(line) for line in (cost.capital, cost.rent, cost.energy, cost.staff))
    busy_ms = sum(each["busy_ms"] for each in measures)
    divided = split(capital + rent + energy + staff, busy_ms, capacity_ms)
    return MachineCost(
        name=name,
        deployments=tuple(spec.name for spec in specs),
        capital_nano_usd=capital,
        rent_nano_usd=rent,
        energy_nano_usd=energy,
        staff_nano_usd=staff,
        used_nano_usd=divided.used,
        idle_nano_usd=divided.idle,
        busy_ms=busy_ms,
        capacity_ms=capacity_ms,
        tokens=sum(each[lane] for each in measures for lane in _TOKEN_LANES),
        marginal_nano_usd=sum(each["cost_nano_usd"] for each in measures),
        metered_kwh=_decimal(cost.metered_kwh),
        assumed_kwh=_decimal(cost.assumed_kwh),
        unmetered_hours=_decimal(cost.unmetered_hours),
    )


def _decimal(value: Fraction) -> Decimal:
    """To the milliwatt-hour, for reading."""
    return Decimal(round(value * _MILLION)).scaleb(-6).normalize() + 0
