"""A price as integers: what a token of each lane costs in nano-dollars, over one common denominator."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

from gateway.wire.lanes import LANES

if TYPE_CHECKING:
    from datetime import datetime

    from gateway.catalog.rates import Change, Hours, Rates, Tariff, Tier

_NAMES = {"fresh": "input"}
"""The lanes that a price names otherwise."""
_INSTEAD = {
    "cached": "input",
    "cache_write_5m": "input",
    "cache_write_1h": "cache_write_5m",
    "reasoning": "output",
    "image_input": "input",
    "image_output": "output",
    "audio_input": "input",
    "audio_output": "output",
    "embedding": "input",
    "rerank": "input",
}
"""Whose price a lane takes that has none."""
_UNDERSTOOD = frozenset({"reasoning", "embedding", "rerank"})
"""Lanes that every price list means by `input` and `output`; of the others it is assumed."""
STANDARD = frozenset({None, "default", "standard", "auto"})
"""What upstreams call the service tier that a price's own rates are of."""


@dataclass(frozen=True, slots=True)
class Meter:
    """One set of rates: what a token of a lane costs is the lane's numerator over `per`."""

    numerators: tuple[int | None, ...]
    """In the order of LANES; None: the lane has no price, and none that could stand for it."""
    per: int
    assumed: tuple[bool, ...]
    """For each lane, whether another one's price stands for it."""
    on_top: tuple[int, int]
    """What the whole comes to with surcharges, as a fraction of what the provider takes."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The meters of one way to be served, by the size of the prompt."""

    meters: tuple[Meter, ...]
    above: tuple[int, ...]
    """Thresholds: for a prompt of more than `above[i]` tokens the meter `i + 1` holds."""

    def meter(self, prompt: int) -> Meter:
        return self.meters[sum(prompt > above for above in self.above)]

    def up_to(self, prompt: int) -> tuple[Meter, ...]:
        """Those that a prompt of at most so many tokens may meet."""
        return self.meters[: 1 + sum(prompt > above for above in self.above)]


@dataclass(frozen=True, slots=True)
class Services:
    """The schedules of the standard service tier and of the others."""

    standard: Schedule
    others: dict[str, Schedule]

    def served(self, service_tier: str | None) -> tuple[Schedule, bool]:
        """The tier's schedule, and whether it is only assumed to be its: nothing says what the tier costs."""
        found = self.others.get(service_tier) if service_tier else None
        if found is not None:
            return found, False
        return self.standard, service_tier not in STANDARD

    def all(self) -> tuple[Schedule, ...]:
        return (self.standard, *self.others.values())


@dataclass(frozen=True, slots=True)
class Meters:
    """All that a price may come to: at most times, and in each of its stretches of the day."""

    usual: Services
    hours: tuple[tuple[Hours, Services], ...]

    def services(self, at: datetime) -> Services:
        for stretch, services in self.hours:
            if stretch.include(at):
                return services
        return self.usual

    def up_to(self, prompt: int) -> tuple[Meter, ...]:
        """Every meter that a prompt of at most so many tokens may meet."""
        all_services = (self.usual, *(services for _, services in self.hours))
        return tuple(meter for each in all_services for schedule in each.all() for meter in schedule.up_to(prompt))


def compiled(tariff: Tariff, nano_usd: Fraction, on_top: Fraction) -> Meters:
    """Work out every set of rates that a request may meet.

    `nano_usd` is what one token costs whose million costs one unit; `on_top` what surcharges make of it.
    """
    free = tariff.is_free or not nano_usd
    usual = _Rated(tariff.rates, nano_usd, tariff.tiers, on_top, free)
    hours = tuple((stretch, _services(usual.changed(stretch.change), tariff)) for stretch in tariff.hours)
    return Meters(_services(usual, tariff), hours)


def _services(rated: _Rated, tariff: Tariff) -> Services:
    others = {tier.name: rated.changed(tier.change, tier.tiers).schedule() for tier in tariff.service_tiers}
    return Services(rated.schedule(), others)


@dataclass(frozen=True, slots=True)
class _Rated:
    """Rates on their way through the changes of a tariff: of own rates the last ones hold, factors multiply."""

    rates: Rates
    nano_usd: Fraction
    tiers: tuple[Tier, ...]
    on_top: Fraction
    free: bool

    def changed(self, change: Change, tiers: tuple[Tier, ...] | None = None) -> _Rated:
        """Own rates are whole: the usual tiers are not theirs."""
        kept = self.tiers if change.rates is None else ()
        nano_usd = self.nano_usd * Fraction(change.factor)
        return _Rated(change.rates or self.rates, nano_usd, kept if tiers is None else tiers, self.on_top, self.free)

    def schedule(self) -> Schedule:
        sizes = (self, *(self.changed(tier.change) for tier in self.tiers))
        return Schedule(tuple(rated.meter() for rated in sizes), tuple(tier.above for tier in self.tiers))

    def meter(self) -> Meter:
        found = [_found(self.rates, lane) for lane in LANES]
        exact = [None if amount is None else _fraction(amount) * self.nano_usd for amount, _ in found]
        per = lcm(*(rate.denominator for rate in exact if rate is not None))
        return Meter(
            numerators=tuple(None if rate is None else int(rate * per) for rate in exact),
            per=per,
            assumed=tuple(assumed and not self.free for _, assumed in found),
            on_top=self.on_top.as_integer_ratio(),
        )


def _found(rates: Rates, lane: str) -> tuple[Decimal | None, bool]:
    """The lane's price, and whether it is only assumed to be its."""
    name = _NAMES.get(lane, lane)
    amount: Decimal | None = getattr(rates, name)
    assumed = False
    while amount is None and name in _INSTEAD:
        name, assumed = _INSTEAD[name], lane not in _UNDERSTOOD
        amount = getattr(rates, name)
    return amount, assumed


def _fraction(amount: Decimal) -> Fraction:
    """Exact: a float would carry a rounding of its own into every cost."""
    if not isinstance(amount, Decimal):
        raise TypeError(f"a price is a Decimal, not {amount!r}")
    return Fraction(amount)
