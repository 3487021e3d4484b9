"""Questions whether owning is cheaper, as people write them: the scenarios of break_even.yaml, or a file of one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, field_validator, model_validator

from policies.amounts import Bought, Count, Growth, Money, Number, Positive, PositiveCount, PowerUsage, Share
from policies.budgets import Currency
from policies.fields import Amount, Hour, ModelName, ModelNames, Name, Strict, Word
from policies.prices import ExchangeRate, Factor

if TYPE_CHECKING:
    from policies.problems import Problem
    from policies.source import Path, Source

RangedInput = Literal[
    "usd_per_gpu_hour",
    "price_factor",
    "output_share",
    "cached_share",
    "staff_usd_per_month",
    "peak_to_mean",
    "decode_tps",
]
"""What may be uncertain, in the order in which it is drawn. `price_factor` is of the host's prices as the scenario has
them; `cached_share` of the input."""
CostLine = Literal[
    "rent", "capital", "energy", "colocation", "network", "storage", "software", "staff", "extra", "setup", "hosted"
]
LEDGER_DAYS = 30
_HOURS = 24
_DAYS_A_WEEK = 7
_DAYS = re.compile(r"([1-9]\d{0,2}) ?([dw])\Z")


def _days(value: object) -> int:
    found = _DAYS.match(str(value))
    if not found:
        raise ValueError("should be a number of days or weeks, such as 30d or 8w")
    return int(found[1]) * (_DAYS_A_WEEK if found[2] == "w" else 1)


def _of_ledger(value: object) -> object:
    """Let `ledger` stand for traffic of which nothing is stated."""
    return {"from_ledger": f"{LEDGER_DAYS}d"} if value == "ledger" else value


def _or_none(value: object) -> object:
    return None if value == "none" else value


def _all_day(hours: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    if len(hours) != _HOURS:
        raise ValueError(f"should have {_HOURS} numbers, one for each hour from midnight on; it has {len(hours)}")
    if not any(hours):
        raise ValueError("should have an hour with tokens in it")
    return hours


def _peak(value: Fraction) -> Fraction:
    if value < 1:
        raise ValueError("should be 1 or more: the busiest hour over the average one")
    return value


def _falls(value: Fraction) -> Fraction:
    if value == 1:
        raise ValueError("should be less than 1: prices do not fall to nothing within a year")
    return value


def _above_zero(value: Fraction) -> Fraction:
    if value == 0:
        raise ValueError("should be more than 0: a machine that may not be used carries nothing")
    return value


def _three(value: object) -> object:
    if isinstance(value, (list, tuple)) and len(value) != 3:
        raise ValueError(f"should be three numbers, [low, most likely, high]; it has {len(value)}")
    return value


def _rising(values: tuple[Fraction, Fraction, Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    if list(values) != sorted(values) or values[0] < 0:
        raise ValueError("should rise: [low, most likely, high], none below 0")
    return values


Span = Annotated[int, PlainValidator(_days, json_schema_input_type=str)]
Peak = Annotated[Number, AfterValidator(_peak)]
Decline = Annotated[Share, AfterValidator(_falls)]
Utilisation = Annotated[Share, AfterValidator(_above_zero)]
DayOfHours = Annotated[tuple[Count, ...], AfterValidator(_all_day)]
RangeText = Annotated[tuple[Number, Number, Number], BeforeValidator(_three), AfterValidator(_rising)]


class Sourced(Strict):
    """Something with where it was read, and when."""

    source: Name | None = None
    as_of: date | None = None


class RentEntry(Sourced):
    """What is paid for the use of one replica, whether it works or not."""

    currency: Currency
    per_gpu_hour: Positive | None = None
    per_hour: Positive | None = None
    """Of the whole replica."""
    per_month: Positive | None = None
    """Of the whole replica."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(price is not None for price in (self.per_gpu_hour, self.per_hour, self.per_month)) != 1:
            raise ValueError("should name one of per_gpu_hour, per_hour and per_month")
        return self


class RentRow(Strict):
    """One rent of a list that the owner keeps: what somebody asks for one accelerator by the hour."""

    name: Word
    """Whose it is: `rent_from` names it."""
    gpu: Word
    per_gpu_hour: Positive
    currency: Currency
    contract: Name | None = None
    """`on demand`, `12 months`."""
    source: Name
    as_of: date


