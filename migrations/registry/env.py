"""The schema that the registry's revisions lead to; alembic executes this file."""

from __future__ import annotations

from migrations.running import run
from retrieval.registry.tables import metadata

run(metadata)
