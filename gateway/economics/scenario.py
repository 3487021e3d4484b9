"""What a break-even question is made of: traffic, hosted prices, machines and what they can carry.

Amounts are US dollars, shares parts of 1, volumes tokens of a month of 730 hours; all are exact fractions. Where the
figures come from is told beside them (`gateway.owning.figures`), not in here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

HOURS_A_MONTH = 730
DAYS_A_MONTH = Fraction(HOURS_A_MONTH, 24)
SECONDS_A_MONTH = HOURS_A_MONTH * 3600
MILLION = 1_000_000

Scope = Literal["machine", "house"]
"""What a cost is of: each machine (the spare ones too), or all of them together."""
Line = Literal["rent", "capital", "energy", "colocation", "network", "storage", "software", "staff", "extra"]

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Mix:
    """Which part of all tokens lies in which lane; together 1."""

    fresh: Fraction
    """Input that is computed."""
    output: Fraction
    """Thoughts included, which are charged and computed as output."""
    cached: Fraction = ZERO
    cache_write_5m: Fraction = ZERO
    cache_write_1h: Fraction = ZERO

    @classmethod
    def of(cls, prompt: Fraction, output: Fraction, cached_share: Fraction = ZERO) -> Mix:
        """From tokens in and out, and the part of the input that a cache holds; ValueError for no tokens at all."""
        whole = prompt + output
        if whole <= 0 or prompt < 0 or output < 0 or not 0 <= cached_share <= 1:
            raise ValueError("a mix has tokens, and a cached share from 0 to 1")
        read = prompt / whole
        return cls(fresh=read * (1 - cached_share), cached=read * cached_share, output=output / whole)

    @property
    def prompt(self) -> Fraction:
        """All that goes in."""
        return self.fresh + self.cached + self.cache_write_5m + self.cache_write_1h


@dataclass(frozen=True, slots=True)
class Traffic:
    """What is asked of a model."""

    mix: Mix
    tokens_per_month: Fraction | None = None
    """Of all lanes, today; None: unknown."""
    peak_to_mean: Fraction = Fraction(2)
    """The busiest hour over the average one, 1 or more."""
    shape: tuple[Fraction, ...] = ()
    """Loads of hours over the average one, their mean 1, in any number and order; empty: only the peak is known."""
    growth_per_month: Fraction = ZERO
    forced_share: Fraction = ZERO
    """What privacy keeps in the house at any price."""

    def __post_init__(self) -> None:
        """ValueError for traffic that cannot be."""
        if self.peak_to_mean < 1:
            raise ValueError("the busiest hour is at least as busy as the average one: peak_to_mean is 1 or more")
        if not 0 <= self.forced_share <= 1:
            raise ValueError("forced_share is a part of all tokens, from 0 to 1")
        if self.shape and (min(self.shape) < 0 or not any(self.shape)):
            raise ValueError("the loads of hours are 0 or more, and not all of them 0")


@dataclass(frozen=True, slots=True)
class LanePrice:
    """Dollars for a million tokens of each lane."""

    fresh: Fraction
    output: Fraction
    cached: Fraction
    """Where nobody states it: what fresh input costs, and said so."""
    cache_write_5m: Fraction
    cache_write_1h: Fraction


@dataclass(frozen=True, slots=True)
class VolumeTier:
    """What tokens beyond a month's volume cost."""

    above_tokens: Fraction
    """Of those that are charged, tokens paid twice among them."""
    factor: Fraction
    """As a part of the price without tiers: 0.8 is a fifth off the list."""


