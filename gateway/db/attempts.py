"""Attempts: what was held, what was settled, and their sums."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    TypeDecorator,
    and_,
    bindparam,
    cast,
    func,
    literal_column,
    not_,
    select,
    type_coerce,
    update,
)

from gateway.db import seeking, statements
from gateway.db.books import Books, Row
from gateway.db.engine import transaction
from gateway.db.matching import TELLING, conditions
from gateway.db.seeking import HELD
from gateway.db.tables import attempt_windows, attempts, boots, budget_windows, microseconds
from gateway.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Column, ColumnElement, Select
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

    from gateway.db.boots import Owner

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt as it is kept."""

    id: str
    decision_id: str
    request_id: str
    ordinal: int
    principal: str
    deployment: str
    model: str
    upstream_model: str
    zone: str
    owner: str
    state: str
    held_nano_usd: int
    cost_nano_usd: int | None
    currency: str
    fresh: int
    cached: int
    output: int
    reasoning: int
    estimated: bool
    outcome: str | None
    error_code: str | None
    started_at: datetime
    first_byte_ms: int | None
    total_ms: int | None
    settled_at: datetime | None
    bytes_out: int
    answered_model: str | None
    """The model that says to have answered, where it is not the one that was asked."""
    person: str = ""
    tag: str = ""
    collections: tuple[str, ...] = ()
    label: str = ""
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    image_input: int = 0
    image_output: int = 0
    audio_input: int = 0
    audio_output: int = 0
    embedding: int = 0
    rerank: int = 0
    searches: int = 0
    held_tokens: int = 0
    surcharge_nano_usd: int = 0
    saved_nano_usd: int = 0
    privacy_nano_usd: int = 0
    routing_nano_usd: int = 0
    elsewhere: str | None = None
    """The same tokens on other deployments, nano-dollars by name, as JSON: estimates."""
    bearer: str = "principal"
    assumed: bool = False
    from_cache: bool = False
    service_tier: str | None = None
    price_origin: str | None = None
    price_as_of: str | None = None
    per_usd: str | None = None
    per_usd_as_of: str | None = None


@dataclass(frozen=True, slots=True)
class HeldSum:
    """What attempts that are not settled yet hold."""

    attempts: int
    nano_usd: int


async def page(
    engine: AsyncEngine,
    start: datetime,
    end: datetime,
    where: Mapping[str, Sequence[str]] = {},
    after: str | None = None,
    limit: int = 100,
) -> tuple[list[AttemptRow], str | None]:
    """The attempts that began from `start` up to, not including, `end`, the newest first, and where to go on.

    `where` filters as `rollups.sums` does, and also by `state`, `outcome`, `bearer`, `service_tier`, and by
    `estimated`, `assumed`, `from_cache`, and whether anything is `saved`, or went for `privacy` or `routing`, as `true`
    or `false`. `after` is what the page before gave.
    """
    end, ties = _until(end, after)
    query = select(attempts).where(*ties).order_by(attempts.c.started_at.desc(), attempts.c.id.desc())
    async with transaction(engine) as connection:
        found = await _matching(_Search(connection, query, start, end, where, limit + 1))
    if len(found) <= limit:
        return found, None
    last = found[limit - 1]
    return found[:limit], f"{microseconds(last.started_at)}.{last.id}"


@dataclass(frozen=True, slots=True)
class _Search:
    """The newest rows of a stretch of time that match, at most so many."""

    connection: AsyncConnection
    query: Select[Any]
    start: datetime
    end: datetime
    where: Mapping[str, Sequence[str]]
    limit: int

    @property
    def spanned(self) -> Select[Any]:
        return self.query.where(attempts.c.started_at >= self.start, attempts.c.started_at < self.end)

    @property
    def told(self) -> list[ColumnElement[bool]]:
        return conditions(attempts, self.where, self.connection.dialect, TELLING)

    async def rows(self, query: Select[Any], limit: int) -> list[AttemptRow]:
        return [AttemptRow(**row._mapping) for row in await self.connection.execute(query.limit(limit))]


async def _matching(search: _Search) -> list[AttemptRow]:
    """What is frequent is found at a glance; for the rest see `seeking`."""
    if not search.where:
        return await search.rows(search.spanned, search.limit)
    dialect = search.connection.dialect
    flag = seeking.flagged(search.where, dialect)
    if flag is not None:
        return await search.rows(search.spanned.where(flag, *search.told), search.limit)
    found = await search.rows(seeking.glance(search.spanned, search.where, dialect), search.limit)
    if len(found) == search.limit:
        return found
    if not seeking.is_told(search.where, dialect):
        return await search.rows(search.spanned.where(*search.told), search.limit)
    return await _sought(search)


async def _sought(search: _Search) -> list[AttemptRow]:
    """Look into the half hours that rollups name, until there are enough."""
    places = seeking.buckets(search.start, search.end, search.where, search.connection.dialect)
    buckets = list(await search.connection.scalars(places))
    found: list[AttemptRow] = []
    for first in range(0, len(buckets), seeking.AT_ONCE):
        inside = seeking.within(buckets[first : first + seeking.AT_ONCE], search.start, search.end)
        found += await search.rows(search.query.where(inside, *search.told), search.limit - len(found))
        if len(found) == search.limit:
            break
    return found


