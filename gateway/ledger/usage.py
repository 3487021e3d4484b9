"""What was used and what it cost within a span of time: in all, by whom, by what, and over time.

Figures are the rollups', which change in the transaction that settles an attempt, so they equal the sums of its rows.
What is only held is no cost yet: it stands apart.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, tzinfo
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from gateway.db import attempts, edges, rollups
from gateway.db.tables import BUCKET, MEASURES
from gateway.economics import calendar
from gateway.errors import BadRequest
from gateway.ledger import days
from policies.budgets import Per

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.attempts import HeldSum
    from gateway.db.rollups import Summed

Dimension = Literal["key", "person", "model", "zone", "collection", "deployment", "tag", "label"]
By = Dimension | Per
"""What a report's lines stand for. Hours, days, weeks and months are by the calendar of the span's time zone."""
Where = Mapping[Dimension, Sequence[str]]
"""Which attempts count: in each dimension that is named, those with one of the names; an empty name is none at all."""

DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
STEPS: tuple[Per, ...] = get_args(Per)
GROUPINGS: tuple[By, ...] = (*DIMENSIONS, *STEPS)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(9999, 1, 1, tzinfo=UTC)
_MOST_LINES = 10_000
"""A year has fewer hours."""
_COLUMNS: dict[str, str] = {"key": "principal", "collection": "collections"}
"""Where the ledger's word is another one."""


@dataclass(frozen=True, slots=True)
class Span:
    """From a moment until before another, by the calendar of a time zone."""

    start: datetime
    end: datetime
    zone: tzinfo = UTC

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise BadRequest(f"the span ends at {self.end.isoformat()}, before it starts ({self.start.isoformat()})")

    @classmethod
    def open(cls, start: datetime | None = None, end: datetime | None = None, zone: tzinfo = UTC) -> Self:
        """A span without a start or an end, or without both: all that the ledger knows."""
        return cls(start or _EPOCH, end or _LAST, zone)

    @property
    def starts(self) -> datetime | None:
        """None: it has no start."""
        return None if self.start == _EPOCH else self.start

    @property
    def ends(self) -> datetime | None:
        """None: it has no end."""
        return None if self.end == _LAST else self.end


@dataclass(frozen=True, slots=True)
class Sums:
    """What some attempts come to; each is the sum of their rows, to the last digit."""

    attempts: int = 0
    """Settled and recovered ones."""
    estimated: int = 0
    """How many were charged by an estimate, since the upstream did not say what it counted."""
    assumed: int = 0
    """How many were charged for a lane at another lane's price, since theirs is not known."""
    failed: int = 0
    aborted: int = 0
    from_cache: int = 0
    cost_nano_usd: int = 0
    surcharge_nano_usd: int = 0
    """Of the cost, the owner's cost lines (taxes, fees)."""
    house_nano_usd: int = 0
    """Of the cost, what the house bears."""
    saved_nano_usd: int = 0
    """By caches."""
    privacy_nano_usd: int = 0
    """What privacy cost, an estimate."""
    routing_nano_usd: int = 0
    """What routing saved, an estimate; below 0: it cost more."""
    busy_ms: int = 0
    fresh: int = 0
    cached: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0
    image_input: int = 0
    image_output: int = 0
    audio_input: int = 0
    audio_output: int = 0
    embedding: int = 0
    rerank: int = 0
    searches: int = 0

    @property
    def prompt(self) -> int:
        """All tokens that went in."""
        return (
            self.fresh
            + self.cached
            + self.cache_write_5m
            + self.cache_write_1h
            + self.image_input
            + self.audio_input
            + self.embedding
            + self.rerank
        )

    @property
    def completion(self) -> int:
        """All tokens that came out."""
        return self.output + self.reasoning + self.image_output + self.audio_output

    @property
    def tokens(self) -> int:
        """All tokens: the inclusive total."""
        return self.prompt + self.completion

    @property
    def cached_share(self) -> Fraction | None:
        """The part of the tokens going in that was read from a cache; None if none went in."""
        return Fraction(self.cached, self.prompt) if self.prompt else None

    @property
    def principal_nano_usd(self) -> int:
        """Of the cost, what the callers bear."""
        return self.cost_nano_usd - self.house_nano_usd

    def __add__(self, other: Sums) -> Sums:
        return Sums(**{name: getattr(self, name) + getattr(other, name) for name in MEASURES})

    def as_dict(self) -> dict[str, int]:
        """The form for JSON; the cost comes first."""
        counts = asdict(self)
        return {"nano_usd": counts.pop("cost_nano_usd"), "tokens": self.tokens, **counts}


