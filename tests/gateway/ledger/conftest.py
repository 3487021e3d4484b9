"""An empty ledger and its engine for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.db.engine import open_engine
from tests.gateway.ledger.samples import fresh_ledger, url_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return fresh_ledger(tmp_path)


@pytest.fixture
async def engine(ledger: Path) -> AsyncIterator[AsyncEngine]:
    engine = open_engine(url_of(ledger))
    yield engine
    await engine.dispose()