def _until(end: datetime, after: str | None) -> tuple[datetime, list[ColumnElement[bool]]]:
    """Where a page begins: rows are older than that, or as old and of a lesser id."""
    if after is None:
        return end, []
    moment, attempt_id = _place(after)
    passed = and_(attempts.c.started_at == moment, attempts.c.id >= attempt_id)
    return (end if moment >= end else moment + timedelta(microseconds=1)), [not_(passed)]


def _place(after: str) -> tuple[datetime, str]:
    number, _, attempt_id = after.partition(".")
    try:
        return _EPOCH + timedelta(microseconds=int(number)), attempt_id
    except (ValueError, OverflowError):
        raise BadRequest("this is no place in the list: begin again without `after`", param="after") from None


async def held(engine: AsyncEngine, start: datetime, end: datetime, where: Mapping[str, Sequence[str]] = {}) -> HeldSum:
    """What the attempts that began between the two moments hold now."""
    table = attempts.c
    began = type_coerce(table.started_at, BigInteger) + 0  # what is held is few: no other index is wanted
    query = (
        select(func.count(), cast(func.coalesce(func.sum(table.held_nano_usd), 0), BigInteger))
        .where(*HELD, began >= microseconds(start), began < microseconds(end))
        .where(*conditions(attempts, where, engine.dialect))
    )
    async with transaction(engine) as connection:
        count, nano_usd = (await connection.execute(query)).one()
    return HeldSum(count, nano_usd)


async def of_decision(engine: AsyncEngine, decision_id: str) -> list[AttemptRow]:
    """The attempts that one decision led to, in their order."""
    query = select(attempts).where(attempts.c.decision_id == decision_id).order_by(attempts.c.ordinal)
    async with transaction(engine) as connection:
        rows = (await connection.execute(query)).all()
    return [AttemptRow(**row._mapping) for row in rows]


async def of_decisions(engine: AsyncEngine, decision_ids: Collection[str]) -> dict[str, list[AttemptRow]]:
    """The attempts of several decisions, by decision, in their order; a decision without any is left out."""
    query = select(attempts).where(attempts.c.decision_id.in_(decision_ids)).order_by(attempts.c.ordinal)
    async with transaction(engine) as connection:
        rows = (await connection.execute(query)).all()
    found: dict[str, list[AttemptRow]] = {}
    for row in rows:
        found.setdefault(row.decision_id, []).append(AttemptRow(**row._mapping))
    return found


async def recover(engine: AsyncEngine, owner: Owner, at: datetime) -> int:
    """Settle at its estimate whatever the owner holds, unless it was heard of in the meantime; how many.

    Nobody knows any more what it cost, so the house bears it.
    """
    speak = statements.of(engine.dialect)
    async with transaction(engine) as connection:
        if not await _claim(connection, owner):
            return 0
        books = Books()
        for row, windows in await _held_by(connection, owner):
            values: Row = {**_RECOVERED, "cost_nano_usd": row["held_nano_usd"], "settled_at": microseconds(at)}
            books.close(row, values, windows)
        for statement, rows in (
            (speak.recover, books.changed),
            (speak.move_window, books.moved),
            (speak.roll, books.rolled),
        ):
            if rows:
                await connection.exec_driver_sql(statement.text, [statement.bound(row) for row in rows])
    return len(books.changed)


_RECOVERED: Row = {"state": "recovered", "outcome": "unknown", "estimated": True, "bearer": "house"}


async def _claim(connection: AsyncConnection, owner: Owner) -> bool:
    """Lock the owner's boot, if its heart has not beaten since it was taken for dead."""
    silent = (boots.c.boot_id == owner.boot.boot_id, boots.c.heartbeat_at == owner.heartbeat_at)
    return bool((await connection.execute(update(boots).where(*silent).values(pid=boots.c.pid))).rowcount)


async def _held_by(connection: AsyncConnection, owner: Owner) -> list[tuple[Row, list[str]]]:
    """What the owner holds, locked, in the order of ids, and the windows it counts in."""
    held = (attempts.c.owner == owner.boot.boot_id, attempts.c.state == literal_column("'held'"))
    query = select(*map(_stored, attempts.c)).where(*held).order_by(attempts.c.id).with_for_update()
    rows: list[Row] = [dict(row) for row in (await connection.execute(query)).mappings()]
    links = select(attempt_windows).join(attempts, attempts.c.id == attempt_windows.c.attempt_id).where(*held)
    windows: dict[str, list[str]] = {}
    for link in await connection.execute(links):
        windows.setdefault(link.attempt_id, []).append(link.window_id)
    names = sorted({name for members in windows.values() for name in members})
    locking = select(budget_windows.c.id).where(budget_windows.c.id == bindparam("b_id")).with_for_update()
    for name in names:
        await connection.execute(locking, {"b_id": name})
    return [(row, windows.get(str(row["id"]), [])) for row in rows]


def _stored(column: Column[Any]) -> ColumnElement[Any]:
    """The column as it is stored, not as it is read."""
    kind = column.type
    return type_coerce(column, kind.impl_instance).label(column.name) if isinstance(kind, TypeDecorator) else column
