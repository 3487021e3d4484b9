"""One house for each back end: a folder, a store, an upstream that counts."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.money.gateways import Fleet, gateways
from tests.money.upstream import Counts, counting_upstream
from tests.wire.valkey import valkey

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path


@dataclass(frozen=True)
class House:
    """Gateways, what their upstream counted, and where their ledger is."""

    fleet: Fleet
    counts: Counts
    ledger: str


@pytest.fixture(params=["sqlite", "postgresql"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[House]]:
    """Opens a house with so many gateways; `more` are further files of its pack."""
    database_url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None

    @asynccontextmanager
    async def opened(count: int = 1, more: Mapping[str, Any] = {}) -> AsyncIterator[House]:
        socket = tmp_path / "valkey.sock"
        ledger = database_url or f"sqlite+aiosqlite:///{tmp_path / 'ledger.db'}"
        async with (
            counting_upstream() as (url, counts),
            valkey(socket),
            gateways(tmp_path, url, count, store=f"unix://{socket}", database_url=database_url, more=more) as fleet,
        ):
            yield House(fleet, counts, ledger)

    return opened
