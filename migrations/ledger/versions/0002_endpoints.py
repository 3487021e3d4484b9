"""Which endpoint was asked, and which model says to have answered.

Revision: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("decisions", sa.Column("endpoint", sa.Text, nullable=False, server_default="chat"))
    op.add_column("attempts", sa.Column("answered_model", sa.Text))


def downgrade() -> None:
    op.drop_column("attempts", "answered_model")
    op.drop_column("decisions", "endpoint")