class PurchaseEntry(Bought, Sourced):
    """What one replica costs to buy, and what it is worth at the end of its life."""


class ReservedEntry(Strict):
    """The part of the machines that is reserved for long, at another price."""

    share: Share
    usd_per_gpu_hour: Positive
    months: Annotated[int, Field(ge=1, le=600)]


class HardwareEntry(Sourced):
    """The machines: what one replica is made of, and what it costs."""

    gpu: Word
    """By its short name: `b300`."""
    count: Annotated[int, Field(ge=1, le=4096)]
    """Accelerators of one replica: of the machines that together hold one whole model."""
    usd_per_gpu_hour: Positive | None = None
    rent: RentEntry | None = None
    rent_from: Word | None = None
    """Whose rent for this accelerator: a row of `rents` in the same file, else of the hardware catalog: `flatkey`."""
    capex: PurchaseEntry | None = None
    machine: Word | None = None
    """An entry under `machines`, each of which is one replica: its capex, rent, energy and staff."""
    reserved: ReservedEntry | None = None
    replicas: Annotated[int, Field(ge=1, le=10_000)] = 1
    """The least number."""
    spares: Annotated[int, Field(ge=0, le=1000)] = 0
    committed_months: Annotated[int, Field(ge=0, le=600)] = 0
    """How long it must be paid for whatever happens."""

    @model_validator(mode="after")
    def _one_price(self) -> Self:
        named = [key for key in ("usd_per_gpu_hour", "rent", "rent_from", "capex", "machine") if getattr(self, key)]
        if len(named) != 1:
            has = f"it has {' and '.join(named)}" if named else "it has none"
            raise ValueError(f"should name one of usd_per_gpu_hour, rent, rent_from, capex and machine; {has}")
        if self.reserved and named[0] not in ("usd_per_gpu_hour", "rent_from"):
            raise ValueError("names a reserved share, which belongs beside usd_per_gpu_hour or rent_from")
        return self


class TariffHours(Strict):
    """Hours of the day with a tariff of their own; over midnight if they end before they start."""

    from_: Hour = Field(alias="from")
    until: Hour
    tariff_per_kwh: Positive

    @property
    def hours(self) -> tuple[int, ...]:
        """As the clock has them; all of the day where it ends as it begins."""
        number = (self.until - self.from_) % _HOURS or _HOURS
        return tuple((self.from_ + after) % _HOURS for after in range(number))


class StorageEntry(Strict):
    tb: Positive
    per_tb_month: Positive


class SiteEntry(Sourced):
    """Where the machines stand: their energy, and what the place costs in a month."""

    currency: Currency
    kw: Positive | None = None
    """Of one replica, all in, while it stands ready."""
    pue: PowerUsage = Decimal(1)
    """All energy over that of the machines."""
    tariff_per_kwh: Positive | None = None
    tax: Share = Fraction(0)
    """On top of every tariff."""
    hours: tuple[TariffHours, ...] = ()
    """Times of day with another tariff; the others cost `tariff_per_kwh`."""
    colocation_per_kw_month: Positive | None = None
    network_per_month: Positive | None = None
    storage: StorageEntry | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.kw is None and (self.tariff_per_kwh or self.colocation_per_kw_month or self.hours):
            raise ValueError("should name kw: without it a tariff or colocation says nothing")
        if self.kw is not None and self.tariff_per_kwh is None and self.colocation_per_kw_month is None:
            raise ValueError("names kw and no price of it: add tariff_per_kwh or colocation_per_kw_month")
        if self.hours and self.tariff_per_kwh is None:
            raise ValueError("should name tariff_per_kwh for the other hours of the day")
        claimed = [hour for entry in self.hours for hour in entry.hours]
        twice = sorted({hour for hour in claimed if claimed.count(hour) > 1})
        if twice:
            raise ValueError(f"has two tariffs for the hour from {twice[0]}:00 on")
        return self


class StaffEntry(Sourced):
    """The hours that people give to all machines in a month."""

    hours_per_month: Positive
    rate: Positive
    currency: Currency


