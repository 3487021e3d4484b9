"""What a scenario's machines cost in a month: rent or purchase, site, staff, and what else is due."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from gateway.economics.scenario import HOURS_A_MONTH, Cost, Owned, Purchase
from gateway.economics.site import Band, colocation_usd, energy_usd, storage_usd, tariff, written_off
from gateway.errors import BadRequest
from gateway.owning.told import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from gateway.economics.scenario import Line, Scope
    from gateway.owning.inputs.exchange import Exchange
    from gateway.owning.inputs.rents import Rents
    from gateway.owning.told import Told
    from policies.amounts import Bought
    from policies.machines import Capex, Dated, Energy, Machine, Rent
    from policies.scenarios import HardwareEntry, RentEntry, ScenarioEntry, SiteEntry

_D = TypeVar("_D", bound="Dated")


@dataclass(frozen=True, slots=True)
class Known:
    """What a scenario's hardware may name."""

    machines: Mapping[str, Machine]
    rents: Rents


def owned(entry: ScenarioEntry, exchange: Exchange, known: Known, told: Told) -> Owned:
    """One replica of the scenario's machines, and what is paid for all of them together."""
    bill = _Bill(entry, exchange, told)
    _use(bill, known)
    _site(bill)
    _staff(bill)
    _else(bill)
    _say_what_is_missing(bill)
    hardware = entry.hardware
    told.figure("hardware.gpu", hardware.gpu, "", told.stated())
    told.figure("hardware.count", Fraction(hardware.count), "GPUs", told.stated())
    replicas = told.chosen(
        "replicas", Fraction(hardware.replicas), "replicas", bill.said_or_default(hardware, "replicas")
    )
    if hardware.spares:
        told.figure("hardware.spares", Fraction(hardware.spares), "replicas", told.stated())
    committed = max(hardware.committed_months, hardware.reserved.months if hardware.reserved else 0)
    if committed:
        told.figure("hardware.committed_months", Fraction(committed), "months", told.stated(hardware))
    return Owned(
        costs=tuple(bill.costs),
        gpus=hardware.count,
        usd_per_gpu_hour=bill.usd_per_gpu_hour,
        least_replicas=int(replicas),
        spares=hardware.spares,
        setup_usd=bill.setup_usd,
        purchase=bill.purchase,
        committed_months=committed,
    )


@dataclass
class _Bill:
    """The lines of a month's bill, as they are found."""

    entry: ScenarioEntry
    exchange: Exchange
    told: Told
    costs: list[Cost] = field(default_factory=list)
    usd_per_gpu_hour: Fraction | None = None
    purchase: Purchase | None = None
    setup_usd: Fraction = Fraction(0)

    def tax(self, line: str) -> Fraction:
        return Fraction(next((factor for key, factor in self.entry.taxes.items() if key == line), Decimal(1)))

    def add(
        self, line: Line, usd_per_month: Fraction, origin: Origin, scope: Scope = "machine", name: str = ""
    ) -> None:
        """One line with its tax, told under its name."""
        taxed = usd_per_month * self.tax(line)
        self.costs.append(Cost(line, taxed, scope))
        self.told.figure(name or f"costs.{line}", taxed, "USD/month", _with_tax(origin, self.tax(line)))

    def said_or_default(self, part: HardwareEntry, key: str) -> Origin:
        if key in part.model_fields_set:
            return self.told.stated()
        return Origin("default", "nobody stated it: one replica at least")


def _with_tax(origin: Origin, factor: Fraction) -> Origin:
    return origin if factor == 1 else replace(origin, source=f"{origin.source}, with {float(factor):g} for taxes")


def _use(bill: _Bill, known: Known) -> None:
    """Rent or purchase; a rent that is changed for this look stands in the place of either."""
    hardware, told = bill.entry.hardware, bill.told
    if "usd_per_gpu_hour" in told.overrides:
        if hardware.capex is not None or hardware.machine is not None:
            told.note("rented_instead")
        return _rented(bill, Fraction(0), told.stated(hardware))
    if hardware.usd_per_gpu_hour is not None:
        return _rented(bill, Fraction(hardware.usd_per_gpu_hour), told.stated(hardware))
    if hardware.rent_from is not None:
        return _rented(bill, *_listed_rent(bill, known.rents, hardware.rent_from))
    if hardware.rent is not None:
        return _rent(bill, hardware.rent)
    if hardware.capex is not None:
        return _bought(bill, hardware.capex, told.at, told.stated(hardware.capex))
    return _machine(bill, hardware.machine or "", known.machines)


