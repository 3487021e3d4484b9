"""The currency that a page shows: dollars, or the owner's own at the rate the owner gave."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING

from gateway.owning.written import spelled

if TYPE_CHECKING:
    from datetime import date

    from gateway.dashboard.texts import Language

_NANO = Decimal(1_000_000_000)
_CENTS, _SMALL = Decimal("0.01"), Decimal("0.0001")
_SIGNS = {"USD": ("$", "US$"), "BRL": ("R$", "R$"), "EUR": ("€", "€"), "CNY": ("CN¥", "CN¥")}


@dataclass(frozen=True, slots=True)
class Coin:
    """A currency, and how many units of it the owner counts for a dollar."""

    code: str = "USD"
    per_usd: Decimal = Decimal(1)
    as_of: date | None = None
    """The day of the rate; None for dollars, which need none."""

    def written(self, nano_usd: int, language: Language) -> str:
        """`$1,234.56`, in Portuguese `US$ 1.234,56`; below one unit with four decimals, and never as a false zero."""
        amount = nano_usd / _NANO * self.per_usd
        places = _CENTS if not amount or abs(amount) >= 1 else _SMALL
        rounded = abs(amount).quantize(places, ROUND_HALF_EVEN)
        if amount and not rounded:
            return f"<{_NNBSP}{self._signed('', _SMALL, language)}"
        return self._signed("\N{MINUS SIGN}" if amount < 0 else "", rounded, language)

    def amount(self, nano_usd: int) -> Decimal:
        """The exact amount, unrounded."""
        return nano_usd / _NANO * self.per_usd

    def _signed(self, minus: str, amount: Decimal, language: Language) -> str:
        english, portuguese = _SIGNS.get(self.code, (self.code, self.code))
        if language == "pt":
            return f"{minus}{portuguese}\N{NO-BREAK SPACE}{spelled(f'{amount:,}', language)}"
        return f"{minus}{english}{amount:,}"


_NNBSP = "\N{NARROW NO-BREAK SPACE}"
DOLLARS = Coin()
