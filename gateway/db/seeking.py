"""Finds the few rows that match among very many, without an index for each thing that they may be asked by.

What is frequent is among the newest rows. For what is rare the rollups, which are far fewer, say in which half hours
to look.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Boolean, and_, desc, false, literal_column, or_, select, type_coerce, union

from gateway.db.matching import AMOUNTS, TELLING, conditions
from gateway.db.tables import BUCKET, FLAGS, attempts, rollups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Dialect, Select

HELD = (attempts.c.state == literal_column("'held'"), attempts.c.owner >= literal_column("''"))
"""What is held; the owner is named so that SQLite takes the small index of these."""

_FEW = 5000
AT_ONCE = 20
"""Half hours that are looked into by one query."""
_BUCKET_MICROSECONDS = BUCKET // timedelta(microseconds=1)
_OUTCOMES = {"failed": {"failed", "unknown"}, "aborted": {"aborted"}}
"""The outcomes that a measure of rollups counts."""
_NEVER_BELOW_ZERO = ("saved", "privacy")
"""Amounts whose sum is zero only where each of them is."""


def glance(newest: Select[Any], where: Mapping[str, Sequence[str]], dialect: Dialect) -> Select[Any]:
    """Those of the newest few thousand that match."""
    few = newest.limit(_FEW).subquery("few")
    matching = select(few).where(*conditions(few, where, dialect, TELLING))
    return matching.order_by(few.c.started_at.desc(), few.c.id.desc())


def flagged(where: Mapping[str, Sequence[str]], dialect: Dialect) -> ColumnElement[bool] | None:
    """What picks those with a flag that is asked for, as the small index of them says it; None: no flag is."""
    flag = next((name for name in FLAGS if set(where.get(name, ())) <= {"true", "1"} and where.get(name)), None)
    return None if flag is None else has_flag(flag, dialect)


def has_flag(flag: str, dialect: Dialect) -> ColumnElement[bool]:
    """What picks those with the flag, as the small index of them says it."""
    return literal_column(f"attempts.{flag} = 1" if dialect.name == "sqlite" else f"attempts.{flag}", Boolean())


def is_told(where: Mapping[str, Sequence[str]], dialect: Dialect) -> bool:
    """True if rollups can tell where to look."""
    return bool(_rolled(where, dialect))


def buckets(start: datetime, end: datetime, where: Mapping[str, Sequence[str]], dialect: Dialect) -> Select[Any]:
    """The half hours that may have a match, the newest first: rollups know of what is settled, the rows of the rest."""
    settled = select(rollups.c.bucket).where(
        rollups.c.bucket > start - BUCKET, rollups.c.bucket < end, *_rolled(where, dialect)
    )
    began = type_coerce(attempts.c.started_at, BigInteger)
    held = select(type_coerce(began - began % _BUCKET_MICROSECONDS, rollups.c.bucket.type)).where(
        *HELD, *conditions(attempts, where, dialect, TELLING)
    )
    return select(union(settled, held).subquery("found").c.bucket.label("bucket")).order_by(desc("bucket"))


def within(found: Sequence[datetime], start: datetime, end: datetime) -> ColumnElement[bool]:
    """The rows of these half hours that began from `start` up to, not including, `end`."""
    began = attempts.c.started_at
    return or_(*(and_(began >= max(start, each), began < min(end, each + BUCKET)) for each in found))


def _rolled(where: Mapping[str, Sequence[str]], dialect: Dialect) -> list[ColumnElement[bool]]:
    """What the filter says of rollups; what cannot be told from them is in any of them."""
    if where.get("state") == ["held"]:
        return [false()]
    told = conditions(rollups, {name: values for name, values in where.items() if name not in TELLING}, dialect)
    flags = [rollups.c[name] > 0 for name in FLAGS if set(where.get(name, ())) == {"true"}]
    amounts = [rollups.c[AMOUNTS[name]] > 0 for name in _NEVER_BELOW_ZERO if set(where.get(name, ())) == {"true"}]
    asked = set(where.get("outcome", ()))
    ends = [rollups.c[name] > 0 for name, outcomes in _OUTCOMES.items() if asked and asked <= outcomes]
    return [*told, *flags, *amounts, *ends]