def _rented(bill: _Bill, usd_per_gpu_hour: Fraction, origin: Origin) -> None:
    """By the hour and accelerator, all of the month."""
    reserved, tax = bill.entry.hardware.reserved, bill.tax("rent")
    if reserved is not None and "usd_per_gpu_hour" not in bill.told.overrides:
        usd_per_gpu_hour += reserved.share * (Fraction(reserved.usd_per_gpu_hour) - usd_per_gpu_hour)
        part = f"{float(100 * reserved.share):g} % reserved at {reserved.usd_per_gpu_hour} for {reserved.months} months"
        origin = replace(origin, source=f"{origin.source}; {part}")
    price = bill.told.chosen("usd_per_gpu_hour", usd_per_gpu_hour * tax, "USD/GPU-h", _with_tax(origin, tax))
    bill.usd_per_gpu_hour = price
    bill.costs.append(Cost("rent", price * bill.entry.hardware.count * HOURS_A_MONTH))


def _listed_rent(bill: _Bill, rents: Rents, name: str) -> tuple[Fraction, Origin]:
    offer = rents.find(name, bill.exchange)
    said, contract = offer.rent.said, offer.rent.contract
    source = f"{said.source} ({contract})" if contract else said.source
    return offer.usd_per_gpu_hour, Origin("stated" if offer.is_own else "bundled", source, said.as_of)


def _rent(bill: _Bill, rent: RentEntry) -> None:
    origin, count = bill.told.stated(rent), bill.entry.hardware.count
    if rent.per_gpu_hour is not None:
        return _rented(bill, bill.exchange.usd(rent.per_gpu_hour, rent.currency), origin)
    if rent.per_hour is not None:
        return _rented(bill, bill.exchange.usd(rent.per_hour, rent.currency) / count, origin)
    return bill.add("rent", bill.exchange.usd(rent.per_month or Decimal(0), rent.currency), origin)


def _bought(bill: _Bill, bought: Bought, day: date, origin: Origin) -> None:
    """Written off evenly, at the rate of exchange of a day; what is paid at once is kept for the payback."""
    tax = bill.tax("capital")
    paid = bill.exchange.usd(bought.amount, bought.currency, day) * tax
    left = bill.exchange.usd(bought.residual.of(bought.amount), bought.currency, day)
    bill.purchase = Purchase(paid, bought.life_months, left)
    told = bill.told
    told.figure("hardware.capex", paid, "USD", _with_tax(origin, tax))
    told.figure("hardware.residual", left, "USD", origin)
    told.figure("hardware.life_months", Fraction(bought.life_months), "months", origin)
    capital = written_off(bill.purchase)
    bill.costs.append(Cost("capital", capital))
    told.figure("costs.capital", capital, "USD/month", origin)


def _machine(bill: _Bill, name: str, machines: Mapping[str, Machine]) -> None:
    """All costs over time of one machine under `machines`; what falls due on other days is left out."""
    machine = machines.get(name)
    if machine is None:
        raise BadRequest(f"hardware.machine {name!r} is no machine of break_even.yaml", param="hardware.machine")
    if not machine.has_costs:
        raise BadRequest(
            f"machine {name!r} says nothing of what it costs over time: add capex or rent, energy, staff to it in "
            "break_even.yaml, or state the costs in the scenario",
            param="hardware.machine",
        )
    _machine_use(bill, name, machine)
    for energy in _counted(machine.energy or (), bill, name, "energy"):
        _machine_energy(bill, name, energy)
    people = _counted(machine.staff or (), bill, name, "staff")
    if people and bill.entry.staff is None:
        paid = (bill.exchange.usd(staff.hours_per_month * staff.rate, staff.currency) for staff in people)
        _people(bill, sum(paid, Fraction(0)), _of(name, people[0]))


