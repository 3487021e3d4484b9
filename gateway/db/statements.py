"""The writer's statements, compiled once for each database; the hot path runs them on the driver."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sqlalchemy import Text, bindparam, func, insert, literal_column, select, update
from sqlalchemy.dialects import registry
from sqlalchemy.sql.compiler import SQLCompiler

from gateway.db.books import TOTALS
from gateway.db.tables import (
    DIMENSIONS,
    MEASURES,
    attempt_windows,
    attempts,
    boots,
    budget_windows,
    decisions,
    marks,
    rollups,
)
from gateway.db.upserts import increase, upsert
from gateway.wire.lanes import LANES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ClauseElement, Dialect

    from gateway.db.books import Value

HELD = (
    "id",
    "decision_id",
    "request_id",
    "ordinal",
    "principal",
    "person",
    "tag",
    "collections",
    "label",
    "deployment",
    "model",
    "upstream_model",
    "zone",
    "owner",
    "state",
    "held_nano_usd",
    "held_tokens",
    "currency",
    *LANES,
    "estimated",
    "started_at",
    "bytes_out",
    "price_origin",
    "price_as_of",
    "per_usd",
    "per_usd_as_of",
)
"""Columns of an attempt that its hold writes."""

SETTLED = (
    "state",
    "cost_nano_usd",
    *LANES,
    "estimated",
    "outcome",
    "error_code",
    "first_byte_ms",
    "total_ms",
    "settled_at",
    "bytes_out",
    "answered_model",
    "surcharge_nano_usd",
    "saved_nano_usd",
    "privacy_nano_usd",
    "routing_nano_usd",
    "elsewhere",
    "bearer",
    "assumed",
    "from_cache",
    "service_tier",
)
"""Columns that its settlement writes."""

RECOVERED = ("state", "cost_nano_usd", "estimated", "outcome", "settled_at", "bearer")
"""Columns that recovery writes."""

BOOKED = (
    "id",
    "state",
    "started_at",
    "held_nano_usd",
    "held_tokens",
    *DIMENSIONS,
    "cost_nano_usd",
    *LANES,
    "outcome",
    "total_ms",
    "estimated",
    "assumed",
    "from_cache",
    "bearer",
    "surcharge_nano_usd",
    "saved_nano_usd",
    "privacy_nano_usd",
    "routing_nano_usd",
)
"""Columns that the books depend on."""

LIMITS = ("limit_nano_usd", "limit_tokens", "hard")
"""Of a window, what the newest pack says."""

_SETTLED = literal_column("'settled'", Text)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement; `names` gives the order of its values where they have no names of their own."""

    text: str
    names: tuple[str, ...] | None

    def bound(self, row: Mapping[str, Value]) -> Mapping[str, Value] | tuple[Value, ...]:
        """The row's values as the driver takes them."""
        return row if self.names is None else tuple(row[name] for name in self.names)


@dataclass(frozen=True)
class Statements:
    """All of them, in the words of one database. Values are bound in their stored form."""

    dialect: Dialect

    @cached_property
    def boot(self) -> Statement:
        return self._compiled(insert(boots), boots.c.keys())

    @cached_property
    def heartbeat(self) -> Statement:
        return self._compiled(update(boots).where(boots.c.boot_id == bindparam("b_boot_id")), ["heartbeat_at"])

    @cached_property
    def read_window(self) -> Statement:
        """The window as it stands, and locked."""
        found = budget_windows.c.id == bindparam("b_id")
        return self._compiled(select(budget_windows).where(found).with_for_update())

    @cached_property
    def open_window(self) -> Statement:
        """Make the window, or give it its newest limits."""
        entry = upsert(budget_windows, self.dialect, LIMITS)
        return self._compiled(entry, [column.name for column in budget_windows.c if column.name not in TOTALS])

    @cached_property
    def move_window(self) -> Statement:
        moved = {name: budget_windows.c[name] + bindparam(name) for name in TOTALS}
        return self._compiled(update(budget_windows).where(budget_windows.c.id == bindparam("b_id")).values(moved))

    @cached_property
    def read_attempt(self) -> Statement:
        """The attempt, locked, if it is this owner's and not settled yet; `windows` are those it counts in, as JSON."""
        together = func.json_group_array if self.dialect.name == "sqlite" else func.json_agg
        links = select(together(attempt_windows.c.window_id)).where(attempt_windows.c.attempt_id == attempts.c.id)
        query = (
            select(*(attempts.c[name] for name in BOOKED), links.scalar_subquery().label("windows"))
            .where(
                attempts.c.id == bindparam("b_id"),
                attempts.c.owner == bindparam("b_owner"),
                attempts.c.state != _SETTLED,
            )
            .with_for_update()
        )
        return self._compiled(query)

    @cached_property
    def hold(self) -> Statement:
        return self._compiled(insert(attempts), HELD)

    @cached_property
    def link(self) -> Statement:
        return self._compiled(insert(attempt_windows), attempt_windows.c.keys())

    @cached_property
    def settle(self) -> Statement:
        return self._compiled(update(attempts).where(attempts.c.id == bindparam("b_id")), SETTLED)

    @cached_property
    def recover(self) -> Statement:
        """Close an attempt of a dead owner's."""
        return self._compiled(update(attempts).where(attempts.c.id == bindparam("b_id")), RECOVERED)

    @cached_property
    def roll(self) -> Statement:
        return self._compiled(increase(rollups, self.dialect), ["bucket", *DIMENSIONS, *MEASURES])

    @cached_property
    def decision(self) -> Statement:
        return self._compiled(upsert(decisions, self.dialect), decisions.c.keys())

    @cached_property
    def mark(self) -> Statement:
        return self._compiled(upsert(marks, self.dialect), marks.c.keys())

    def _compiled(self, statement: ClauseElement, columns: Sequence[str] | None = None) -> Statement:
        keys = None if columns is None else list(columns)
        compiled = statement.compile(dialect=self.dialect, column_keys=keys)
        positions = compiled.positiontup if isinstance(compiled, SQLCompiler) else None
        return Statement(str(compiled), None if positions is None else tuple(positions))


FOR_SQLITE = Statements(registry.load("sqlite")(paramstyle="named"))
FOR_POSTGRESQL = Statements(registry.load("postgresql.asyncpg")())


def of(dialect: Dialect) -> Statements:
    """Those of an engine's database."""
    return FOR_SQLITE if dialect.name == "sqlite" else FOR_POSTGRESQL
