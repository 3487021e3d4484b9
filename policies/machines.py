"""Machines of one's own, as people write them: break_even.yaml.

`marginal` is what one more million tokens costs while the machine runs anyway: routing compares that with hosted
prices. All else is what the machine costs over time whether it works or not, which reports share out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from policies.amounts import Bought, Positive, PowerUsage
from policies.budgets import Currency
from policies.fields import Strict, Word
from policies.prices import TokenPrice
from policies.problems import closest
from policies.scenarios import RentRow, ScenarioEntry, rate_problems, without_rate
from policies.zones import Addresses, parse_address

if TYPE_CHECKING:
    from policies.problems import Problem
    from policies.source import Source

METERS_ARE_AT = Addresses(frozenset({"loopback", "private"}))
"""Where a meter may be asked: on this machine or in networks of one's own, never outside."""


def _local_url(value: str) -> str:
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("is no URL") from None
    if parts.scheme not in ("http", "https") or not host or parts.username is not None or parts.query:
        raise ValueError("should be the server's address, such as http://192.168.1.5:9090")
    if not _may_be_local(host):
        raise ValueError(f"{host} is no address of this machine or of a network of your own: meters are asked there")
    return value.rstrip("/")


def _may_be_local(host: str) -> bool:
    """True unless it is the literal address of somebody else; names are looked at when they are resolved."""
    try:
        return METERS_ARE_AT.cover(parse_address(host))
    except ValueError:
        return True


def _several(value: object) -> object:
    """Let one map stand where a list of maps may."""
    return [value] if isinstance(value, dict) else value


LocalUrl = Annotated[str, AfterValidator(_local_url)]
Query = Annotated[str, Field(min_length=1, max_length=2000)]


class Dated(Strict):
    """A cost with the days on which it falls due; without them, always."""

    currency: Currency
    from_: date | None = Field(None, alias="from")
    until: date | None = None
    """The last day."""

    @model_validator(mode="after")
    def _some_day(self) -> Self:
        if self.from_ and self.until and self.until < self.from_:
            raise ValueError(f"ends on {self.until}, before it begins on {self.from_}")
        return self


class Capex(Bought):
    """What was paid for one machine, and since when it is written off."""

    from_: date = Field(alias="from")
    """The day it was put to use; its rate of exchange is that of this day."""


class Rent(Dated):
    """What is paid for the use of one machine, reserved whether it works or not."""

    per_hour: Positive | None = None
    per_month: Positive | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.per_hour is None) == (self.per_month is None):
            raise ValueError("should name either per_hour or per_month")
        return self


class PrometheusMeter(Strict):
    """A meter's power as a Prometheus server has it."""

    url: LocalUrl
    query: Query
    """PromQL that gives one series, in watts: `sum(shelly_power_watts{room="rack"})`."""


class Energy(Dated):
    """What a machine draws, and what a kilowatt-hour costs, taxes included.

    Readings of a meter count wherever there are some; `kw` fills the time without.
    """

    tariff_per_kwh: Positive
    kw: Positive | None = None
    """Of one machine, on average while it stands ready."""
    pue: PowerUsage = Decimal(1)
    """All energy over that of the machines: cooling and losses, on what meters show too."""
    prometheus: PrometheusMeter | None = None
    imported: bool = Field(False, alias="import")
    """True: readings are brought by `soleira energy import`, so no `kw` is needed."""

    @model_validator(mode="after")
    def _some_source(self) -> Self:
        if self.kw is None and self.prometheus is None and not self.imported:
            raise ValueError("should say where the energy is known from: kw, prometheus, or `import: true`")
        return self


class Staff(Dated):
    """The hours that people give to all machines of this entry."""

    hours_per_month: Positive
    rate: Positive
    """Of an hour."""


def _one_after_the_other(energies: tuple[Energy, ...]) -> tuple[Energy, ...]:
    """Two tariffs on one day would charge the same energy twice."""
    spans = sorted((entry.from_ or date.min, entry.until or date.max) for entry in energies)
    for (_, ends), (starts, _) in pairwise(spans):
        if starts <= ends:
            raise ValueError(f"has two entries for {starts}: end the earlier one (until) before the later one begins")
    return energies


Capexes = Annotated[tuple[Capex, ...], BeforeValidator(_several), Field(min_length=1)]
Rents = Annotated[tuple[Rent, ...], BeforeValidator(_several), Field(min_length=1)]
Energies = Annotated[
    tuple[Energy, ...], BeforeValidator(_several), Field(min_length=1), AfterValidator(_one_after_the_other)
]
Staffs = Annotated[tuple[Staff, ...], BeforeValidator(_several), Field(min_length=1)]


class Machine(Strict):
    """One kind of machine; each cost is one entry, or a list of them."""

    marginal: TokenPrice
    count: Annotated[int, Field(ge=1, le=100_000)] = 1
    """How many of them there are: `capex`, `rent`, `kw` and `slots` are of one, staff and meter readings of all."""
    slots: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Requests that one answers at once. Left out: as its deployments say, else 1."""
    capex: Capexes | None = None
    rent: Rents | None = None
    energy: Energies | None = None
    staff: Staffs | None = None

    @property
    def has_costs(self) -> bool:
        """False where only `marginal` is known: what the machine costs over time is then unknown, not nothing."""
        return any((self.capex, self.rent, self.energy, self.staff))

    @property
    def currencies(self) -> frozenset[str]:
        """Those in which its costs over time are stated."""
        lines = (self.capex, self.rent, self.energy, self.staff)
        return frozenset(entry.currency for line in lines for entry in line or ())


class BreakEvenFile(Strict):
    machines: dict[Word, Machine] = Field(default_factory=dict)
    scenarios: dict[Word, ScenarioEntry] = Field(default_factory=dict)
    """Questions whether owning is cheaper, by name."""
    rents: tuple[RentRow, ...] = ()
    """What others ask for accelerators, beside the hardware catalog's."""


def currency_problems(source: Source, file: BreakEvenFile, rates: Collection[str]) -> Iterator[Problem]:
    """Costs over time in a currency for which the owner gave no rate."""
    for name, machine in file.machines.items():
        for line in ("capex", "rent", "energy", "staff"):
            for entry in getattr(machine, line) or ():
                if entry.currency not in {"USD", *rates}:
                    yield source.problem(("machines", name, line), without_rate(entry.currency))


def scenario_problems(
    source: Source, file: BreakEvenFile, deployments: Collection[str], rates: Collection[str]
) -> Iterator[Problem]:
    """What the pack's scenarios and rents name and there is not: deployments, machines, rates of exchange."""
    own = {rate.currency for entry in file.scenarios.values() for rate in entry.exchange_rates}
    for index, row in enumerate(file.rents):
        if row.currency not in {"USD", *rates, *own}:
            yield source.problem(("rents", index, "currency"), without_rate(row.currency))
    for name, entry in file.scenarios.items():
        path = ("scenarios", name)
        yield from rate_problems(source, path, entry, rates)
        machine, deployment = entry.hardware.machine, entry.hosted.deployment
        if machine is not None and machine not in file.machines:
            message = f"{machine!r} is no machine of this file"
            yield source.problem((*path, "hardware", "machine"), message, closest(machine, file.machines))
        if deployment is not None and deployment not in deployments:
            message = f"{deployment!r} is no deployment"
            yield source.problem((*path, "hosted", "deployment"), message, closest(deployment, deployments))