def _machine_use(bill: _Bill, name: str, machine: Machine) -> None:
    """Rent or purchase: what counts today, else what is planned next; that it is planned is told."""
    at = bill.told.at
    rents, capexes = machine.rent or (), machine.capex or ()
    due = [rent for rent in rents if _is_due(rent, at)]
    begun = [capex for capex in capexes if capex.from_ <= at]
    if not due and not begun:
        starts = [capex.from_ for capex in capexes] + [rent.from_ for rent in rents if rent.from_ and rent.from_ > at]
        if not starts:
            bill.told.note("no_use_cost", machine=name)
            return
        first = min(starts)
        due = [rent for rent in rents if rent.from_ == first]
        begun = [capex for capex in capexes if capex.from_ == first]
        bill.told.note("planned", machine=name, line="rent" if due else "capex", day=first.isoformat())
    for capex in begun:
        _machine_bought(bill, name, capex)
    _machine_rents(bill, name, due)


def _machine_rents(bill: _Bill, name: str, rents: Sequence[Rent]) -> None:
    """A single rent by the hour is one of each accelerator; several, or by the month, are lines."""
    if len(rents) == 1 and rents[0].per_hour is not None:
        usd = bill.exchange.usd(rents[0].per_hour, rents[0].currency)
        return _rented(bill, usd / bill.entry.hardware.count, _of(name, rents[0]))
    for rent in rents:
        hourly, monthly = rent.per_hour, rent.per_month
        amount = Fraction(hourly) * HOURS_A_MONTH if hourly is not None else Fraction(monthly or 0)
        bill.add("rent", bill.exchange.usd(amount, rent.currency), _of(name, rent))
    return None


def _machine_bought(bill: _Bill, name: str, capex: Capex) -> None:
    months = (bill.told.at.year - capex.from_.year) * 12 + bill.told.at.month - capex.from_.month
    if months >= capex.life_months:
        bill.told.note("written_off", machine=name)
        return
    if bill.purchase is not None:
        raise BadRequest(
            f"machine {name!r} has several purchases: state the one of a further machine as `capex` in the scenario",
            param="hardware.machine",
        )
    _bought(bill, capex, capex.from_, _of(name, capex))


def _machine_energy(bill: _Bill, name: str, energy: Energy) -> None:
    """Unless the scenario's own site says what is drawn, and at what tariff."""
    if bill.entry.site is not None and bill.entry.site.tariff_per_kwh is not None:
        return
    if energy.kw is None:
        bill.told.note("metered_energy", machine=name)
        return
    per_kwh = bill.exchange.usd(energy.tariff_per_kwh, energy.currency)
    bill.add("energy", energy_usd(Fraction(energy.kw), Fraction(energy.pue), per_kwh), _of(name, energy))


def _counted(entries: Sequence[_D], bill: _Bill, name: str, line: str) -> list[_D]:
    """What is due today, else what is planned next; a line that has ended is told, since its cost is then unknown."""
    at = bill.told.at
    due = [entry for entry in entries if _is_due(entry, at)]
    if due or not entries:
        return due
    starts = [entry.from_ for entry in entries if entry.from_ is not None and entry.from_ > at]
    if not starts:
        bill.told.note("ended", machine=name, line=line)
        return []
    first = min(starts)
    bill.told.note("planned", machine=name, line=line, day=first.isoformat())
    return [entry for entry in entries if entry.from_ == first]


def _is_due(entry: Dated, at: date) -> bool:
    return (entry.from_ is None or entry.from_ <= at) and (entry.until is None or at <= entry.until)


def _of(name: str, entry: Dated | Capex) -> Origin:
    return Origin("stated", f"machine {name!r} of break_even.yaml", entry.from_)


