"""An attempt counts against every budget that speaks of it, in the window of the owner's calendar."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from gateway.db import keys
from gateway.ledger.attempt import attempt
from gateway.ledger.budgets import standings, state, windows
from gateway.ledger.entries import Account
from gateway.ledger.writer import open_writer
from policies.budgets import Budget, Budgets, Money, Subject, own_budgets
from tests.gateway.ledger.packs import a_pack
from tests.gateway.ledger.samples import BOOT, ESTIMATE, NOON, a_hold, deployment

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from policies.budgets import Kind, Per

K3 = deployment()
ANA = Account(
    "ana-phone",
    person="Ana",
    groups=frozenset({"adults", "family"}),
    tag="taxes",
    collections=("papers", "casa", "papers"),
)
SAO_PAULO = ZoneInfo("America/Sao_Paulo")


def budget(kind: Kind = "house", name: str | None = None, per: Per = "month", **more: object) -> Budget:
    found = Budget(f"{kind} {name}", Subject(kind, name), per, money=Money(Decimal(5)))
    return replace(found, **more)  # type: ignore[arg-type]  # any field of a budget


@pytest.mark.parametrize(
    ("kind", "name", "subjects"),
    [
        ("key", None, ["ana-phone"]),
        ("key", "ana-phone", ["ana-phone"]),
        ("key", "rui", []),
        ("person", "Ana", ["Ana"]),
        ("group", None, ["adults", "family"]),
        ("group", "family", ["family"]),
        ("group", "children", []),
        ("model", None, ["kimi-k3"]),
        ("model", "kimi-k3", ["kimi-k3"]),
        ("model", "small", []),
        ("zone", None, ["hosted"]),
        ("zone", "lan", []),
        ("collection", None, ["casa", "papers"]),
        ("tag", None, ["taxes"]),
        ("tag", "school", []),
        ("house", None, ["house"]),
    ],
)
def test_a_budget_counts_for_what_it_names(kind: Kind, name: str | None, subjects: list[str]) -> None:
    pack = a_pack(Budgets(budgets=(budget(kind, name),)))

    assert sorted(window.subject for window in windows(pack, (), ANA, K3, NOON)) == subjects


def test_who_names_no_person_no_tag_and_no_collection_is_counted_by_the_key_alone() -> None:
    kinds: tuple[Kind, ...] = ("person", "tag", "collection", "group")
    pack = a_pack(Budgets(budgets=tuple(budget(kind) for kind in kinds)))

    found = windows(pack, (), Account("ana-phone"), K3, NOON)

    assert [(window.budget, window.subject) for window in found] == [("person None", "ana-phone")]


def test_a_key_s_own_budgets_count_beside_the_pack_s() -> None:
    pack = a_pack(Budgets(zone=SAO_PAULO, budgets=(budget("key", per="day", tokens=500, hard=False),)))

    own, ours, tokens = windows(pack, own_budgets("ana-phone", "2.50/month", "9000/hour"), ANA, K3, NOON)

    assert (own.limit_nano_usd, own.limit_tokens, own.hard) == (2_500_000_000, None, True)
    assert (own.starts_at, own.ends_at) == (
        datetime(2026, 11, 1, 3, tzinfo=UTC),
        datetime(2026, 12, 1, 3, tzinfo=UTC),
    )
    assert (ours.limit_nano_usd, ours.limit_tokens) == (None, 9000)
    assert (tokens.budget, tokens.limit_nano_usd, tokens.limit_tokens, tokens.hard) == (
        "key None",
        5_000_000_000,
        500,
        False,
    )


@pytest.mark.parametrize(
    ("zone", "per", "same", "next_one"),
    [
        ("America/Sao_Paulo", "day", ("2026-11-01T03:00", "2026-11-02T02:59"), "2026-11-02T03:00"),
        ("America/Manaus", "day", ("2026-11-01T04:00", "2026-11-02T03:59"), "2026-11-02T04:00"),
        ("America/Rio_Branco", "month", ("2026-11-01T05:00", "2026-12-01T04:59"), "2026-12-01T05:00"),
        ("America/Noronha", "hour", ("2026-11-01T02:00", "2026-11-01T02:59"), "2026-11-01T03:00"),
        ("Asia/Tokyo", "month", ("2026-10-31T15:00", "2026-11-30T14:59"), "2026-11-30T15:00"),
        ("Europe/Berlin", "day", ("2026-03-28T23:00", "2026-03-29T21:59"), "2026-03-29T22:00"),
        ("Europe/Berlin", "day", ("2026-10-24T22:00", "2026-10-25T22:59"), "2026-10-25T23:00"),
        ("Europe/Berlin", "hour", ("2026-10-25T00:00", "2026-10-25T00:59"), "2026-10-25T01:00"),
        ("Europe/Berlin", "week", ("2026-10-18T22:00", "2026-10-25T22:59"), "2026-10-25T23:00"),
    ],
)
def test_a_window_has_one_id_from_its_first_moment_to_its_last(
    zone: str, per: Per, same: tuple[str, str], next_one: str
) -> None:
    pack = a_pack(Budgets(zone=ZoneInfo(zone), budgets=(budget(per=per),)))

    first, last, following = (
        windows(pack, (), ANA, K3, datetime.fromisoformat(moment).replace(tzinfo=UTC))[0]
        for moment in (*same, next_one)
    )

    assert first == last
    assert following.id != first.id
    assert following.starts_at == first.ends_at


def test_a_limit_in_reais_goes_by_the_rate_of_its_window_s_first_day() -> None:
    rates = ((date(2026, 10, 1), Decimal(5)), (date(2026, 11, 10), Decimal(4)))
    pack = a_pack(Budgets(zone=SAO_PAULO, budgets=(budget(money=Money(Decimal(100), "BRL", rates)),)))

    limits = [windows(pack, (), ANA, K3, datetime(2026, month, 20, tzinfo=UTC))[0].limit_nano_usd for month in (11, 12)]

    assert limits == [20_000_000_000, 25_000_000_000]


def test_no_two_windows_share_an_id_whatever_they_are_called() -> None:
    names = ("a:day", "a", "a:day:house", "a%3Aday")
    pers: tuple[Per, ...] = ("day", "month")
    budgets = [budget(per=per, name=None) for per in pers]
    every = [replace(each, name=name, own=own) for each in budgets for name in names for own in (True, False)]

    found = windows(a_pack(Budgets(budgets=tuple(every))), (), ANA, K3, NOON)

    assert len({window.id for window in found}) == len(every) == len(found)
    assert [window.id for window in found] == sorted(window.id for window in found)


async def test_budgets_are_shown_as_they_stand_in_the_ledger(ledger: Path, engine: AsyncEngine) -> None:
    await keys.create(engine, keys.KeySpec("ana-phone", allowance=keys.Allowance(budget_usd="2/month")))
    pack = a_pack(Budgets(budgets=(budget("house"), budget("group"), budget("key", "rui"))))
    [row] = await keys.list_keys(engine)
    found = windows(pack, row.budgets, ANA, K3, NOON)
    async with open_writer(ledger, BOOT) as writer:
        async with attempt(writer, replace(a_hold("att-1"), account=ANA, windows=found)) as record:
            record.usage = ESTIMATE
        await writer.hold(replace(a_hold("att-2"), account=ANA, windows=found))

        shown = await state(engine, pack, NOON)

    cost = 10_500_000
    assert [(each.budget.name, each.window.subject, each.spent_nano_usd, each.held_nano_usd) for each in shown] == [
        ("house None", "house", cost, cost),
        ("group None", "adults", cost, cost),
        ("group None", "family", cost, cost),
        ("key rui", "rui", 0, 0),
        ("ana-phone: money of its own", "ana-phone", cost, cost),
    ]
    assert (shown[0].spent_tokens, shown[0].held_tokens, shown[0].percent) == (1500, 1500, 0)
    assert shown[-1].as_dict()["limit_nano_usd"] == 2_000_000_000


def test_a_budget_of_nothing_is_used_up_from_the_start() -> None:
    pack = a_pack(Budgets(budgets=(budget(money=Money(Decimal(0))),)))

    assert [standing.percent for standing in standings(pack, (), (), NOON)] == [100]
