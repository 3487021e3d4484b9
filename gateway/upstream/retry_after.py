"""Reads when an upstream says to come back."""

from __future__ import annotations

import math
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_LONGEST_VALUE = 40
_MOST_SECONDS = 10**9
"""Thirty years: more is no time to come back at."""


def stated(headers: Mapping[str, str]) -> str | None:
    """The `Retry-After` value to answer with: whole seconds, or the HTTP date as it came; None for what is neither.

    Only what can be read is passed on: a header of an upstream's may say anything.
    """
    value = headers.get("Retry-After", "").strip()
    if (plain := _number(value)) is not None:
        return str(math.ceil(plain))
    if _date(value) is not None:
        return value
    # OpenAI's own, in milliseconds.
    milliseconds = _number(headers.get("retry-after-ms", ""))
    return None if milliseconds is None else str(math.ceil(milliseconds / 1000))


def seconds(value: str | None, now: datetime) -> float | None:
    """The seconds from now until then; 0 for a time that is over, None if no time is stated."""
    if value is None:
        return None
    if (plain := _number(value)) is not None:
        return plain
    date = _date(value)
    return None if date is None else max((date - now).total_seconds(), 0.0)


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 <= number <= _MOST_SECONDS else None


def _date(value: str) -> datetime | None:
    if len(value) > _LONGEST_VALUE:
        return None
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
