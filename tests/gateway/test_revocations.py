"""A revoked key is forgotten by every process at once, over a real Valkey, also after the channel was lost."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from redis.asyncio import Redis

from gateway.db.engine import open_engine
from gateway.db.keys import KeySpec, create, digest_of, revoke
from gateway.errors import Unauthenticated
from gateway.principals import Principals
from gateway.revocations import Revocations
from migrations import upgrade
from tests.wire.valkey import valkey

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine


@asynccontextmanager
async def process(engine: AsyncEngine, socket: Path) -> AsyncIterator[tuple[Principals, Revocations]]:
    """A gateway process as far as keys go; its clock stands still, so that nothing is forgotten by time."""
    store = Redis.from_url(f"unix://{socket}")
    principals = Principals(engine, "", clock=lambda: 0.0)
    revocations = Revocations(store, principals)
    listening = asyncio.create_task(revocations.listen())
    try:
        yield principals, revocations
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await store.aclose()


async def _until_refused(principals: Principals, key: str) -> None:
    for _ in range(200):
        try:
            await principals.verify(key)
        except Unauthenticated:
            return
        await asyncio.sleep(0.05)
    pytest.fail("the revoked key is still taken")


async def test_another_process_forgets_a_revoked_key(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'ledger.db'}"
    upgrade("ledger", url)
    engine = open_engine(url)
    socket = tmp_path / "v.sock"
    key = await create(engine, KeySpec("ana"))
    async with process(engine, socket) as (here, revocations), process(engine, socket) as (there, _):
        # The store comes up after the processes: both listen all the same.
        async with valkey(socket) as store:
            while (await store.pubsub_numsub("soleira:revoked"))[0][1] < 2:
                await asyncio.sleep(0.05)
            await here.verify(key)
            await there.verify(key)
            await revoke(engine, "ana")
            assert (await there.verify(key)).name == "ana"  # kept, so the channel must tell

            await revocations.announce(digest_of(key))

            await _until_refused(there, key)
            with pytest.raises(Unauthenticated):
                await here.verify(key)
    await engine.dispose()


async def test_a_lost_channel_forgets_all_keys_when_it_is_back(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'ledger.db'}"
    upgrade("ledger", url)
    engine = open_engine(url)
    socket = tmp_path / "v.sock"
    key = await create(engine, KeySpec("ana"))
    async with process(engine, socket) as (principals, revocations):
        await principals.verify(key)
        await revoke(engine, "ana")
        await revocations.announce("0" * 64)  # nobody is there to tell, which must not fail

        async with valkey(socket):
            await _until_refused(principals, key)
    await engine.dispose()
