"""A month's statement: who owes what, what the house bears, and whom the money goes to."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from gateway.ledger.entries import Account
from gateway.ledger.exports.statement import Statement, statement
from gateway.ledger.exports.statement_page import page
from gateway.wire.lanes import Usage
from policies.load import load_pack
from tests.gateway.ledger.exports.ledgers import OWN, Call, hours, priced, write
from tests.gateway.ledger.exports.packs import write_pack
from tests.gateway.ledger.samples import K3, NOON, rows

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from policies.fields import Language
    from policies.pack import Pack

DECEMBER = datetime(2026, 12, 2, tzinfo=UTC)
CALLS = [
    Call(Usage(fresh=1_000_003, output=7)),
    Call(Usage(fresh=10), account=Account("phone", person="Ana")),
    Call(Usage(output=11), NOON + hours(1), Account("rui", person="rui"), bearer="house", outcome="failed"),
    Call(Usage(fresh=999, output=1), NOON + hours(2), Account("rui", person="rui"), on=priced(OWN, "our-k3")),
    Call(Usage(fresh=5), NOON + hours(24 * 30)),  # the first of December
    Call(Usage(fresh=5, estimated=True), account=Account("phone", person="Ana"), on=priced(K3, "left-the-pack")),
]


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    return load_pack(write_pack(tmp_path / "pack"))


async def november(ledger: Path, engine: AsyncEngine, pack: Pack, now: datetime = DECEMBER) -> Statement:
    await write(ledger, CALLS)
    return await statement(engine, pack, 2026, 11, now)


async def test_every_list_adds_up_to_the_months_rows(ledger: Path, engine: AsyncEngine, pack: Pack) -> None:
    found = await november(ledger, engine, pack)

    of_month = [row for row in rows(ledger) if row["started_at"] < 1_796_094_000_000_000]  # 1 December, 03:00 UTC
    whole = sum(row["cost_nano_usd"] for row in of_month)
    assert len(of_month) == 5
    assert found.total.cost_nano_usd == whole
    assert sum(bill.sums.cost_nano_usd for bill in found.people) == whole
    assert sum(bill.sums.cost_nano_usd for bill in (*found.providers, *found.own)) == whole
    for bill in (*found.people, *found.providers):
        assert sum(part.sums.cost_nano_usd for part in bill.parts) == bill.sums.cost_nano_usd


async def test_a_persons_keys_stand_below_the_person(ledger: Path, engine: AsyncEngine, pack: Pack) -> None:
    found = await november(ledger, engine, pack)

    assert [(bill.name, [part.name for part in bill.parts]) for bill in found.people] == [
        ("Ana", ["ana", "phone"]),
        ("rui", ["rui"]),
    ]


async def test_what_the_house_bears_is_nobodys_debt(ledger: Path, engine: AsyncEngine, pack: Pack) -> None:
    found = await november(ledger, engine, pack)

    rui = found.people[1].sums
    assert rui.house_nano_usd == CALLS[2].nano_usd
    assert rui.principal_nano_usd == CALLS[3].nano_usd


async def test_own_machines_stand_apart_from_providers(ledger: Path, engine: AsyncEngine, pack: Pack) -> None:
    found = await november(ledger, engine, pack)

    assert [bill.name for bill in found.own] == ["our-k3"]
    assert [bill.name for bill in found.providers] == ["Moonshot AI", "left-the-pack"]


async def test_a_machines_time_stands_beside_the_total(ledger: Path, engine: AsyncEngine, pack: Pack) -> None:
    found = await november(ledger, engine, pack)
    half = await statement(engine, pack, 2026, 11, datetime(2026, 11, 16, 3, 10, tzinfo=UTC))

    assert [machine.allocated_nano_usd for machine in found.machines] == [720 * 1_500_000_000]
    assert [machine.allocated_nano_usd for machine in half.machines] == [360 * 1_500_000_000]
    assert "US$\xa01,080.00" in page(found, "en")


async def test_a_month_that_has_not_ended_is_not_final(ledger: Path, engine: AsyncEngine, pack: Pack) -> None:
    await write(ledger, [Call(Usage(fresh=1), settled=False)])

    within = await statement(engine, pack, 2026, 11, NOON + hours(1))
    after = await statement(engine, pack, 2026, 11, DECEMBER)

    assert (within.ended, within.is_final) == (False, False)
    assert (after.ended, after.held, after.is_final) == (True, 1, False)


async def test_a_month_without_calls_is_all_zeros(engine: AsyncEngine, pack: Pack) -> None:
    found = await statement(engine, pack, 2026, 10, DECEMBER)

    assert found.as_dict()["total_nano_usd"] == 0
    assert found.is_final


async def test_json_begins_with_the_total_and_names_the_owners_rate(
    ledger: Path, engine: AsyncEngine, pack: Pack
) -> None:
    said = (await november(ledger, engine, pack)).as_dict()

    assert next(iter(said)) == "total_nano_usd"
    assert (said["currency"], said["per_usd"], said["per_usd_as_of"]) == ("BRL", "5.43", "2026-11-28")
    assert said["total_nano_usd"] == said["due_nano_usd"] + said["house_nano_usd"]


@pytest.mark.parametrize(
    ("language", "amount", "rate"),
    [
        ("en", "R$\xa016.2906 (US$\xa03.000114)", "BRL at 5.43 for a dollar"),
        ("pt", "R$\xa016,2906 (US$\xa03,000114)", "BRL a 5,43 por dólar"),
    ],
)
async def test_the_page_prints_every_digit_in_both_languages(
    ledger: Path, engine: AsyncEngine, pack: Pack, language: Language, amount: str, rate: str
) -> None:
    found = await november(ledger, engine, pack)

    text = page(found, language)

    assert Decimal(CALLS[0].nano_usd).scaleb(-9) == Decimal("3.000114")
    assert amount in text
    assert rate in text


async def test_the_page_is_whole_and_names_in_it_are_text(ledger: Path, engine: AsyncEngine, pack: Pack) -> None:
    await write(ledger, [Call(Usage(fresh=1), account=Account("<script>alert(1)</script>", person="A&B"))])

    text = page(await statement(engine, pack, 2026, 11, DECEMBER), "en")

    assert "<script" not in text
    assert "A&amp;B" in text
    assert balanced(text)
    assert "http" not in text


def balanced(text: str) -> bool:
    """True if every element is closed in its order."""
    open_tags: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta",):
                open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert open_tags.pop() == tag

    Tags().feed(text)
    return not open_tags
