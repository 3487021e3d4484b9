"""Writes numbers, money and moments the way a language does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.ledger.price import as_usd
from gateway.owning.written import spelled

if TYPE_CHECKING:
    from datetime import datetime

    from gateway.dashboard.texts import Language


def dollars(nano: int, language: Language) -> str:
    """Nano-dollars with every digit that counts: `$1,234.0000015`, in Portuguese `US$ 1.234,0000015`."""
    whole, point, rest = as_usd(nano).partition(".")
    amount = spelled(f"{int(whole):,}{point}{rest}", language)
    return f"US$\N{NO-BREAK SPACE}{amount}" if language == "pt" else f"${amount}"


def count(number: int, language: Language) -> str:
    """A whole number with its thousands set apart."""
    return spelled(f"{number:,}", language)


def decimal(number: float, digits: int, language: Language) -> str:
    """A number rounded to so many digits after the point."""
    return spelled(f"{number:,.{digits}f}".replace("-", "\N{MINUS SIGN}"), language)


def moment(at: datetime, language: Language) -> str:
    """A moment in UTC; the browser puts it into the reader's own zone."""
    return at.strftime("%d/%m/%Y %H:%M UTC" if language == "pt" else "%Y-%m-%d %H:%M UTC")
