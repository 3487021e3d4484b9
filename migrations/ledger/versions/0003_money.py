"""All lanes, who bears a cost and what it was compared with; budgets, rollups, alerts and meter readings.

Revision: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_LANES = (
    "cache_write_5m", "cache_write_1h", "image_input", "image_output", "audio_input", "audio_output", "embedding",
    "rerank", "searches",
)  # fmt: skip
_COUNTS = (*_LANES, "held_tokens", "surcharge_nano_usd", "saved_nano_usd", "privacy_nano_usd", "routing_nano_usd")
_DIMENSIONS = ("principal", "person", "deployment", "model", "zone", "label", "collections", "tag")
_MEASURES = (
    "attempts", "estimated", "assumed", "failed", "aborted", "from_cache", "cost_nano_usd", "surcharge_nano_usd",
    "house_nano_usd", "saved_nano_usd", "privacy_nano_usd", "routing_nano_usd", "busy_ms",
    "fresh", "cached", "cache_write_5m", "cache_write_1h", "output", "reasoning", "image_input", "image_output",
    "audio_input", "audio_output", "embedding", "rerank", "searches",
)  # fmt: skip
_FLAGS = ("estimated", "assumed", "from_cache")
_EARLIER_LANES = ("fresh", "cached", "output", "reasoning")
_BUCKET_MICROSECONDS = 1_800_000_000


def upgrade() -> None:
    for name, kind in (("person", sa.Text), ("budget", sa.Text), ("limits", sa.Text)):
        op.add_column("api_keys", sa.Column(name, kind))
    op.add_column("api_keys", sa.Column("role", sa.Text, nullable=False, server_default="caller"))
    for name in ("person", "tag", "label"):
        op.add_column("attempts", sa.Column(name, sa.Text, nullable=False, server_default=""))
    op.add_column("attempts", sa.Column("collections", sa.Text, nullable=False, server_default="[]"))
    for name in _COUNTS:
        op.add_column("attempts", sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("attempts", sa.Column("bearer", sa.Text, nullable=False, server_default="principal"))
    for name in ("assumed", "from_cache"):
        op.add_column("attempts", sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false()))
    for name in ("elsewhere", "service_tier", "price_origin", "price_as_of", "per_usd", "per_usd_as_of"):
        op.add_column("attempts", sa.Column(name, sa.Text))
    op.execute("UPDATE attempts SET person = principal")
    for flag in _FLAGS:
        op.create_index(
            f"ix_attempts_{flag}",
            "attempts",
            ["started_at", "id"],
            sqlite_where=sa.text(f"{flag} = 1"),
            postgresql_where=sa.text(flag),
        )
    _create_tables()
    op.execute(_SUM_UP)


def downgrade() -> None:
    for name in ("meter_readings", "alerts_sent", "rollups", "attempt_windows", "budget_windows"):
        op.drop_table(name)
    for flag in _FLAGS:
        op.drop_index(f"ix_attempts_{flag}", "attempts")
    for name in ("per_usd_as_of", "per_usd", "price_as_of", "price_origin", "service_tier", "elsewhere"):
        op.drop_column("attempts", name)
    for name in ("from_cache", "assumed", "bearer", *reversed(_COUNTS), "collections", "label", "tag", "person"):
        op.drop_column("attempts", name)
    for name in ("role", "limits", "budget", "person"):
        op.drop_column("api_keys", name)


def _create_tables() -> None:
    op.create_table(
        "budget_windows",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("budget", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("starts_at", sa.BigInteger, nullable=False),
        sa.Column("ends_at", sa.BigInteger, nullable=False),
        sa.Column("limit_nano_usd", sa.BigInteger),
        sa.Column("limit_tokens", sa.BigInteger),
        sa.Column("hard", sa.Boolean, nullable=False),
        *(
            sa.Column(name, sa.BigInteger, nullable=False, server_default="0")
            for name in ("spent_nano_usd", "held_nano_usd", "spent_tokens", "held_tokens")
        ),
        sa.CheckConstraint("held_nano_usd >= 0 AND held_tokens >= 0", name=op.f("ck_budget_windows_held_not_negative")),
        sa.PrimaryKeyConstraint("id", name="pk_budget_windows"),
    )
    op.create_index("ix_budget_windows_ends_at", "budget_windows", ["ends_at"])
    op.create_table(
        "attempt_windows",
        sa.Column("attempt_id", sa.Text, nullable=False),
        sa.Column("window_id", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name="fk_attempt_windows_attempt_id"),
        sa.ForeignKeyConstraint(["window_id"], ["budget_windows.id"], name="fk_attempt_windows_window_id"),
        sa.PrimaryKeyConstraint("attempt_id", "window_id", name="pk_attempt_windows"),
    )
    op.create_index("ix_attempt_windows_window_id", "attempt_windows", ["window_id"])
    op.create_table(
        "rollups",
        sa.Column("bucket", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in _DIMENSIONS),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in _MEASURES),
        sa.PrimaryKeyConstraint("bucket", *_DIMENSIONS, name="pk_rollups"),
    )
    op.create_table(
        "alerts_sent",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_alerts_sent"),
    )
    op.create_table(
        "meter_readings",
        sa.Column("machine", sa.Text, nullable=False),
        sa.Column("starts_at", sa.BigInteger, nullable=False),
        sa.Column("ends_at", sa.BigInteger, nullable=False),
        sa.Column("milliwatt_hours", sa.BigInteger, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.CheckConstraint("milliwatt_hours >= 0", name=op.f("ck_meter_readings_not_negative")),
        sa.PrimaryKeyConstraint("machine", "starts_at", name="pk_meter_readings"),
    )


_SUMS = {
    "attempts": "count(*)",
    "estimated": "sum(CASE WHEN estimated THEN 1 ELSE 0 END)",
    "failed": "sum(CASE WHEN outcome IN ('failed', 'unknown') THEN 1 ELSE 0 END)",
    "aborted": "sum(CASE WHEN outcome = 'aborted' THEN 1 ELSE 0 END)",
    "cost_nano_usd": "sum(cost_nano_usd)",
    "busy_ms": "sum(coalesce(total_ms, 0))",
    **{lane: f"sum({lane})" for lane in _EARLIER_LANES},
}
_PLACE = "started_at - started_at % " + str(_BUCKET_MICROSECONDS)
# What was settled before this revision; a caller of then is a person of its own name.
_SUM_UP = (
    f"INSERT INTO rollups (bucket, {', '.join([*_DIMENSIONS, *_MEASURES])}) "  # noqa: S608 - names of this file
    f"SELECT {_PLACE}, principal, principal, deployment, model, zone, '', '[]', '', "
    f"{', '.join(_SUMS.get(name, '0') for name in _MEASURES)} "
    f"FROM attempts WHERE state <> 'held' GROUP BY {_PLACE}, principal, deployment, model, zone"
)
