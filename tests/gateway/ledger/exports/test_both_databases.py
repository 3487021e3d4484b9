"""The same files out of SQLite and out of PostgreSQL."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from gateway.ledger.exports import attempts, focus, focus_columns, sums
from gateway.ledger.exports.reconcile import reconcile
from tests.gateway.ledger.exports.ledgers import gathered, write
from tests.gateway.ledger.exports.test_focus import CALLS, HOUSE, NOVEMBER, OFFERS
from tests.gateway.ledger.exports.test_reconcile import CALLS as BILLED
from tests.gateway.ledger.exports.test_reconcile import MOONSHOT_K3, OPENAI

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from tests.db.stores import Store


async def test_every_export_comes_to_the_sum_of_the_rows(store: Store, opened: AsyncEngine) -> None:
    await write(store.url, CALLS)

    whole = Decimal(sum(row["cost_nano_usd"] or 0 for row in store.rows())).scaleb(-9)
    by_day = await gathered(sums.rows(opened, NOVEMBER, ("day", "key", "collection")))
    single = await gathered(attempts.rows(opened, NOVEMBER))
    billed = await gathered(focus.rows(opened, NOVEMBER, OFFERS, HOUSE))

    for found, header, name in (
        (by_day, sums.header(("day", "key", "collection")), "cost_usd"),
        (single, attempts.HEADER, "cost_usd"),
        (billed, tuple(focus_columns.COLUMNS), "BilledCost"),
    ):
        amounts = [row[header.index(name)] for row in found]
        assert sum(amount for amount in amounts if isinstance(amount, Decimal)) == whole


async def test_a_providers_file_agrees_with_either(store: Store, opened: AsyncEngine) -> None:
    await write(store.url, BILLED)

    assert (await reconcile(opened, OPENAI, MOONSHOT_K3)).differences == ()
