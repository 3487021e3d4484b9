"""Holds a provider's own usage or cost file against the ledger, by day and model, and lists where they differ."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gateway.economics.calendar import day_of, start_of
from gateway.errors import BadRequest
from gateway.ledger.exports import attempts
from gateway.ledger.exports.lanes import usage_of
from gateway.ledger.exports.provider_files import COUNTS, read
from gateway.ledger.exports.sheets import plain
from gateway.ledger.usage import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date, tzinfo

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.attempts import AttemptRow
    from gateway.ledger.exports.provider_files import ProviderFile, Role, Stated

_DAY = timedelta(days=1)
_VERSION = re.compile(r"[-@:](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|v\d+|latest)\Z")
"""What may stand behind a model's name: `-2026-08-06`, `@20261001`, `-0905`, `:latest`; but not the 4 of `gpt-4`."""
_NANO = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure that is not the same on both sides."""

    day: date
    model: str
    what: str
    """A count of tokens or requests, or `cost`."""
    theirs: Decimal
    ours: Decimal
    estimated: int
    """How many of our calls of that day were charged by an estimate, which may be all there is to it."""

    def as_dict(self) -> dict[str, Any]:
        """The form for JSON; amounts as text, so that no digit is lost."""
        return {
            "day": self.day.isoformat(),
            "model": self.model,
            "what": self.what,
            "theirs": plain(self.theirs),
            "ours": plain(self.ours),
            "difference": plain(self.theirs - self.ours),
            "estimated": self.estimated,
        }


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What the comparison found."""

    columns: dict[Role, str]
    start: date
    end: date
    """The last day that was compared."""
    compared: int
    """Figures."""
    currency: str
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    """What was not compared, and why."""

    def as_dict(self) -> dict[str, Any]:
        """The form for JSON."""
        return {
            "columns": self.columns,
            "from": self.start.isoformat(),
            "to": self.end.isoformat(),
            "compared": self.compared,
            "currency": self.currency,
            "notes": list(self.notes),
            "differences": [difference.as_dict() for difference in self.differences],
        }


@dataclass(frozen=True, slots=True)
class Question:
    """What is compared: a deployment's rows with a file, over some days (None: those of the file) of a time zone."""

    deployment: str
    zone: tzinfo
    start: date | None = None
    end: date | None = None
    """The last day."""
    said: Mapping[Role, str] = field(default_factory=dict)
    currency: str | None = None
    """What the file's amounts are in, where it does not say; None: dollars."""


@dataclass(slots=True)
class _Side:
    """What one side says of one day and model."""

    counts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    cost: Fraction = Fraction(0)
    slack: Fraction = Fraction(0)
    """How far rounding may have moved the cost."""
    estimated: int = 0
    foreign: bool = False
    """True if some of it was priced in another currency than the file's."""


class _Names:
    """What models are called: both sides' names are matched without their paths and versions."""

    def __init__(self, *, by_model: bool) -> None:
        self._by_model = by_model
        self._first: dict[str, str] = {}

    def of(self, model: str) -> str:
        """The name that the model was first heard of by; empty where models are not told apart."""
        return (
            self._first.setdefault(_VERSION.sub("", model.lower().rpartition("/")[2]), model) if self._by_model else ""
        )


_Key = tuple["date", str]


async def reconcile(engine: AsyncEngine, data: bytes, question: Question) -> Reconciliation:
    """Compare every figure that the file has; BadRequest if it cannot be read, or is of no day in question.

    Calls out of the response cache never reached the provider and are left out, as are those it did not take. The
    owner's cost lines are not the provider's either.
    """
    file = read(data, question.said, question.zone)
    first, last = _days(file, question)
    currency = _currency(file, question)
    names = _Names(by_model=any(line.model for line in file.lines))
    theirs: defaultdict[_Key, _Side] = defaultdict(_Side)
    for line in file.lines:
        if first <= line.day <= last:
            _add_stated(theirs[line.day, names.of(line.model)], line)
    ours: defaultdict[_Key, _Side] = defaultdict(_Side)
    span = Span(start_of(first, question.zone), start_of(last + _DAY, question.zone), question.zone)
    async for row in attempts.each(engine, span, {"deployment": [question.deployment]}):
        if not row.from_cache and _was_taken(row):
            model = names.of(row.answered_model or row.upstream_model)
            _add_row(ours[day_of(row.started_at, question.zone), model], row, currency)
    return _reconciliation(file, theirs, ours, (first, last), currency)