@dataclass(frozen=True, slots=True)
class Hosted:
    """What somebody else charges for the same tokens."""

    price: LanePrice
    """With the reseller's share and the owner's taxes."""
    tiers: tuple[VolumeTier, ...] = ()
    """By rising volume; each charges only what lies beyond it."""
    decline_per_year: Fraction = ZERO
    """By how much prices fall in a year, below 1."""
    retry_overhead: Fraction = ZERO
    """Tokens that are paid twice, as a part of all."""
    privacy_premium: Fraction = ZERO
    """What it is worth to the owner that nothing leaves, as a part of the price."""
    minimum_usd: Fraction = ZERO
    """A month's least bill."""

    def __post_init__(self) -> None:
        """ValueError for a bill that falls as more is used, or tiers that are out of order."""
        volumes = [tier.above_tokens for tier in self.tiers]
        if volumes != sorted(volumes) or any(tier.above_tokens < 0 or tier.factor < 0 for tier in self.tiers):
            raise ValueError("volume tiers rise, and neither their volumes nor their factors are below 0")
        price = self.price
        lanes = (price.fresh, price.output, price.cached, price.cache_write_5m, price.cache_write_1h)
        if min(*lanes, self.retry_overhead, self.privacy_premium, self.minimum_usd) < 0:
            raise ValueError("prices, retry_overhead, privacy_premium and the least bill are 0 or more")
        if not 0 <= self.decline_per_year < 1:
            raise ValueError("decline_per_year is a part of the price, from 0 to below 1")


@dataclass(frozen=True, slots=True)
class Cost:
    """One line of what machines cost in a month."""

    line: Line
    usd_per_month: Fraction
    scope: Scope = "machine"

    def __post_init__(self) -> None:
        """ValueError for a machine that costs less than nothing."""
        if self.scope == "machine" and self.usd_per_month < 0:
            raise ValueError("what a machine costs in a month is 0 or more")


@dataclass(frozen=True, slots=True)
class Purchase:
    """One machine bought: what is paid at once, and what it is worth at the end."""

    usd: Fraction
    life_months: int
    residual_usd: Fraction = ZERO


@dataclass(frozen=True, slots=True)
class Owned:
    """Machines of one kind, each of which holds the whole model: a replica."""

    costs: tuple[Cost, ...]
    """Capital written off is among them; what is paid at once is not."""
    gpus: int
    """Of one replica."""
    usd_per_gpu_hour: Fraction | None = None
    """None: it is not rented by the hour."""
    least_replicas: int = 1
    spares: int = 0
    """Machines beyond those that the load takes."""
    setup_usd: Fraction = ZERO
    """Paid once, whatever the number of machines."""
    purchase: Purchase | None = None
    committed_months: int = 0
    """How long it must be paid for whatever happens."""

    def __post_init__(self) -> None:
        """ValueError for fewer machines than can be."""
        if self.least_replicas < 1 or self.spares < 0:
            raise ValueError("owning takes 1 replica or more, and 0 spares or more")

    def monthly(self, replicas: int) -> Fraction:
        """What so many replicas and the spares cost in a month, in dollars; nothing where there are none."""
        if not replicas:
            return ZERO
        machines = replicas + self.spares
        return sum((c.usd_per_month * (machines if c.scope == "machine" else 1) for c in self.costs), ZERO)


@dataclass(frozen=True, slots=True)
class Capacity:
    """What one replica carries: it reads at one rate, writes at the other, and does either at a time.

    The load of a token is fresh / prefill + output / decode + cached / cached rate.
    """

    prefill_tps: Fraction
    decode_tps: Fraction
    cached_tps: Fraction | None = None
    """At which cached input passes; None: it costs nothing."""
    utilisation: Fraction = Fraction(3, 4)
    """To which a machine may be loaded and still answer in time."""

    def __post_init__(self) -> None:
        """ValueError for a machine that does nothing, or more than it can."""
        if self.prefill_tps <= 0 or self.decode_tps <= 0 or (self.cached_tps is not None and self.cached_tps <= 0):
            raise ValueError("rates are above 0 tokens a second")
        if not 0 < self.utilisation <= 1:
            raise ValueError("utilisation is a part of what the machine can, above 0 and up to 1")


@dataclass(frozen=True, slots=True)
class Scenario:
    """One question: is it cheaper to own these machines than to have the same tokens from that host?"""

    traffic: Traffic
    hosted: Hosted
    owned: Owned
    capacity: Capacity | None = None
    """None: arithmetic alone, as if one machine carried any load."""
    holds: bool | None = None
    """Whether a replica can hold the model at all; None: nobody knows."""
    discount_per_year: Fraction = ZERO
    ranges: tuple[tuple[str, Range], ...] = field(default=())
    """What is uncertain, by the name of the input (`gateway.economics.sensitivity.INPUTS`)."""


@dataclass(frozen=True, slots=True)
class Range:
    """What a figure may be, and most likely is."""

    low: Fraction
    mode: Fraction
    high: Fraction