class HostedLanes(Strict):
    """Prices of a million tokens."""

    input: Amount
    output: Amount
    cached: Amount | None = None
    """Left out: what input costs, and the answer says so."""
    cache_write_5m: Amount | None = None
    cache_write_1h: Amount | None = None


class VolumeEntry(Strict):
    """What the tokens beyond a month's volume cost, as a part of the price."""

    above_million_tokens: PositiveCount
    factor: Factor


class HostedEntry(Sourced):
    """What somebody else charges for the same tokens."""

    deployment: ModelName | None = None
    """A deployment of the pack, whose price it is."""
    currency: Currency | None = None
    per_million: HostedLanes | None = None
    multiplier: Factor = Decimal(1)
    """What is paid of these prices: a reseller's 0.60."""
    tiers: tuple[VolumeEntry, ...] = ()
    decline_per_year: Decline = Fraction(0)
    retry_overhead: Share = Fraction(0)
    """Tokens that are paid twice."""
    privacy_premium: Number = Fraction(0)
    """What it is worth that nothing leaves, as a part of the price."""
    minimum_per_month: Money | None = None

    @model_validator(mode="after")
    def _one_price(self) -> Self:
        if (self.deployment is None) == (self.per_million is None):
            raise ValueError("should name either deployment, or currency and per_million")
        if self.per_million is not None and self.currency is None:
            raise ValueError("should name the currency of its prices")
        if self.deployment is not None and (self.currency is not None or self.multiplier != 1):
            raise ValueError("has its currency and multiplier from the deployment: take them out here")
        if self.privacy_premium < 0:
            raise ValueError("has a privacy_premium below 0")
        thresholds = [tier.above_million_tokens for tier in self.tiers]
        if thresholds != sorted(set(thresholds)):
            raise ValueError("should have its tiers in rising order of above_million_tokens, each once")
        return self


class MixEntry(Strict):
    """Tokens in and out, in any unit: `{input: 3, output: 1}`."""

    input: Count
    output: Count

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.input + self.output:
            raise ValueError("should have tokens, in or out")
        return self


class TrafficEntry(Sourced):
    """What is asked of the model."""

    mix: MixEntry | None = None
    cached_share: Share | None = None
    """Of the input."""
    peak_to_mean: Peak | None = None
    hours: DayOfHours | None = None
    """Tokens of each hour of the day, in any unit; their peak counts where none is stated."""
    tokens_per_month: PositiveCount | None = None
    """Of 730 hours, all lanes together."""
    tokens_per_day: PositiveCount | None = None
    growth_per_month: Growth | None = None
    forced_share: Share | None = None
    """What must not leave the house at any price."""
    from_ledger: Span | None = None
    """Over how many of the last days what is not stated here is looked up in the house's own ledger."""
    models: Annotated[Literal["all"] | ModelNames, Field(union_mode="left_to_right")] | None = None
    """Whose traffic that is; left out: the scenario's model."""

    @model_validator(mode="after")
    def _one_volume(self) -> Self:
        if self.tokens_per_month is not None and self.tokens_per_day is not None:
            raise ValueError("should name either tokens_per_month or tokens_per_day")
        if self.models is not None and self.from_ledger is None:
            raise ValueError("names models, whose traffic only from_ledger looks up")
        return self


class CapacityEntry(Sourced):
    """What one replica carries: stated rates, or a profile that was measured."""

    prefill_tps: PositiveCount | None = None
    decode_tps: PositiveCount | None = None
    cached_tps: PositiveCount | None = None
    """At which cached input passes; left out: it costs no time."""
    profile: Name | None = None
    utilisation: Utilisation | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        rates = (self.prefill_tps, self.decode_tps)
        if self.profile is not None and any(rates):
            raise ValueError("should name either a profile, or prefill_tps and decode_tps")
        if self.profile is None and not all(rates):
            raise ValueError("should name prefill_tps and decode_tps, or a profile")
        return self


class SloEntry(Strict):
    """What an answer must keep to."""

    ttft_ms: PositiveCount | None = None
    tpot_ms: PositiveCount | None = None