def _days(file: ProviderFile, question: Question) -> tuple[date, date]:
    """The first and the last day to compare."""
    stated = [line.day for line in file.lines]
    first, last = question.start or min(stated, default=None), question.end or max(stated, default=None)
    if first is None or last is None:
        raise BadRequest("the file says nothing of any day: name the days with --from and --to to compare all the same")
    if last < first:
        raise BadRequest(f"there is no day between {first} and {last}")
    return first, last


def _currency(file: ProviderFile, question: Question) -> str:
    stated = sorted({line.currency for line in file.lines if line.currency})
    if len(stated) > 1:
        raise BadRequest(f"the file has amounts in {' and '.join(stated)}: compare one currency at a time")
    return stated[0] if stated else (question.currency or "USD")


def _was_taken(row: AttemptRow) -> bool:
    """True if the provider counted something for it, as far as is known."""
    return row.cost_nano_usd is not None and (usage_of(row).tokens > 0 or row.searches > 0 or row.outcome == "ok")


def _add_stated(side: _Side, line: Stated) -> None:
    for role, count in line.counts.items():
        side.counts[role] += count
    if line.cost is not None:
        side.cost += Fraction(line.cost)
        side.slack += Fraction(1, 2 * 10**line.places)


def _add_row(side: _Side, row: AttemptRow, currency: str) -> None:
    usage = usage_of(row)
    writes = usage.cache_write_5m + usage.cache_write_1h
    counted = {
        "requests": 1,
        "input": usage.prompt,
        "uncached": usage.prompt - usage.cached - writes,
        "cached": usage.cached,
        "cache_write": writes,
        "cache_write_5m": usage.cache_write_5m,
        "cache_write_1h": usage.cache_write_1h,
        "output": usage.completion,
        "reasoning": usage.reasoning,
    }
    for name, count in counted.items():
        side.counts[name] += count
    rate = _rate(row, currency)
    side.foreign |= rate is None
    side.cost += Fraction((row.cost_nano_usd or 0) - row.surcharge_nano_usd, _NANO) * (rate or 0)
    side.slack += Fraction(1, 2 * _NANO) * (rate or 0)
    side.estimated += row.estimated


def _rate(row: AttemptRow, currency: str) -> Fraction | None:
    """What a dollar of the row is in the currency; None: the row does not know."""
    if currency == "USD":
        return Fraction(1)
    return Fraction(row.per_usd) if row.currency == currency and row.per_usd is not None else None


def _reconciliation(
    file: ProviderFile,
    theirs: Mapping[_Key, _Side],
    ours: Mapping[_Key, _Side],
    days: tuple[date, date],
    currency: str,
) -> Reconciliation:
    keys = sorted({*theirs, *ours})
    counted = [role for role in COUNTS if any(role in line.counts for line in file.lines)]
    priced = any(line.cost is not None for line in file.lines)
    foreign = priced and any(side.foreign for side in ours.values())
    found: list[Difference] = []
    for key in keys:
        mine, other = ours.get(key, _Side()), theirs.get(key, _Side())
        for role in counted:
            if other.counts[role] != mine.counts[role]:
                there, here = Decimal(other.counts[role]), Decimal(mine.counts[role])
                found.append(Difference(*key, role, there, here, mine.estimated))
        if priced and not foreign and abs(other.cost - mine.cost) > other.slack + mine.slack:
            found.append(Difference(*key, "cost", _shown(other.cost), _shown(mine.cost), mine.estimated))
    return Reconciliation(
        columns=file.columns,
        start=days[0],
        end=days[1],
        compared=len(keys) * (len(counted) + (priced and not foreign)),
        currency=currency,
        differences=tuple(found),
        notes=tuple(_notes(file, theirs, currency, foreign=foreign)),
    )


def _notes(file: ProviderFile, theirs: Mapping[_Key, _Side], currency: str, *, foreign: bool) -> Iterator[str]:
    if foreign:
        yield f"costs were not compared: the file's are in {currency}, and some calls were priced in another currency"
    if not any(model for _, model in theirs):
        yield "the file names no model: days were compared as a whole"
    if not {"input", "uncached", "output"} & file.columns.keys():
        yield "the file counts no tokens: only what it has was compared"


def _shown(amount: Fraction) -> Decimal:
    """To a nano-unit, which is as far as the ledger goes."""
    return Decimal(round(amount * _NANO)).scaleb(-9)
