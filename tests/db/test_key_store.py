"""Keys: found by digest while they live, never kept as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.db import keys
from gateway.db.engine import open_engine
from gateway.errors import Conflict, Unavailable
from policies.labels import Label, Level, Sensitivity
from tests.gateway.ledger.samples import execute, fresh_ledger, rows, url_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

ANA = keys.KeySpec(
    "ana", ("adults",), Sensitivity.parse("private+health"), Label.parse("internal redacted:secret"), ("casa", "saúde")
)


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    engine = open_engine(url_of(fresh_ledger(tmp_path)))
    yield engine
    await engine.dispose()


async def test_a_key_is_found_by_its_digest_with_all_it_may_do(engine: AsyncEngine) -> None:
    key = await keys.create(engine, ANA)

    row = await keys.find(engine, keys.digest_of(key))

    assert row is not None
    assert (row.name, row.groups, row.collections) == (ANA.name, ANA.groups, ANA.collections)
    assert (row.clearance, row.default_label, row.revoked_at) == (ANA.clearance, ANA.default_label, None)
    assert row.created_at.tzinfo is not None


async def test_a_key_reads_private_papers_and_takes_the_packs_label_unless_told_otherwise(engine: AsyncEngine) -> None:
    await keys.create(engine, keys.KeySpec("plain"))

    [row] = await keys.list_keys(engine)

    assert (row.clearance, row.default_label, row.collections) == (Sensitivity(Level.PRIVATE), None, ())


async def test_the_file_does_not_hold_the_key(engine: AsyncEngine, tmp_path: Path) -> None:
    key = await keys.create(engine, ANA)
    await engine.dispose()

    kept = rows(tmp_path / "ledger.db", "SELECT * FROM api_keys")

    assert key.startswith("sk-soleira-")
    assert key[:16] in str(kept)
    assert key[:17] not in str(kept)


async def test_a_given_key_is_kept_as_it_is(engine: AsyncEngine) -> None:
    assert await keys.create(engine, ANA, "my own long secret") == "my own long secret"
    assert await keys.find(engine, keys.digest_of("my own long secret")) is not None


async def test_two_living_keys_never_share_a_name(engine: AsyncEngine) -> None:
    await keys.create(engine, ANA)

    with pytest.raises(Conflict, match="'ana'"):
        await keys.create(engine, ANA)

    assert len(await keys.list_keys(engine)) == 1


async def test_a_revoked_key_is_not_found_and_its_name_is_free_again(engine: AsyncEngine) -> None:
    digest = keys.digest_of(await keys.create(engine, ANA))

    revoked = await keys.revoke(engine, "ana")

    await keys.create(engine, ANA)
    first, second = await keys.list_keys(engine)
    assert revoked == digest
    assert await keys.find(engine, digest) is None
    assert first.revoked_at is not None
    assert second.revoked_at is None


async def test_revoking_a_name_that_no_living_key_has_does_nothing(engine: AsyncEngine) -> None:
    await keys.create(engine, ANA)

    assert await keys.revoke(engine, "rui") is None
    assert await keys.revoke(engine, "ana") is not None
    assert await keys.revoke(engine, "ana") is None


async def test_a_ledger_that_cannot_be_read_is_not_an_unknown_key(engine: AsyncEngine, tmp_path: Path) -> None:
    digest = keys.digest_of(await keys.create(engine, ANA))
    execute(tmp_path / "ledger.db", "ALTER TABLE api_keys RENAME TO hidden")

    with pytest.raises(Unavailable) as told:
        await keys.find(engine, digest)
    execute(tmp_path / "ledger.db", "ALTER TABLE hidden RENAME TO api_keys")

    assert (told.value.status, told.value.retry_after) == (503, "5")
    assert await keys.find(engine, digest) is not None
    assert rows(tmp_path / "ledger.db", "SELECT name FROM api_keys") == [{"name": "ana"}]
