"""Finds prices, rents and rates of exchange that are old, or of no day that anybody named."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from gateway.owning.notes import Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date

    from gateway.owning.figures import Figure
    from gateway.owning.notes import Fact

OLD_PRICE_DAYS = 90
"""Alerts begin to tell of a price after as many days, unless the pack says otherwise."""
OLD_RATE_DAYS = 45
"""Of a rate of exchange."""
_PRICES = frozenset({"USD/M tokens", "USD/GPU-h", "USD/kWh"})
_TELLS_NOTHING = frozenset({"default", "overridden", "ledger", "measured", "detected"})
"""Origins that are no price list."""


def notes(figures: Iterable[Figure], today: date) -> list[Note]:
    """One note for each source's figures of one day."""
    together: dict[tuple[str, str, date | None], list[Figure]] = defaultdict(list)
    for figure in figures:
        kind = _kind(figure)
        if kind is not None:
            together[kind, figure.source, figure.as_of].append(figure)
    return [note for (kind, *_), found in together.items() for note in _note(kind, found, today)]


def _kind(figure: Figure) -> str | None:
    if figure.origin in _TELLS_NOTHING or figure.name.startswith("ranges."):
        return None
    if figure.name.startswith("exchange."):
        return "rate"
    return "price" if figure.unit in _PRICES or figure.name == "costs.rent" else None


def _note(kind: str, figures: Sequence[Figure], today: date) -> Iterator[Note]:
    first = figures[0]
    names = ", ".join(figure.name for figure in figures)
    age = first.age_days(today)
    if first.as_of is None:
        yield Note(f"{kind}_without_day", {"names": names, "source": first.source})
    elif age is None:
        yield Note(f"{kind}_of_tomorrow", {"names": names, "as_of": first.as_of.isoformat(), "source": first.source})
    elif age > (OLD_RATE_DAYS if kind == "rate" else OLD_PRICE_DAYS):
        facts: dict[str, Fact] = {"names": names, "days": age, "as_of": first.as_of.isoformat()}
        yield Note(f"old_{kind}", {**facts, "source": first.source})
