"""What a deployment's tokens cost, and since when."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from gateway.catalog.meters import Meters, compiled
from gateway.catalog.rates import Hours, Rates, ServiceTier, Tariff, Tier

if TYPE_CHECKING:
    from policies.prices import Origin

_NANO_USD_PER_MILLIONTH = 1000


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """How many units of a currency the owner counts for a dollar, and of which day that is."""

    per_usd: Decimal
    as_of: date
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Surcharge:
    """What the owner pays on top of a provider's price: a tax, a fee.

    `on` says of what it is a percentage: of the price alone, or of the total with what is written before it.
    """

    name: str
    percent: Decimal
    on: Literal["price", "total"] = "price"


@dataclass(frozen=True)
class Price:
    """What a deployment's tokens cost, per million, in `currency`, and on top of it the owner's surcharges.

    A lane without a price of its own costs what another lane does: `cached` what `input` costs, `reasoning` what
    `output` costs (`gateway.catalog.meters` has them all).
    """

    input: Decimal
    output: Decimal
    source: str | None
    as_of: date | None
    cached: Decimal | None = None
    reasoning: Decimal | None = None
    currency: str = "USD"
    cache_write_5m: Decimal | None = None
    cache_write_1h: Decimal | None = None
    image_input: Decimal | None = None
    image_output: Decimal | None = None
    audio_input: Decimal | None = None
    audio_output: Decimal | None = None
    embedding: Decimal | None = None
    rerank: Decimal | None = None
    searches: Decimal | None = None
    """Of a million search units of a reranker."""
    tiers: tuple[Tier, ...] = ()
    service_tiers: tuple[ServiceTier, ...] = ()
    hours: tuple[Hours, ...] = ()
    multiplier: Decimal = Decimal(1)
    """What a reseller takes of the listed price."""
    surcharges: tuple[Surcharge, ...] = ()
    exchange_rate: ExchangeRate | None = None
    """None for dollars, which need none."""
    origin: Origin = "deployment"
    starts_on: date | None = None
    """The first day (UTC) on which it holds; None: ever since."""
    ends_on: date | None = None
    """The last day on which its source says it holds; None: until further notice."""
    lapsed: bool = False
    """True if nothing says what holds now, so that this one goes on beyond its days."""
    retires_on: date | None = None
    """The day the operator takes the model away, where the price list says so."""
    dated: tuple[Price, ...] = ()
    """All that it costs over time, by first days, none of them dated in turn. Empty: this one always."""

    def at(self, moment: datetime) -> Price:
        """The price in force at a moment."""
        if not self.dated:
            return self
        return self.dated[max(0, bisect_right(self._starts, moment.astimezone(UTC).date()) - 1)]

    @property
    def rates(self) -> Rates:
        return Rates(**{field.name: getattr(self, field.name) for field in fields(Rates)})

    @property
    def tariff(self) -> Tariff:
        return Tariff(self.rates, self.tiers, self.service_tiers, self.hours)

    @property
    def is_free(self) -> bool:
        return self.multiplier == 0 or self.tariff.is_free

    @cached_property
    def meters(self) -> Meters:
        """Its rates in nano-dollars, worked out once; ValueError if its currency has no exchange rate."""
        return compiled(self.tariff, self._nano_usd(), self._on_top())

    @cached_property
    def _starts(self) -> tuple[date, ...]:
        return tuple(price.starts_on or date.min for price in self.dated)

    def _nano_usd(self) -> Fraction:
        """Of one token whose million costs one unit of the currency."""
        if self.currency == "USD":
            return Fraction(self.multiplier) * _NANO_USD_PER_MILLIONTH
        if self.exchange_rate is None:
            raise ValueError(f"a price in {self.currency!r} has no cost in USD: no exchange rate is known")
        return Fraction(self.multiplier) * _NANO_USD_PER_MILLIONTH / Fraction(self.exchange_rate.per_usd)

    def _on_top(self) -> Fraction:
        """One, and what the surcharges add to it in the order in which they are written."""
        total = Fraction(1)
        for surcharge in self.surcharges:
            total += Fraction(surcharge.percent) / 100 * (total if surcharge.on == "total" else 1)
        return total
