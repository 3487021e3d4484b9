"""Keys, boots, decisions and attempts.

Revision: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_api_keys()
    _create_boots()
    _create_decisions()
    _create_marks()
    _create_attempts()


def downgrade() -> None:
    for table in ("attempts", "marks", "decisions", "boots", "api_keys"):
        op.drop_table(table)


def _create_api_keys() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("prefix", sa.Text, nullable=False),
        sa.Column("groups", sa.Text, nullable=False),
        sa.Column("clearance", sa.Text, nullable=False),
        sa.Column("default_label", sa.Text),
        sa.Column("collections", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("digest", name=op.f("uq_api_keys_digest")),
    )
    living = sa.text("revoked_at IS NULL")
    op.create_index(
        "ix_api_keys_live_name", "api_keys", ["name"], unique=True, sqlite_where=living, postgresql_where=living
    )


def _create_boots() -> None:
    op.create_table(
        "boots",
        sa.Column("boot_id", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("process_started_at", sa.Text, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("heartbeat_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("boot_id", name=op.f("pk_boots")),
    )


def _create_decisions() -> None:
    op.create_table(
        "decisions",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("request_id", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("asked_model", sa.Text, nullable=False),
        sa.Column("collections", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("raised_by", sa.Text, nullable=False),
        sa.Column("rule", sa.Text),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("zones", sa.Text, nullable=False),
        sa.Column("policy_version", sa.Text, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("code", sa.Text),
        sa.Column("stream", sa.Boolean, nullable=False),
        sa.Column("passages", sa.Integer, nullable=False),
        sa.Column("zone", sa.Text),
        sa.Column("deployment", sa.Text),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decisions")),
    )
    op.create_index(op.f("ix_decisions_at"), "decisions", ["at"])


def _create_marks() -> None:
    op.create_table(
        "marks",
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_marks")),
    )


def _create_attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("decision_id", sa.Text, nullable=False),
        sa.Column("request_id", sa.Text, nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("deployment", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("upstream_model", sa.Text, nullable=False),
        sa.Column("zone", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("held_nano_usd", sa.BigInteger, nullable=False),
        sa.Column("cost_nano_usd", sa.BigInteger),
        sa.Column("currency", sa.Text, nullable=False),
        sa.Column("fresh", sa.BigInteger, nullable=False),
        sa.Column("cached", sa.BigInteger, nullable=False),
        sa.Column("output", sa.BigInteger, nullable=False),
        sa.Column("reasoning", sa.BigInteger, nullable=False),
        sa.Column("estimated", sa.Boolean, nullable=False),
        sa.Column("outcome", sa.Text),
        sa.Column("error_code", sa.Text),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("first_byte_ms", sa.Integer),
        sa.Column("total_ms", sa.Integer),
        sa.Column("settled_at", sa.BigInteger),
        sa.Column("bytes_out", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
        sa.ForeignKeyConstraint(["owner"], ["boots.boot_id"], name=op.f("fk_attempts_owner")),
        *_attempt_checks(),
    )
    held = sa.text("state = 'held'")
    op.create_index(op.f("ix_attempts_decision_id"), "attempts", ["decision_id"])
    op.create_index(op.f("ix_attempts_started_at"), "attempts", ["started_at"])
    op.create_index("ix_attempts_held_owner", "attempts", ["owner"], sqlite_where=held, postgresql_where=held)


def _attempt_checks() -> list[sa.CheckConstraint]:
    return [
        sa.CheckConstraint("state IN ('held', 'settled', 'recovered')", name=op.f("ck_attempts_state")),
        sa.CheckConstraint(
            "outcome IN ('ok', 'aborted', 'failed', 'refused', 'unknown')", name=op.f("ck_attempts_outcome")
        ),
        sa.CheckConstraint("(state = 'held') = (cost_nano_usd IS NULL)", name=op.f("ck_attempts_cost_once_settled")),
        sa.CheckConstraint("held_nano_usd >= 0 AND cost_nano_usd >= 0", name=op.f("ck_attempts_cost_not_negative")),
        sa.CheckConstraint(
            "typeof(held_nano_usd) = 'integer' AND typeof(cost_nano_usd) IN ('integer', 'null')",
            name=op.f("ck_attempts_cost_exact"),
        ).ddl_if(dialect="sqlite"),
    ]
