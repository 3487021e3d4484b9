"""Inserts that meet a row that is there already, in the words of each database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.dialects import postgresql, sqlite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Dialect, Table

Insert = sqlite.Insert | postgresql.Insert


def insert_new(table: Table, dialect: Dialect) -> Insert:
    """Insert, and leave a row with this key as it is."""
    return _insert(table, dialect).on_conflict_do_nothing(index_elements=list(table.primary_key))


def upsert(table: Table, dialect: Dialect, columns: Sequence[str] = ()) -> Insert:
    """Insert, or put the new values of these columns, all of them by default, in place of the old."""
    entry = _insert(table, dialect)
    newer = {name: entry.excluded[name] for name in columns or _values(table)}
    return entry.on_conflict_do_update(index_elements=list(table.primary_key), set_=newer)


def increase(table: Table, dialect: Dialect) -> Insert:
    """Insert, or add the new values to the old: for tables of sums."""
    entry = _insert(table, dialect)
    more = {name: table.c[name] + entry.excluded[name] for name in _values(table)}
    return entry.on_conflict_do_update(index_elements=list(table.primary_key), set_=more)


def _values(table: Table) -> list[str]:
    return [column.name for column in table.c if not column.primary_key]


def _insert(table: Table, dialect: Dialect) -> Insert:
    return sqlite.insert(table) if dialect.name == "sqlite" else postgresql.insert(table)