class ScenarioEntry(Strict):
    """One question: are these machines cheaper than that host?"""

    title: Name | None = None
    model: ModelName = "kimi-k3"
    quant: Word = "native"
    engine: Word | None = None
    hardware: HardwareEntry
    hosted: HostedEntry
    traffic: Annotated[TrafficEntry, BeforeValidator(_of_ledger)] = TrafficEntry()
    capacity: Annotated[CapacityEntry | None, BeforeValidator(_or_none)] = None
    """`none`: arithmetic alone, as if one replica carried any load."""
    slo: SloEntry | None = None
    site: SiteEntry | None = None
    staff: StaffEntry | None = None
    software_per_month: Money | None = None
    setup: Money | None = None
    """Paid once."""
    monthly_extra_usd: Amount = Decimal(0)
    taxes: dict[CostLine, Factor] = Field(default_factory=dict)
    """What a line is multiplied by; nothing is assumed."""
    discount_per_year: Share = Fraction(0)
    ranges: dict[RangedInput, RangeText] = Field(default_factory=dict)
    """Between which values a figure may lie: [low, most likely, high]."""
    exchange_rates: tuple[ExchangeRate, ...] = ()
    """Before those of prices.yaml, which a file of its own has not."""

    @field_validator("ranges", mode="after")
    @classmethod
    def _within_reason(cls, ranges: dict[RangedInput, RangeText]) -> dict[RangedInput, RangeText]:
        for name, (low, _, high) in ranges.items():
            if name in ("output_share", "cached_share") and high > 1:
                raise ValueError(f"{name} should be a share, from 0 to 1")
            if name == "peak_to_mean" and low < 1:
                raise ValueError(f"{name} should be 1 or more: the busiest hour over the average one")
            if name == "decode_tps" and not low:
                raise ValueError(f"{name} should be more than 0")
        return ranges

    @field_validator("exchange_rates", mode="after")
    @classmethod
    def _one_rate_a_day(cls, rates: tuple[ExchangeRate, ...]) -> tuple[ExchangeRate, ...]:
        days = [(rate.currency, rate.as_of) for rate in rates]
        for index, (currency, as_of) in enumerate(days):
            if (currency, as_of) in days[:index]:
                raise ValueError(f"has a second rate of {currency} as of {as_of}")
        return rates

    @property
    def states_no_capacity(self) -> bool:
        """True if it says so itself; False where nothing is said."""
        return self.capacity is None and "capacity" in self.model_fields_set

    @property
    def currencies(self) -> frozenset[str]:
        """Those in which something is stated."""
        return frozenset(currency for _, currency in _currencies(self))

    @model_validator(mode="after")
    def _level_of_a_profile(self) -> Self:
        if self.slo is not None and (self.capacity is None or self.capacity.profile is None):
            raise ValueError("names an slo, which only a capacity with a profile can keep to")
        return self


def rate_problems(source: Source, path: Path, entry: ScenarioEntry, rates: Collection[str]) -> Iterator[Problem]:
    """Amounts in a currency for which neither the scenario nor the owner gave a rate."""
    known = {"USD", *rates, *(rate.currency for rate in entry.exchange_rates)}
    for key, currency in _currencies(entry):
        if currency not in known:
            yield source.problem((*path, *key), without_rate(currency))


def _currencies(entry: ScenarioEntry) -> Iterator[tuple[tuple[str, ...], str]]:
    amounts: tuple[tuple[tuple[str, ...], Any], ...] = (
        (("hardware", "rent"), entry.hardware.rent),
        (("hardware", "capex"), entry.hardware.capex),
        (("hosted", "currency"), entry.hosted),
        (("hosted", "minimum_per_month"), entry.hosted.minimum_per_month),
        (("site",), entry.site),
        (("staff",), entry.staff),
        (("software_per_month",), entry.software_per_month),
        (("setup",), entry.setup),
    )
    for key, part in amounts:
        if part is not None and part.currency is not None:
            yield key, part.currency


def without_rate(currency: str) -> str:
    """What to do about a currency that nobody knows the rate of."""
    return (
        f"is in {currency}, for which no exchange rate is known: add to prices.yaml "
        f"`exchange_rates: [{{currency: {currency}, per_usd: …, as_of: …, source: …}}]`"
    )
