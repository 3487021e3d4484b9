"""The first schema: documents, their chunks, and the vectors that must go."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "registry_0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "documents",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("collection", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("file", sa.Text, nullable=False),
        sa.Column("declared", sa.Text),
        sa.Column("digest", sa.Text),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("version", sa.Text),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("leased_by", sa.Text),
        sa.Column("leased_until", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("collection", "source", name="uq_documents_collection"),
        sa.UniqueConstraint("version", name="uq_documents_version"),
    )
    op.create_index("ix_documents_state", "documents", ["state", "updated_at"])
    op.create_table(
        "chunks",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("document", sa.Text, sa.ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("context", sa.Text, nullable=False),
        sa.Column("page", sa.Integer),
        sa.Column("line", sa.Integer),
        sa.Column("heading", sa.Text),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("language", sa.Text),
    )
    op.create_index("ix_chunks_version", "chunks", ["version", "ordinal"])
    op.create_index("ix_chunks_document", "chunks", ["document"])
    op.create_table("tombstones", sa.Column("version", sa.Text, primary_key=True))


def downgrade() -> None:
    op.drop_table("tombstones")
    op.drop_table("chunks")
    op.drop_table("documents")
