"""The tables of the ledger.

Moments are stored as integer microseconds since 1970 UTC: they compare and index as numbers, and no zone is lost.
Money is stored as integer nano-dollars.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    false,
    text,
)

from gateway.wire.lanes import LANES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Dialect

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(moment: datetime) -> int:
    """The stored form of an aware moment."""
    return (moment - _EPOCH) // _MICROSECOND


def words(values: Sequence[str]) -> str:
    """The stored form of a list of words."""
    return json.dumps(list(values), ensure_ascii=False)


class Moment(TypeDecorator[datetime]):
    """An aware UTC moment as microseconds."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        return None if value is None else _EPOCH + value * _MICROSECOND


class Words(TypeDecorator[tuple[str, ...]]):
    """Short words as a JSON list."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> str | None:
        return None if value is None else words(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> tuple[str, ...] | None:
        return None if value is None else tuple(json.loads(value))


FIRST_LANES = ("fresh", "cached", "output", "reasoning")
LATER_LANES = tuple(lane for lane in LANES if lane not in FIRST_LANES)
"""Those that revision 0003 added."""

FLAGS = ("estimated", "assumed", "from_cache")
"""What is true of few attempts."""

BUCKET = timedelta(minutes=30)
"""The stretch that rollups sum over; a day begins with one wherever the offset is a whole number of half hours."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False, unique=True, comment="SHA-256 of the key, hexadecimal"),
    Column("prefix", Text, nullable=False, comment="the key's first characters, to tell keys apart"),
    Column("groups", Words, nullable=False),
    Column("clearance", Text, nullable=False, comment="what the key may read"),
    Column("default_label", Text, comment="what its texts count as; null: the pack says"),
    Column("collections", Words, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("revoked_at", Moment),
    Column("person", Text, comment="whose key it is; null: its name stands for the person"),
    Column("role", Text, nullable=False, server_default="caller", comment="caller, or reader: of figures alone"),
    Column("budget", Text, comment="its own budget as JSON; null: only what the pack says"),
    Column("limits", Text, comment="its own rate limits as JSON; null: only what the pack says"),
    Index(
        "ix_api_keys_live_name",
        "name",
        unique=True,
        sqlite_where=text("revoked_at IS NULL"),
        postgresql_where=text("revoked_at IS NULL"),
    ),
)

