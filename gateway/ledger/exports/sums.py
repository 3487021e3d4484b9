"""What was used, as rows: a stretch of time and names in each, with all that was counted."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from gateway.db import rollups
from gateway.db.tables import MEASURES
from gateway.economics.calendar import window, windows
from gateway.errors import BadRequest
from gateway.ledger.exports.sheets import usd
from gateway.ledger.usage import DIMENSIONS, GROUPINGS, STEPS, Sums

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.economics.calendar import Stretch
    from gateway.ledger.exports.sheets import Cell, Row
    from gateway.ledger.usage import Span
    from policies.budgets import Per

_COLUMN = {"key": "principal", "collection": "collections"}
_MONEY = tuple(name for name in MEASURES if name.endswith("_nano_usd"))
_COUNTED = tuple(name for name in MEASURES if name not in _MONEY)


def checked(by: Sequence[str]) -> tuple[str, ...]:
    """What to group by, each once; BadRequest for what is unknown, or for two lengths of time."""
    unknown = [name for name in by if name not in GROUPINGS]
    if unknown:
        raise BadRequest(f"{unknown[0]!r} is nothing to group by: use {', '.join(GROUPINGS)}")
    if sum(name in STEPS for name in set(by)) > 1:
        raise BadRequest(f"sums go by one length of time: name only one of {', '.join(STEPS)}")
    return tuple(dict.fromkeys(by))


def header(by: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns."""
    money = [name.replace("_nano_usd", "_usd") for name in _MONEY]
    return ("start", "end", *_subjects(by), *money, "tokens", *_COUNTED)


async def rows(engine: AsyncEngine, span: Span, by: Sequence[str] = ()) -> AsyncIterator[Row]:
    """One row for each stretch of time and each meeting of names that anything was used under, in their order.

    Several collections of one attempt are one name, so that no token stands in two rows.
    """
    step = next((name for name in STEPS if name in by), None)
    for start, end in _parts(span, step):
        gathered = await _gathered(engine, start, end, span, [*_subjects(by)], step)
        for (stretch, names), sums in sorted(gathered.items(), key=lambda item: item[0]):
            yield (max(stretch[0], span.start), min(stretch[1], span.end), *names, *_figures(sums))


def _subjects(by: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in by if name in DIMENSIONS)


def _parts(span: Span, step: Per | None) -> Iterator[Stretch]:
    """What is asked of the ledger at once: a month at most, where time tells rows apart."""
    if step is None:
        yield span.start, span.end
        return
    for start, end in windows(span.start, span.end, "week" if step == "week" else "month", span.zone):
        yield max(start, span.start), min(end, span.end)


async def _gathered(
    engine: AsyncEngine, start: datetime, end: datetime, span: Span, subjects: Sequence[str], step: Per | None
) -> dict[tuple[Stretch, tuple[str, ...]], Sums]:
    """Half hours brought together to the stretches of the owner's calendar."""
    columns = [_COLUMN.get(name, name) for name in subjects]
    gathered: defaultdict[tuple[Stretch, tuple[str, ...]], Sums] = defaultdict(Sums)
    for each in await rollups.sums(engine, start, end, columns, step=None if step is None else "bucket"):
        whole = (span.start, span.end)
        stretch = whole if step is None or each.bucket is None else window(each.bucket, step, span.zone)
        gathered[stretch, tuple(each.names[column] for column in columns)] += Sums(**each.measures)
    return gathered


def _figures(sums: Sums) -> Iterator[Cell]:
    yield from (usd(getattr(sums, name)) for name in _MONEY)
    yield sums.tokens
    yield from (getattr(sums, name) for name in _COUNTED)