@dataclass(frozen=True, slots=True)
class Line:
    """What one key, model, zone, day ... comes to."""

    name: str
    """Empty: none (no tag, no collection). Of a stretch of time: `2026-11-01T13:00-03:00`, `2026-11-01`, its week's
    Monday, `2026-11`."""
    sums: Sums
    span: Span | None = None
    """Of a stretch of time: from when until when, cut to the report's span."""
    parts: tuple[Line, ...] = ()
    """What it divides into, where that was asked for."""

    def as_dict(self) -> dict[str, Any]:
        """The form for JSON."""
        own: dict[str, Any] = {"name": self.name, **self.sums.as_dict()}
        return {**own, "parts": [part.as_dict() for part in self.parts]} if self.parts else own


@dataclass(frozen=True, slots=True)
class Report:
    """The sums of a span. Lines come dearest first; stretches of time in their order, empty ones too.

    An attempt that used several collections stands in the line of each, so those lines may come to more than the
    total; the total counts it once.
    """

    span: Span
    by: By | None
    total: Sums
    lines: tuple[Line, ...]
    held_nano_usd: int
    """Of attempts under way, the most that they may cost."""
    held: int
    """How many are under way."""

    @property
    def overlaps(self) -> bool:
        """True if some attempt stands in several lines."""
        return sum(line.sums.attempts for line in self.lines) > self.total.attempts

    def as_dict(self) -> dict[str, Any]:
        """The form for JSON; `total_nano_usd` comes first."""
        span = self.span
        return {
            "total_nano_usd": self.total.cost_nano_usd,
            "held_nano_usd": self.held_nano_usd,
            "held": self.held,
            "from": span.starts and _local(span.starts, span.zone),
            "to": span.ends and _local(span.ends, span.zone),
            "time_zone": str(span.zone),
            "group_by": self.by,
            "overlaps": self.overlaps,
            "total": self.total.as_dict(),
            "lines": [line.as_dict() for line in self.lines],
        }


async def report(
    engine: AsyncEngine, span: Span, by: By | None = None, where: Where | None = None, *, parts: Dimension | None = None
) -> Report:
    """Sum the attempts that started within the span; `parts` divides each line once more.

    What is held is read first: an attempt that is settled in between counts in both for that once, never in neither.
    """
    filters = columns(where or {})
    held = await attempts.held(engine, span.start, span.end, filters)
    found = await groups(engine, span, columns_of(by, parts), filters, by)
    return drawn_up(span, by, found, held, parts)


def columns(where: Where) -> dict[str, Sequence[str]]:
    """The filter in the ledger's own words, as `db.rollups` and `db.attempts` take it.

    A dimension without names does not narrow.
    """
    filters: dict[str, Sequence[str]] = {}
    for dimension, names in where.items():
        if not names:
            continue
        if dimension != "collection":
            filters[_COLUMNS.get(dimension, dimension)] = names
        elif "" not in names:
            filters["collection"] = names
        elif set(names) == {""}:
            filters["collections"] = [""]
        else:
            raise BadRequest("what used no collection is asked for by itself", param="collection")
    return filters


def summed(groups: Iterable[Summed]) -> Sums:
    """All of the groups together."""
    total = dict.fromkeys(MEASURES, 0)
    for group in groups:
        for name, amount in group.measures.items():
            total[name] += amount
    return Sums(**total)


def columns_of(*dimensions: By | None) -> list[str]:
    """The ledger's columns that lines of these are made from."""
    return [_COLUMNS.get(each, each) for each in DIMENSIONS if each in dimensions]


async def groups(
    engine: AsyncEngine, span: Span, names: Sequence[str], filters: Mapping[str, Sequence[str]], by: By | None = None
) -> list[Summed]:
    """The sums of the span by columns: those kept of its days, rollups of its other half hours, rows at its edges.

    Where lines are to be stretches of time, each day or month is by itself, or for hours each half hour.
    """
    step: Literal["bucket"] | None = "bucket" if by in STEPS else None
    first, last = edges.bucket_of(span.start), edges.bucket_of(span.end)
    if first == last:
        return await edges.sums(engine, span.start, span.end, names, filters, step)
    begins = first if first == span.start else first + BUCKET
    found = await _whole(engine, Span(begins, last, span.zone), names, filters, by)
    if begins != span.start:
        found += await edges.sums(engine, span.start, begins, names, filters, step)
    if last != span.end:
        found += await edges.sums(engine, last, span.end, names, filters, step)
    return found