boots = Table(
    "boots",
    metadata,
    Column("boot_id", Text, primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_started_at", Text, nullable=False, comment="the kernel's word for it; empty where none is known"),
    Column("started_at", Moment, nullable=False),
    Column("heartbeat_at", Moment, nullable=False, comment="kept fresh while the process holds anything"),
)

decisions = Table(
    "decisions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("at", Moment, nullable=False, index=True),
    Column("request_id", Text, nullable=False),
    Column("principal", Text, nullable=False),
    Column("asked_model", Text, nullable=False),
    Column("collections", Words, nullable=False),
    Column("label", Text, nullable=False),
    Column("raised_by", Words, nullable=False, comment="what raised the label, never the content"),
    Column("rule", Text),
    Column("action", Text, nullable=False),
    Column("zones", Words, nullable=False),
    Column("policy_version", Text, nullable=False),
    Column("status", Integer, comment="HTTP status; null until the answer is known"),
    Column("code", Text, comment="the refusal's code"),
    Column("stream", Boolean, nullable=False),
    Column("passages", Integer, nullable=False),
    Column("zone", Text, comment="where the answer came from"),
    Column("deployment", Text),
    Column("endpoint", Text, nullable=False, server_default="chat", comment="which endpoint the client asked"),
)

marks = Table(
    "marks",
    metadata,
    Column("digest", Text, primary_key=True, comment="HMAC-SHA-256 of principal and message, hexadecimal"),
    Column("label", Text, nullable=False),
    Column("at", Moment, nullable=False),
)

attempts = Table(
    "attempts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("decision_id", Text, nullable=False, index=True),
    Column("request_id", Text, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("principal", Text, nullable=False),
    Column("deployment", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("upstream_model", Text, nullable=False),
    Column("zone", Text, nullable=False),
    Column("owner", Text, ForeignKey(boots.c.boot_id), nullable=False),
    Column("state", Text, nullable=False),
    Column("held_nano_usd", BigInteger, nullable=False),
    Column("cost_nano_usd", BigInteger, comment="null while held"),
    Column("currency", Text, nullable=False),
    # Tokens by lane: the estimate while held, then what was used.
    *(Column(lane, BigInteger, nullable=False) for lane in FIRST_LANES),
    Column("estimated", Boolean, nullable=False),
    Column("outcome", Text, comment="null while held"),
    Column("error_code", Text),
    Column("started_at", Moment, nullable=False, index=True),
    Column("first_byte_ms", Integer),
    Column("total_ms", Integer),
    Column("settled_at", Moment),
    Column("bytes_out", BigInteger, nullable=False),
    Column("answered_model", Text, comment="the model that says to have answered, where it is not the one asked"),
    Column("person", Text, nullable=False, server_default=""),
    Column("tag", Text, nullable=False, server_default="", comment="empty: none"),
    Column("collections", Words, nullable=False, server_default="[]"),
    Column("label", Text, nullable=False, server_default=""),
    *(Column(lane, BigInteger, nullable=False, server_default="0") for lane in LATER_LANES),
    Column("held_tokens", BigInteger, nullable=False, server_default="0", comment="the estimate's inclusive total"),
    Column("surcharge_nano_usd", BigInteger, nullable=False, server_default="0", comment="of the cost, the cost lines"),
    Column("saved_nano_usd", BigInteger, nullable=False, server_default="0", comment="by a cache"),
    Column("privacy_nano_usd", BigInteger, nullable=False, server_default="0", comment="an estimate"),
    Column("routing_nano_usd", BigInteger, nullable=False, server_default="0", comment="an estimate, signed"),
    Column("elsewhere", Text, comment="the same tokens on other deployments, nano-dollars by name, as JSON: estimates"),
    Column("bearer", Text, nullable=False, server_default="principal", comment="principal or house"),
    Column("assumed", Boolean, nullable=False, server_default=false(), comment="a lane took another lane's price"),
    Column("from_cache", Boolean, nullable=False, server_default=false(), comment="answered without an upstream"),
    Column("service_tier", Text),
    Column("price_origin", Text, comment="where the price stood: deployment, prices, map, machine, house"),
    Column("price_as_of", Text, comment="the day it was looked up, ISO 8601"),
    Column("per_usd", Text, comment="units of `currency` for a dollar, as the owner gave them; null: dollars"),
    Column("per_usd_as_of", Text, comment="the day of that rate, ISO 8601"),
    CheckConstraint("state IN ('held', 'settled', 'recovered')", name="state"),
    CheckConstraint("outcome IN ('ok', 'aborted', 'failed', 'refused', 'unknown')", name="outcome"),
    CheckConstraint("(state = 'held') = (cost_nano_usd IS NULL)", name="cost_once_settled"),
    CheckConstraint("held_nano_usd >= 0 AND cost_nano_usd >= 0", name="cost_not_negative"),
    # SQLite keeps a REAL in an INTEGER column; money is never one.
    CheckConstraint(
        "typeof(held_nano_usd) = 'integer' AND typeof(cost_nano_usd) IN ('integer', 'null')", name="cost_exact"
    ).ddl_if(dialect="sqlite"),
    *(
        # The few that something is the matter with, for whoever looks at them.
        Index(
            f"ix_attempts_{flag}",
            "started_at",
            "id",
            sqlite_where=text(f"{flag} = 1"),
            postgresql_where=text(flag),
        )
        for flag in FLAGS
    ),
    Index(
        "ix_attempts_held_owner",
        "owner",
        sqlite_where=text("state = 'held'"),
        postgresql_where=text("state = 'held'"),
    ),
)

budget_windows = Table(
    "budget_windows",
    metadata,
    Column("id", Text, primary_key=True),
    Column("budget", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("starts_at", Moment, nullable=False),
    Column("ends_at", Moment, nullable=False, index=True),
    Column("limit_nano_usd", BigInteger, comment="null: no limit of money"),
    Column("limit_tokens", BigInteger),
    Column("hard", Boolean, nullable=False),
    Column("spent_nano_usd", BigInteger, nullable=False, server_default="0"),
    Column("held_nano_usd", BigInteger, nullable=False, server_default="0"),
    Column("spent_tokens", BigInteger, nullable=False, server_default="0"),
    Column("held_tokens", BigInteger, nullable=False, server_default="0"),
    CheckConstraint("held_nano_usd >= 0 AND held_tokens >= 0", name="held_not_negative"),
)
"""What each budget has spent and holds; changed in the same transaction as the attempts it counts."""

attempt_windows = Table(
    "attempt_windows",
    metadata,
    Column("attempt_id", Text, ForeignKey(attempts.c.id), primary_key=True),
    Column("window_id", Text, ForeignKey(budget_windows.c.id), primary_key=True, index=True),
)

DIMENSIONS = ("principal", "person", "deployment", "model", "zone", "label", "collections", "tag")
"""What rollups, and everything that reads them, can tell apart."""

MEASURES = (
    "attempts",
    "estimated",
    "assumed",
    "failed",
    "aborted",
    "from_cache",
    "cost_nano_usd",
    "surcharge_nano_usd",
    "house_nano_usd",
    "saved_nano_usd",
    "privacy_nano_usd",
    "routing_nano_usd",
    "busy_ms",
    *LANES,
)
"""What rollups sum. `failed` counts outcomes failed and unknown, `house_nano_usd` what the house bears of the cost."""

rollups = Table(
    "rollups",
    metadata,
    Column("bucket", Moment, primary_key=True, comment="where the half hour begins that the attempts started in"),
    *(Column(name, Words if name == "collections" else Text, primary_key=True) for name in DIMENSIONS),
    *(Column(name, BigInteger, nullable=False) for name in MEASURES),
)
"""Sums over settled and recovered attempts, kept in the transaction that settles them, so that they never differ."""

alerts_sent = Table(
    "alerts_sent",
    metadata,
    Column("id", Text, primary_key=True, comment="what was told: a window and a threshold"),
    Column("at", Moment, nullable=False),
)

meter_readings = Table(
    "meter_readings",
    metadata,
    Column("machine", Text, primary_key=True, comment="its name in break_even.yaml"),
    Column("starts_at", Moment, primary_key=True),
    Column("ends_at", Moment, nullable=False),
    Column("milliwatt_hours", BigInteger, nullable=False),
    Column("source", Text, nullable=False, comment="import, or prometheus"),
    CheckConstraint("milliwatt_hours >= 0", name="not_negative"),
)
