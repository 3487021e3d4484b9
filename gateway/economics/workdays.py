"""Which days people work on: weekends and public holidays of the owner's countries."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

Kind = Literal["working_day", "weekend", "holiday"]

_SATURDAY = 5
_KEPT = {"BR": frozenset({"Carnival", "Corpus Christi"})}
"""Days that are optional by a country's law and kept by nearly everybody in it."""


def kind_in(calendars: tuple[str, ...]) -> Callable[[date], Kind]:
    """Tell days apart by the calendars of countries and their parts (`BR`, `BR-SP`, `DE-BE`); none: by weekends alone.

    A holiday that falls on a weekend is one of its days. Holidays of any of the calendars count.
    """
    known = [_calendar(name) for name in calendars]

    def kind(day: date) -> Kind:
        if day.weekday() >= _SATURDAY:
            return "weekend"
        return "holiday" if any(is_holiday(day) for is_holiday in known) else "working_day"

    return kind


@cache
def _calendar(name: str) -> Callable[[date], bool]:
    library: Any = import_module("holidays")  # two tenths of a second, which only an owner who names one should take
    country, _, part = name.partition("-")
    public = library.country_holidays(country, subdiv=part or None)
    if country not in _KEPT:
        return public.__contains__  # type: ignore[no-any-return]  # the library is loaded late, and so has no types
    optional = library.country_holidays(country, subdiv=part or None, categories=("optional",), language="en_US")
    return lambda day: day in public or optional.get(day) in _KEPT[country]
