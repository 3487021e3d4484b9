"""Attempts as rows: what each call used and cost, and nothing of what was said."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from gateway.db import attempts
from gateway.ledger.exports.lanes import usage_of
from gateway.ledger.exports.sheets import usd
from gateway.wire.lanes import LANES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.attempts import AttemptRow
    from gateway.ledger.exports.sheets import Cell, Row
    from gateway.ledger.usage import Span

_PAGE = 1000
_NOTHING: Mapping[str, Sequence[str]] = {}

_COLUMNS = {
    "started_at": "started_at",
    "settled_at": "settled_at",
    "request_id": "request_id",
    "attempt_id": "id",
    "ordinal": "ordinal",
    "key": "principal",
    "person": "person",
    "tag": "tag",
    "label": "label",
    "model": "model",
    "deployment": "deployment",
    "upstream_model": "upstream_model",
    "answered_model": "answered_model",
    "zone": "zone",
    "state": "state",
    "outcome": "outcome",
    "error_code": "error_code",
    "bearer": "bearer",
}
_MONEY = ("held", "cost", "surcharge", "saved", "privacy", "routing")
_MORE = ("estimated", "assumed", "from_cache", "service_tier", "first_byte_ms", "total_ms", "bytes_out")
_PRICE = ("currency", "per_usd", "per_usd_as_of", "price_origin", "price_as_of")

HEADER = (*_COLUMNS, "collection", *(f"{name}_usd" for name in _MONEY), "tokens", *LANES, *_MORE, *_PRICE)


async def rows(engine: AsyncEngine, span: Span, where: Mapping[str, Sequence[str]] = _NOTHING) -> AsyncIterator[Row]:
    """One row for each attempt that began within the span, the newest first; those under way have no cost yet."""
    async for row in each(engine, span, where):
        yield tuple(_cells(row))


async def each(
    engine: AsyncEngine, span: Span, where: Mapping[str, Sequence[str]] = _NOTHING, page: int = _PAGE
) -> AsyncIterator[AttemptRow]:
    """The attempts themselves, read so many at once."""
    after: str | None = None
    while True:
        rows, after = await attempts.page(engine, span.start, span.end, where, after, page)
        for row in rows:
            yield row
        if after is None:
            return


def _cells(row: AttemptRow) -> list[Cell]:
    lanes = usage_of(row)
    money = [getattr(row, f"{name}_nano_usd") for name in _MONEY]
    return [
        *(getattr(row, field) for field in _COLUMNS.values()),
        ", ".join(row.collections),
        *(None if nano is None else usd(nano) for nano in money),
        lanes.tokens,
        *lanes.lanes.values(),
        *(getattr(row, name) for name in _MORE),
        row.currency,
        None if row.per_usd is None else Decimal(row.per_usd),
        _day(row.per_usd_as_of),
        row.price_origin,
        _day(row.price_as_of),
    ]


def _day(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)
