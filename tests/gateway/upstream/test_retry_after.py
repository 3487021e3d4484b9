"""The time an upstream names is read in each of its forms, and nothing else is passed on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gateway.upstream import retry_after

NOW = datetime(2026, 10, 21, 7, 28, tzinfo=UTC)
DATE = "Wed, 21 Oct 2026 07:28:30 GMT"


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        ({"Retry-After": "30"}, "30"),
        ({"Retry-After": " 0.2 "}, "1"),
        ({"Retry-After": DATE}, DATE),
        ({"retry-after-ms": "1500"}, "2"),
        ({"Retry-After": "30", "retry-after-ms": "1500"}, "30"),
        ({"Retry-After": "sk-canary"}, None),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT (sk-canary sk-canary sk-canary)"}, None),
        ({"retry-after-ms": "soon"}, None),
        ({}, None),
    ],
)
def test_only_a_time_is_passed_on(headers: dict[str, str], kept: str | None) -> None:
    assert retry_after.stated(headers) == kept


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("30", 30.0), (DATE, 30.0), ("Wed, 21 Oct 2026 07:28:30", 30.0), ("soon", None), (None, None)],
)
def test_a_time_becomes_seconds_from_now(value: str | None, seconds: float | None) -> None:
    assert retry_after.seconds(value, NOW) == seconds


def test_a_time_that_is_over_is_now() -> None:
    assert retry_after.seconds(DATE, NOW + timedelta(hours=1)) == 0.0