def _site(bill: _Bill) -> None:
    site = bill.entry.site
    if site is None:
        return
    origin = bill.told.stated(site)
    if site.kw is not None:
        _power(bill, site, Fraction(site.kw), origin)
    if site.network_per_month is not None:
        bill.add("network", bill.exchange.usd(site.network_per_month, site.currency), origin, "house")
    if site.storage is not None:
        per_tb = bill.exchange.usd(site.storage.per_tb_month, site.currency)
        bill.add("storage", storage_usd(Fraction(site.storage.tb), per_tb), origin, "house")


def _power(bill: _Bill, site: SiteEntry, kw: Fraction, origin: Origin) -> None:
    told = bill.told
    told.figure("site.kw", kw, "kW", origin)
    if site.tariff_per_kwh is not None:
        per_kwh = bill.exchange.usd(_mean_tariff(site) * (1 + site.tax), site.currency)
        pue = Fraction(site.pue)
        pue_origin = (
            origin if "pue" in site.model_fields_set else Origin("default", "nobody stated it: nothing is added")
        )
        told.figure("site.pue", pue, "x", pue_origin)
        told.figure("site.tariff_per_kwh", per_kwh, "USD/kWh", origin)
        bill.add("energy", energy_usd(kw, pue, per_kwh), origin)
    if site.colocation_per_kw_month is not None:
        per_kw = bill.exchange.usd(site.colocation_per_kw_month, site.currency)
        bill.add("colocation", colocation_usd(kw, per_kw), origin)


def _mean_tariff(site: SiteEntry) -> Fraction:
    """Of a whole day: a machine that stands ready draws the same at any hour."""
    bands = [_band(each.from_, each.until, Fraction(each.tariff_per_kwh)) for each in site.hours]
    return tariff(Fraction(site.tariff_per_kwh or 0), bands)


def _band(first: int, until: int, per_kwh: Fraction) -> Band:
    """The hours as the clock has them; a tariff that ends when it begins is of the whole day."""
    if first % 24 == until % 24:
        return Band(Fraction(0), Fraction(24), per_kwh)
    return Band(Fraction(first % 24), Fraction(until), per_kwh)


def _staff(bill: _Bill) -> None:
    staff = bill.entry.staff
    if staff is not None:
        usd = bill.exchange.usd(staff.hours_per_month * staff.rate, staff.currency)
        return _people(bill, usd, bill.told.stated(staff))
    if not any(cost.line == "staff" for cost in bill.costs):
        if "staff_usd_per_month" not in bill.told.overrides:
            bill.told.note("no_staff")
        _people(bill, Fraction(0), Origin("default", "nobody stated it: no hours of people are counted"))
    return None


def _people(bill: _Bill, usd_per_month: Fraction, origin: Origin) -> None:
    tax = bill.tax("staff")
    usd = bill.told.chosen("staff_usd_per_month", usd_per_month * tax, "USD/month", _with_tax(origin, tax))
    bill.costs.append(Cost("staff", usd, "house"))


def _else(bill: _Bill) -> None:
    entry, exchange = bill.entry, bill.exchange
    if entry.software_per_month is not None:
        software = entry.software_per_month
        bill.add("software", exchange.usd(software.amount, software.currency), bill.told.stated(), "house")
    if entry.monthly_extra_usd:
        bill.add("extra", Fraction(entry.monthly_extra_usd), bill.told.stated(), "house")
    if entry.setup is not None:
        tax = bill.tax("setup")
        bill.setup_usd = exchange.usd(entry.setup.amount, entry.setup.currency) * tax
        bill.told.figure("setup", bill.setup_usd, "USD", _with_tax(bill.told.stated(), tax))


def _say_what_is_missing(bill: _Bill) -> None:
    """A cost that nobody states is not a cost of nothing: BadRequest where all of them are such."""
    told, lines = bill.told, {cost.line for cost in bill.costs}
    missing = {note.code for note in told.notes} & {"metered_energy", "no_use_cost", "ended"}
    if missing and not any(cost.usd_per_month for cost in bill.costs):
        raise BadRequest(
            "nothing is known of what these machines cost today: state their rent or capex, and "
            "`site: {currency, kw, tariff_per_kwh}` for energy that only a meter knows",
            param="hardware",
        )
    if "rent" not in lines and not lines & {"energy", "colocation"} and not missing:
        told.note("no_energy")
