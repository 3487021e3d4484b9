"""Amounts in the owner's currencies as dollars, at the owner's own rates."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.errors import BadRequest
from gateway.owning.told import Origin
from policies.prices import rate_on
from policies.scenarios import without_rate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from decimal import Decimal

    from gateway.owning.told import Told
    from policies.pack import Pack
    from policies.prices import ExchangeRate
    from policies.scenarios import ScenarioEntry


@dataclass(frozen=True, slots=True)
class Exchange:
    """The rates of a scenario, and behind them those of the pack."""

    own: tuple[ExchangeRate, ...]
    pack: tuple[ExchangeRate, ...]
    at: date

    @classmethod
    def of(cls, entry: ScenarioEntry, pack: Pack | None, at: date) -> Exchange:
        return cls(entry.exchange_rates, () if pack is None else pack.exchange_rates, at)

    def usd(self, amount: Decimal | Fraction, currency: str, day: date | None = None) -> Fraction:
        """Exactly; BadRequest for a currency without a rate."""
        if currency == "USD":
            return Fraction(amount)
        rate = self.rate(currency, day)
        if rate is None:
            raise BadRequest(f"an amount {without_rate(currency)}")
        return Fraction(amount) / Fraction(rate.per_usd)

    def rate(self, currency: str, day: date | None = None) -> ExchangeRate | None:
        """The rate of a day, of today by default."""
        on = day or self.at
        return rate_on(self.own, currency, on) or rate_on(self.pack, currency, on)

    def rates(self) -> Mapping[str, tuple[Decimal, date]]:
        """Units of each known currency for a dollar, and since when."""
        currencies = sorted({rate.currency for rate in (*self.own, *self.pack)})
        found = {currency: self.rate(currency) for currency in currencies}
        return {currency: (rate.per_usd, rate.as_of) for currency, rate in found.items() if rate is not None}

    def tell(self, told: Told) -> None:
        """Each rate is a figure: amounts in that currency hang on it."""
        for currency in self.rates():
            rate = self.rate(currency)
            if rate is not None:
                origin = Origin("stated", rate.source, rate.as_of)
                told.figure(f"exchange.{currency}", Fraction(rate.per_usd), f"{currency}/USD", origin)
