"""Reads what figures people ask for, as they type it: `2026-11`, `2026-11-30`, `2026-11-30T13:30`, by `day`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from gateway.economics import calendar
from gateway.errors import BadRequest
from gateway.ledger.usage import DIMENSIONS, GROUPINGS, Span
from policies.problems import closest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from gateway.economics.calendar import Stretch
    from gateway.ledger.usage import By, Dimension, Where

_MONTH = re.compile(r"(\d{4})-(\d{2})\Z")
_HOW = "write a day (2026-11-30), a month (2026-11) or a moment (2026-11-30T13:30-03:00)"
_ALIASES: dict[str, By] = {"principal": "key"}


@dataclass(frozen=True, slots=True)
class Question:
    """What figures somebody asks for, in the words that they typed; empty ones ask for nothing."""

    start: str = ""
    end: str = ""
    by: str = ""
    where: Where = field(default_factory=dict)

    def span(self, zone: tzinfo) -> Span:
        return span(self.start, self.end, zone)

    @property
    def grouping(self) -> By | None:
        return grouping(self.by)


def span(start: str, end: str, zone: tzinfo) -> Span:
    """The span between two words, both included; a word that is empty leaves it open.

    A day or month stands for all of it, by the calendar of the zone. A moment stands for itself, in the zone unless it
    names its offset; as an end it is excluded.
    """
    first = _stretch(start, zone, "from") if start else None
    last = _stretch(end, zone, "to") if end else None
    if first is not None and last is not None and (last[1] < first[0] or last[0] < last[1] == first[0]):
        raise BadRequest(f"the span ends ({end}) before it starts ({start})", param="to")
    return Span.open(first and first[0], last and last[1], zone)


def grouping(text: str) -> By | None:
    """What lines are to stand for; empty: there are to be none."""
    if not text:
        return None
    found = next((known for known in GROUPINGS if known == text), _ALIASES.get(text))
    if found is None:
        near = closest(text, GROUPINGS)
        hint = f"; did you mean {near!r}?" if near else ""
        raise BadRequest(f"{text!r} is nothing to group by: use one of {', '.join(GROUPINGS)}{hint}", param="group_by")
    return found


def _stretch(text: str, zone: tzinfo, name: str) -> Stretch:
    try:
        if found := _MONTH.match(text):
            first = calendar.known(date(int(found[1]), int(found[2]), 1))
            return calendar.month(first.year, first.month, zone)
        if "T" in text or " " in text:
            moment = _moment(text, zone)
            return moment, moment
        return calendar.day(calendar.known(date.fromisoformat(text)), zone)
    except (ValueError, OverflowError):
        raise BadRequest(f"{text!r} is no time: {_HOW}", param=name) from None


def _moment(text: str, zone: tzinfo) -> datetime:
    """In a query string, a plus that nobody encoded arrives as a blank."""
    day, clock = text[:11], text[11:]
    moment = datetime.fromisoformat(day + clock.strip().replace(" ", "+"))
    calendar.known(moment.date())
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)


def filters(words: Sequence[str]) -> Where:
    """Which attempts count, from words such as `zone=hosted`; the same dimension twice means either."""
    where: dict[Dimension, list[str]] = {}
    for word in words:
        name, given, value = word.partition("=")
        dimension = next((known for known in DIMENSIONS if known == name), None)
        if dimension is None or not given:
            known = ", ".join(DIMENSIONS)
            raise BadRequest(f"{word!r} tells nothing apart: write zone=hosted, or so with {known}", param="where")
        where.setdefault(dimension, []).append(value)
    return where
