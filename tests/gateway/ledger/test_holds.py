"""Holds in budgets' windows: all or nothing, never over a hard limit, given back to the last nano-dollar."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from gateway.db import windows
from gateway.errors import BudgetExceeded
from gateway.ledger.entries import Hold, Window
from gateway.ledger.owners import this_process
from gateway.ledger.recover import recover
from gateway.wire.lanes import Usage
from tests.gateway.ledger.samples import BOOT, NOON, a_hold, a_settlement, deployment

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from tests.db.stores import Store

COST = 10_500_000
TOKENS = 1500
SUMS = "SELECT spent_nano_usd, held_nano_usd, spent_tokens, held_tokens FROM budget_windows ORDER BY id"
FREE = replace(deployment().price, input=type(deployment().price.input)(0), output=type(deployment().price.output)(0))


def window(name: str = "w", usd: int | None = 2 * COST, tokens: int | None = None, hard: bool = True) -> Window:
    return Window(name, f"budget {name}", "ana", NOON, datetime.now(UTC) + timedelta(hours=1), usd, tokens, hard)


def held_in(*windows: Window, attempt_id: str = "att-1") -> Hold:
    return replace(a_hold(attempt_id), windows=windows)


def sums(store: Store) -> list[tuple[int, ...]]:
    return [tuple(row.values()) for row in store.rows(SUMS)]


async def test_a_hold_is_in_all_its_windows_until_it_is_settled(store: Store) -> None:
    hold = held_in(window("a"), window("b", None, 5000))
    async with store.writer() as writer:
        await writer.hold(hold)
        while_held = sums(store)
        used = Usage(fresh=10, output=1, searches=3)
        await writer.settle(replace(a_settlement(hold, Usage(fresh=10, output=1)), usage=used))

    assert while_held == [(0, COST, 0, TOKENS)] * 2
    assert sums(store) == [(45_000, 0, 11, 0)] * 2


async def test_a_hold_without_room_in_one_window_is_in_none_and_leaves_no_row(store: Store) -> None:
    narrow, wide = window("b", COST - 1), window("a", 10 * COST)
    async with store.writer() as writer:
        with pytest.raises(BudgetExceeded):
            await writer.hold(held_in(wide, narrow))

    assert store.rows() == []
    assert store.rows("SELECT * FROM attempt_windows") == []
    assert sums(store) == [(0, 0, 0, 0)] * 2


async def test_the_last_nano_dollar_may_be_held_and_not_one_more(store: Store) -> None:
    async with store.writer() as writer:
        await writer.hold(held_in(window(usd=COST)))
        with pytest.raises(BudgetExceeded):
            await writer.hold(replace(held_in(window(usd=2 * COST - 1), attempt_id="att-2")))
        await writer.hold(held_in(window(usd=2 * COST), attempt_id="att-2"))

    assert sums(store) == [(0, 2 * COST, 0, 2 * TOKENS)]


async def test_the_refusal_says_what_is_spent_held_and_allowed_and_until_when(store: Store) -> None:
    first, second = (held_in(window(), attempt_id=name) for name in ("att-1", "att-2"))
    async with store.writer() as writer:
        await writer.hold(first)
        await writer.settle(a_settlement(first, Usage(output=1)))
        await writer.hold(second)
        with pytest.raises(BudgetExceeded) as told:
            await writer.hold(held_in(window(), attempt_id="att-3"))

    message = str(told.value)
    assert "'budget w' of 'ana'" in message
    assert "0.000015 USD spent and 0.0105 USD held of 0.021 USD" in message
    assert f"{window().ends_at:%Y-%m-%d %H:%M} UTC" in message
    assert told.value.retry_after is not None
    assert 3590 <= int(told.value.retry_after) <= 3601


async def test_of_several_windows_without_room_the_one_that_ends_last_is_told(store: Store) -> None:
    month = replace(window("m", 0), ends_at=datetime.now(UTC) + timedelta(days=9))
    async with store.writer() as writer:
        with pytest.raises(BudgetExceeded, match="'budget m'") as told:
            await writer.hold(held_in(window("a", 0), month, window("z", 0)))

    assert int(told.value.retry_after or 0) > 8 * 86_400


async def test_tokens_are_told_as_they_are(store: Store) -> None:
    async with store.writer() as writer:
        with pytest.raises(BudgetExceeded, match="0 tokens spent and 0 tokens held of 1499 tokens"):
            await writer.hold(held_in(window(usd=None, tokens=TOKENS - 1)))


async def test_a_soft_window_counts_and_refuses_nothing(store: Store) -> None:
    async with store.writer() as writer:
        await writer.hold(held_in(window(usd=0, tokens=0, hard=False)))

    assert sums(store) == [(0, COST, 0, TOKENS)]


async def test_what_costs_nothing_passes_a_budget_of_money_that_is_used_up(store: Store) -> None:
    free = replace(held_in(window(usd=0)), deployment=deployment(price=FREE))
    async with store.writer() as writer:
        await writer.hold(free)
        with pytest.raises(BudgetExceeded):
            await writer.hold(held_in(window(usd=0), attempt_id="att-2"))


@pytest.mark.parametrize(("limit", "passes"), [(1, True), (0, False)])
async def test_what_uses_no_tokens_passes_until_a_budget_of_tokens_is_used_up(
    store: Store, limit: int, passes: bool
) -> None:
    nothing = replace(held_in(window(usd=None, tokens=limit)), estimate=Usage())
    async with store.writer() as writer:
        refused = (await asyncio.gather(writer.hold(nothing), return_exceptions=True))[0]

    assert isinstance(refused, BudgetExceeded) is not passes


async def test_the_newest_limit_holds_also_where_it_refuses(store: Store, opened: AsyncEngine) -> None:
    async with store.writer() as writer:
        await writer.hold(held_in(window(usd=5 * COST)))
        with pytest.raises(BudgetExceeded):
            await writer.hold(held_in(window(usd=COST), attempt_id="att-2"))

    [row] = await windows.state(opened, datetime.now(UTC))
    assert (row.limit_nano_usd, row.held_nano_usd, row.hard) == (COST, COST, True)


async def test_one_without_room_does_not_disturb_the_others_of_its_batch(store: Store) -> None:
    holds = [held_in(window(usd=7 * COST), attempt_id=f"att-{number:02}") for number in range(50)]
    async with store.writer() as writer:
        outcomes = await asyncio.gather(*map(writer.hold, holds), return_exceptions=True)
        await writer.hold(a_hold("other"))

    assert [type(outcome) for outcome in outcomes] == [type(None)] * 7 + [BudgetExceeded] * 43
    assert sums(store) == [(0, 7 * COST, 0, 7 * TOKENS)]


async def test_an_entry_that_cannot_be_kept_holds_nothing(store: Store) -> None:
    hold = held_in(window())
    async with store.writer() as writer:
        await writer.hold(hold)
        outcomes = await asyncio.gather(
            writer.hold(hold), writer.hold(held_in(window(), attempt_id="att-2")), return_exceptions=True
        )

    assert isinstance(outcomes[0], Exception)
    assert outcomes[1] is None
    assert sums(store) == [(0, 2 * COST, 0, 2 * TOKENS)]


async def test_a_second_settlement_spends_nothing(store: Store) -> None:
    hold = held_in(window())
    async with store.writer() as writer:
        await writer.hold(hold)
        await asyncio.gather(*(writer.settle(a_settlement(hold)) for _ in range(3)), return_exceptions=True)

    assert sums(store) == [(COST, 0, TOKENS, 0)]
    assert store.row("SELECT attempts, cost_nano_usd FROM rollups") == {"attempts": 1, "cost_nano_usd": COST}


async def test_a_hold_whose_caller_left_is_settled_in_the_same_batch(store: Store) -> None:
    hold = held_in(window())
    async with store.writer() as writer:
        async with store.locked():
            first = asyncio.create_task(writer.hold(a_hold("before")))
            await asyncio.sleep(0.1)
            both = asyncio.gather(writer.hold(hold), writer.settle(a_settlement(hold, Usage())))
            await asyncio.sleep(0.1)
        await asyncio.gather(first, both)

    assert sums(store) == [(0, 0, 0, 0)]
    assert [row["state"] for row in store.rows()] == ["settled", "held"]


async def test_what_the_dead_held_is_spent_by_the_house_at_its_estimate(store: Store, opened: AsyncEngine) -> None:
    async with store.writer(replace(BOOT, host="another house")) as writer:
        await writer.hold(held_in(window("a"), window("b", None, 9000)))
        await writer.hold(held_in(window("b", None, 9000), attempt_id="att-2"))

    assert await recover(opened, this_process("me", NOON), NOON + timedelta(days=1)) == 2

    assert sums(store) == [(COST, 0, TOKENS, 0), (2 * COST, 0, 2 * TOKENS, 0)]
    assert {(row["bearer"], row["outcome"], row["state"]) for row in store.rows()} == {
        ("house", "unknown", "recovered")
    }
    rolled = store.row("SELECT attempts, failed, estimated, cost_nano_usd, house_nano_usd, output FROM rollups")
    assert tuple(rolled.values()) == (2, 2, 2, 2 * COST, 2 * COST, 1000)


async def test_an_owner_who_slept_puts_the_truth_in_place_of_the_estimate_everywhere(
    store: Store, opened: AsyncEngine
) -> None:
    hold = held_in(window())
    async with store.writer(replace(BOOT, host="another house")) as sleeper:
        await sleeper.hold(hold)
        assert await recover(opened, this_process("me", NOON), NOON + timedelta(days=1)) == 1
        await sleeper.settle(a_settlement(hold, Usage(fresh=1)))

    assert sums(store) == [(3_000, 0, 1, 0)]
    rolled = store.row("SELECT attempts, failed, estimated, cost_nano_usd, house_nano_usd, fresh, output FROM rollups")
    assert tuple(rolled.values()) == (1, 0, 0, 3_000, 0, 1, 0)


async def test_the_windows_that_have_not_ended_are_told_with_what_they_spent(store: Store, opened: AsyncEngine) -> None:
    ended = replace(window("old"), ends_at=NOON)
    hold = held_in(window("a", 10 * COST), ended)
    async with store.writer() as writer:
        await writer.hold(hold)
        await writer.settle(a_settlement(hold))
        await writer.hold(held_in(window("a", 10 * COST), window("b", None, 9000), attempt_id="att-2"))

    state = await windows.state(opened, datetime.now(UTC))

    assert [(row.id, row.spent_nano_usd, row.held_nano_usd) for row in state] == [("a", COST, COST), ("b", 0, COST)]
