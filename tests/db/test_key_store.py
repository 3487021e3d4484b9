"""Keys: found by digest while they live, never kept as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.db import keys
from gateway.errors import BadRequest, Conflict, Unavailable
from policies.labels import Label, Level, Sensitivity

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from tests.db.stores import Store

ANA = keys.KeySpec(
    "ana", ("adults",), Sensitivity.parse("private+health"), Label.parse("internal redacted:secret"), ("casa", "saúde")
)


async def test_a_key_is_found_by_its_digest_with_all_it_may_do(opened: AsyncEngine) -> None:
    key = await keys.create(opened, ANA)

    row = await keys.find(opened, keys.digest_of(key))

    assert row is not None
    assert (row.name, row.groups, row.collections) == (ANA.name, ANA.groups, ANA.collections)
    assert (row.clearance, row.default_label, row.revoked_at) == (ANA.clearance, ANA.default_label, None)
    assert row.created_at.tzinfo is not None


async def test_a_key_reads_private_papers_and_takes_the_packs_label_unless_told_otherwise(opened: AsyncEngine) -> None:
    await keys.create(opened, keys.KeySpec("plain"))

    [row] = await keys.list_keys(opened)

    assert (row.clearance, row.default_label, row.collections) == (Sensitivity(Level.PRIVATE), None, ())


async def test_the_ledger_does_not_hold_the_key(store: Store, opened: AsyncEngine) -> None:
    key = await keys.create(opened, ANA)
    await opened.dispose()

    kept = store.rows("SELECT * FROM api_keys")

    assert key.startswith("sk-soleira-")
    assert key[:16] in str(kept)
    assert key[:17] not in str(kept)


async def test_a_given_key_is_kept_as_it_is(opened: AsyncEngine) -> None:
    assert await keys.create(opened, ANA, "my own long secret") == "my own long secret"
    assert await keys.find(opened, keys.digest_of("my own long secret")) is not None


async def test_two_living_keys_never_share_a_name(opened: AsyncEngine) -> None:
    await keys.create(opened, ANA)

    with pytest.raises(Conflict, match="'ana'"):
        await keys.create(opened, ANA)

    assert len(await keys.list_keys(opened)) == 1


async def test_a_revoked_key_is_not_found_and_its_name_is_free_again(opened: AsyncEngine) -> None:
    digest = keys.digest_of(await keys.create(opened, ANA))

    revoked = await keys.revoke(opened, "ana")

    await keys.create(opened, ANA)
    first, second = await keys.list_keys(opened)
    assert revoked == digest
    assert await keys.find(opened, digest) is None
    assert first.revoked_at is not None
    assert second.revoked_at is None


async def test_revoking_a_name_that_no_living_key_has_does_nothing(opened: AsyncEngine) -> None:
    await keys.create(opened, ANA)

    assert await keys.revoke(opened, "rui") is None
    assert await keys.revoke(opened, "ana") is not None
    assert await keys.revoke(opened, "ana") is None


async def test_a_ledger_that_cannot_be_read_is_not_an_unknown_key(store: Store, opened: AsyncEngine) -> None:
    digest = keys.digest_of(await keys.create(opened, ANA))
    store.execute("ALTER TABLE api_keys RENAME TO hidden")

    with pytest.raises(Unavailable) as told:
        await keys.find(opened, digest)
    store.execute("ALTER TABLE hidden RENAME TO api_keys")

    assert (told.value.status, told.value.retry_after) == (503, "5")
    assert await keys.find(opened, digest) is not None
    assert store.rows("SELECT name FROM api_keys") == [{"name": "ana"}]


async def test_a_key_keeps_whose_it_is_what_it_is_for_and_what_it_may_use(opened: AsyncEngine) -> None:
    allowance = keys.Allowance("5.25/month", "1000000/day", "60/minute", "100000/minute", 4)
    spec = keys.KeySpec("figures", person="Ana Lúcia", role="reader", allowance=allowance)

    await keys.create(opened, spec)
    await keys.create(opened, keys.KeySpec("plain"))
    row, plain = await keys.list_keys(opened)

    assert row.spec == spec
    assert [(budget.per, budget.tokens) for budget in row.budgets] == [("month", None), ("day", 1_000_000)]
    assert [limit.concurrency for limit in row.limits] == [4]
    assert (plain.person, plain.role, plain.budgets, plain.limits) == (None, "caller", (), ())


@pytest.mark.parametrize(
    ("allowance", "message"),
    [
        (keys.Allowance(budget_usd="5"), "such as 5/month"),
        (keys.Allowance(budget_tokens="1.5/day"), "such as 1000000/day"),
        (keys.Allowance(requests="0/minute"), "at least 1"),
        (keys.Allowance(tokens="9/week"), "use second, minute, hour or day"),
        (keys.Allowance(concurrency=0), "from 1 on"),
    ],
)
async def test_what_a_key_may_use_is_read_before_the_key_is_made(
    opened: AsyncEngine, allowance: keys.Allowance, message: str
) -> None:
    with pytest.raises(BadRequest, match=message):
        await keys.create(opened, keys.KeySpec("ana", allowance=allowance))

    assert await keys.list_keys(opened) == []


async def test_a_person_s_name_is_one_line(opened: AsyncEngine) -> None:
    with pytest.raises(BadRequest, match="one line"):
        await keys.create(opened, keys.KeySpec("ana", person="Ana\nLúcia"))
