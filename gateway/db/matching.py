"""Filters over the dimensions: which rows a question is about."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import Text, cast, func, or_

from gateway.db.tables import DIMENSIONS, FLAGS
from gateway.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Dialect, FromClause

COLLECTION = "collection"
"""Filters by one member of `collections`, whatever the others are."""

STATES = ("state", "outcome", "bearer", "service_tier")
"""What single attempts, beyond the dimensions, can be told apart by."""

AMOUNTS = {"saved": "saved_nano_usd", "privacy": "privacy_nano_usd", "routing": "routing_nano_usd"}
"""What an attempt may have an amount of: `true` asks for those that have one."""

TELLING = (*STATES, *FLAGS, *AMOUNTS)
"""All that rows can be filtered by and rollups cannot."""

_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


def conditions(
    table: FromClause, where: Mapping[str, Sequence[str]], dialect: Dialect, further: Sequence[str] = ()
) -> list[ColumnElement[bool]]:
    """One condition for each name: any of its values; BadRequest for a name that nothing is told apart by."""
    known = (*DIMENSIONS, COLLECTION, *further)
    for name in where:
        if name not in known:
            raise BadRequest(f"{name!r} tells nothing apart: use one of {', '.join(known)}", param=name)
    return [_condition(table, name, values, dialect) for name, values in where.items()]


def _condition(table: FromClause, name: str, values: Sequence[str], dialect: Dialect) -> ColumnElement[bool]:
    if name == COLLECTION:
        return or_(*(_has_member(table, value, dialect) for value in values))
    if name in FLAGS:
        return table.c[name].in_([_truth(name, value) for value in values])
    if name in AMOUNTS:
        return (table.c[AMOUNTS[name]] != 0).in_([_truth(name, value) for value in values])
    if name == "collections":
        return table.c[name].in_([tuple(part for part in value.split(",") if part) for value in values])
    return table.c[name].in_(values)


def _has_member(table: FromClause, value: str, dialect: Dialect) -> ColumnElement[bool]:
    """The list holds the word. It is searched as it is written, quotes included; no case is folded."""
    place = func.instr if dialect.name == "sqlite" else func.strpos
    return place(cast(table.c.collections, Text), json.dumps(value, ensure_ascii=False)) > 0


def _truth(name: str, value: str) -> bool:
    try:
        return _TRUTHS[value]
    except KeyError:
        raise BadRequest(f"{name!r} is true or false, not {value!r}", param=name) from None


def shown(value: str | tuple[str, ...]) -> str:
    """A dimension's value as a name: collections joined by commas, which none of their names has."""
    return value if isinstance(value, str) else ",".join(value)
