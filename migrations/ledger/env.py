"""The schema that the ledger's revisions lead to; alembic executes this file."""

from __future__ import annotations

from gateway.db.tables import metadata
from migrations.running import run

run(metadata)