async def _whole(
    engine: AsyncEngine, span: Span, names: Sequence[str], filters: Mapping[str, Sequence[str]], by: By | None
) -> list[Summed]:
    """The sums of whole half hours; of hours nothing is kept."""
    start, end = span.starts or await _first_month(engine, span.zone), span.ends or await edges.last(engine)
    if by == "hour" or start is None or end is None or end <= start:
        return await rollups.sums(engine, span.start, span.end, names, filters, "bucket" if by in STEPS else None)
    step: Literal["day", "month"] | None = "month" if by == "month" else "day" if by in STEPS else None
    return await days.sums(engine, span.zone, start, end, names, filters, step)


async def _first_month(engine: AsyncEngine, zone: tzinfo) -> datetime | None:
    """Where the month begins that anything was spent in first: whole months are kept."""
    first = await rollups.first(engine)
    return None if first is None else calendar.window(first, "month", zone)[0]


def drawn_up(
    span: Span, by: By | None, found: Sequence[Summed], held: HeldSum, parts: Dimension | None = None
) -> Report:
    """The report that these groups make."""
    return Report(span, by, summed(found), _lines(span, by, parts, found), held.nano_usd, held.attempts)


def _lines(span: Span, by: By | None, parts: Dimension | None, groups: Sequence[Summed]) -> tuple[Line, ...]:
    match by:
        case None:
            return ()
        case "hour" | "day" | "week" | "month":
            return tuple(_stretches(span, by, parts, groups))
        case _:
            named = _named(by, groups).items()
            lines = [Line(name, summed(members), parts=_parts(parts, members)) for name, members in named]
            return tuple(sorted(lines, key=_dearest_first))


def _stretches(span: Span, step: Per, parts: Dimension | None, groups: Sequence[Summed]) -> Iterator[Line]:
    """One line a stretch, empty ones too; where the span is open, from the first or to the last that has anything."""
    filled = sorted({group.bucket for group in groups if group.bucket is not None})
    if not filled and None in (span.starts, span.ends):
        return
    within: dict[datetime, list[Summed]] = {}
    windows = _windows(span.starts or filled[0], span.ends or filled[-1] + BUCKET, step, span.zone)
    starts = [begins for begins, _ in windows]
    for group in groups:
        assert group.bucket is not None  # noqa: S101 - for the type checker: they were asked for by bucket
        within.setdefault(starts[bisect_right(starts, group.bucket) - 1], []).append(group)
    for begins, ends in windows:
        members = within.get(begins, [])
        cut = Span(max(begins, span.start), min(ends, span.end), span.zone)
        yield Line(_name(begins, step, span.zone), summed(members), cut, _parts(parts, members))


def _windows(start: datetime, end: datetime, step: Per, zone: tzinfo) -> list[calendar.Stretch]:
    windows = list(islice(calendar.windows(start, end, step, zone), _MOST_LINES + 1))
    if len(windows) > _MOST_LINES:
        raise BadRequest(f"by {step} this span has over {_MOST_LINES:,} lines: ask for less of it, or by a longer time")
    return windows


def _name(begins: datetime, step: Per, zone: tzinfo) -> str:
    local = begins.astimezone(zone)
    match step:
        case "hour":
            return local.isoformat(timespec="minutes")
        case "day" | "week":
            return local.date().isoformat()
        case "month":
            return f"{local:%Y-%m}"


def _local(moment: datetime, zone: tzinfo) -> str:
    return moment.astimezone(zone).isoformat()


def _parts(dimension: Dimension | None, groups: Iterable[Summed]) -> tuple[Line, ...]:
    if dimension is None:
        return ()
    lines = [Line(name, summed(members)) for name, members in _named(dimension, groups).items()]
    return tuple(sorted(lines, key=_dearest_first))


def _named(dimension: Dimension, groups: Iterable[Summed]) -> dict[str, list[Summed]]:
    """The groups by their name in the dimension; one of several collections stands under each of them."""
    column = _COLUMNS.get(dimension, dimension)
    named: dict[str, list[Summed]] = {}
    for group in groups:
        name = group.names[column]
        for each in name.split(",") if dimension == "collection" else [name]:
            named.setdefault(each, []).append(group)
    return named


def _dearest_first(line: Line) -> tuple[int, str]:
    return -line.sums.cost_nano_usd, line.name
