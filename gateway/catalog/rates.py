"""The rates of a price list: by lane, by the prompt's size, by service tier, by time of day."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices of a million by lane. A lane that is None costs what another one does (`gateway.catalog.meters`)."""

    input: Decimal
    """Text input that was computed."""
    output: Decimal
    cached: Decimal | None = None
    reasoning: Decimal | None = None
    cache_write_5m: Decimal | None = None
    cache_write_1h: Decimal | None = None
    image_input: Decimal | None = None
    image_output: Decimal | None = None
    audio_input: Decimal | None = None
    audio_output: Decimal | None = None
    embedding: Decimal | None = None
    rerank: Decimal | None = None
    searches: Decimal | None = None
    """Of a million search units of a reranker; no token's price can stand for it."""

    @property
    def amounts(self) -> dict[str, Decimal]:
        """The prices that are named."""
        found = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: amount for name, amount in found if amount is not None}


@dataclass(frozen=True, slots=True)
class Change:
    """Other rates than the usual ones: of their own, or the usual ones by a factor."""

    rates: Rates | None = None
    factor: Decimal = Decimal(1)


@dataclass(frozen=True, slots=True)
class Tier:
    """What a whole request costs whose prompt has more than so many tokens."""

    above: int
    change: Change


@dataclass(frozen=True, slots=True)
class ServiceTier:
    """What a request costs that was served under another tier than the standard one: `flex`, `priority`, `batch`."""

    name: str
    change: Change
    tiers: tuple[Tier, ...] | None = None
    """None: those of the price where the change is a factor, none where it has rates of its own."""


@dataclass(frozen=True, slots=True)
class Hours:
    """What requests cost that are made at some time of day; over midnight if it ends before it starts."""

    zone: ZoneInfo
    start: time
    end: time
    """Excluded. What ends when it starts is the whole day."""
    change: Change
    weekdays: frozenset[int] = frozenset(range(7))
    """From Monday, 0."""

    def include(self, moment: datetime) -> bool:
        local = moment.astimezone(self.zone)
        if local.weekday() not in self.weekdays:
            return False
        if self.start < self.end:
            return self.start <= local.time() < self.end
        return local.time() >= self.start or local.time() < self.end


@dataclass(frozen=True, slots=True)
class Tariff:
    """All rates of one price."""

    rates: Rates
    tiers: tuple[Tier, ...] = ()
    """In the order of their thresholds."""
    service_tiers: tuple[ServiceTier, ...] = ()
    hours: tuple[Hours, ...] = ()
    """The first that includes the moment holds."""

    @property
    def is_free(self) -> bool:
        """True if nothing that it names costs anything: said on purpose, as of a machine of one's own."""
        return not any(any(rates.amounts.values()) for rates in self._all_rates())

    def _all_rates(self) -> Iterator[Rates]:
        yield self.rates
        for change in self._changes():
            if change.rates is not None:
                yield change.rates

    def _changes(self) -> Iterator[Change]:
        yield from (tier.change for tier in self.tiers)
        yield from (stretch.change for stretch in self.hours)
        for service in self.service_tiers:
            yield service.change
            yield from (tier.change for tier in service.tiers or ())
