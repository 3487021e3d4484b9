"""Kinds of days: what people work on is their country's calendar's to say."""

from __future__ import annotations

from datetime import date

import pytest

from gateway.economics.workdays import Kind, kind_in


@pytest.mark.parametrize(
    ("day", "calendars", "kind"),
    [
        (date(2026, 11, 30), (), "working_day"),
        (date(2026, 11, 28), (), "weekend"),
        (date(2026, 11, 20), (), "working_day"),
        (date(2026, 11, 20), ("BR",), "holiday"),
        (date(2026, 12, 25), ("BR",), "holiday"),
        (date(2026, 11, 15), ("BR",), "weekend"),  # the Republic's day, on a Sunday
        (date(2026, 2, 17), ("BR",), "holiday"),  # carnival
        (date(2026, 6, 4), ("BR",), "holiday"),  # Corpus Christi
        (date(2026, 10, 28), ("BR",), "working_day"),  # optional, and kept by public servants alone
        (date(2026, 7, 9), ("BR",), "working_day"),
        (date(2026, 7, 9), ("BR-SP",), "holiday"),
        (date(2026, 3, 8), ("DE-BE",), "weekend"),
        (date(2027, 3, 8), ("DE-BE",), "holiday"),
        (date(2027, 3, 8), ("DE",), "working_day"),
        (date(2026, 10, 3), ("DE-BE", "BR"), "weekend"),
        (date(2026, 10, 12), ("DE-BE", "BR"), "holiday"),
    ],
)
def test_a_day_is_of_the_kind_that_its_calendars_say(day: date, calendars: tuple[str, ...], kind: Kind) -> None:
    assert kind_in(calendars)(day) == kind
