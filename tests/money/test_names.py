"""Names and places that are no names at all: both databases answer them, and forget no call over them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import aiohttp
import pytest

from gateway.db import keys
from gateway.db.engine import open_engine
from gateway.db.keys import KeySpec
from tests.money.books import HELD, IN_WINDOWS, TOTAL, one, query
from tests.money.gateways import ADMIN

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from tests.money.conftest import House

_PERSONS = ("'; DROP TABLE attempts; --", '"}] $1 %s :b_id', "ana\u2028eva", "\ud800", "\U0001f4b8", "a" * 64)
_BUDGETS = {
    "budgets.yaml": {
        "budgets": [
            {"name": "'; DELETE FROM budget_windows; --", "of": {"person": "any"}, "limit": {"usd": 1}, "per": "day"},
            {"name": "a:b", "of": "house", "limit": {"usd": 1, "tokens": 10**15}, "per": "day"},
        ]
    }
}
_ASKED = ("\x00", "'", '"', "\\", "%", "\u2028", "a,b", "x" * 5000, "$1", ":b_id")


@pytest.mark.timeout(120)
async def test_no_name_is_a_statement_and_none_is_lost(
    house: Callable[..., AbstractAsyncContextManager[House]],
) -> None:
    async with house(1, _BUDGETS) as opened, aiohttp.ClientSession() as session:
        gateway = opened.fleet.gateways[0]
        engine = open_engine(opened.ledger)
        made = [await keys.create(engine, KeySpec(f"key-{place}", person=name)) for place, name in enumerate(_PERSONS)]
        await engine.dispose()
        statuses = [(await gateway.ask(session, "ok 7 3 5 2", key=key))[0] for key in made]
        answers = []
        for name in _ASKED:
            for path in ("/admin/usage?group_by=person&key=", "/admin/usage?collection=", "/v1/soleira/decisions/"):
                address = f"{gateway.url}{path}{quote(name)}"
                async with session.get(address, headers={"authorization": f"Bearer {ADMIN}"}) as answer:
                    answers.append(answer.status)
        rows, windows = await one(opened.ledger, TOTAL), await one(opened.ledger, IN_WINDOWS)
        held = await one(opened.ledger, HELD)
        persons = {row["person"] for row in await query(opened.ledger, "SELECT DISTINCT person FROM attempts")}

    assert statuses == [200] * len(_PERSONS)
    assert set(answers) <= {200, 404}
    assert held["held"] == 0
    assert (rows["attempts"], 2 * rows["cost"]) == (len(_PERSONS), windows["spent"])
    assert persons == {name.replace("\ud800", "\ufffd") for name in _PERSONS}
