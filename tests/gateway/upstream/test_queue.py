"""No more requests are with a deployment than it has slots, and none is forgotten."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.deployments import Queue
from gateway.errors import UpstreamBusy
from gateway.upstream.queue import Queues
from tests.fakes import deployment

if TYPE_CHECKING:
    from gateway.catalog.deployments import Deployment

PATIENT = 60.0


def queued(waiting: int = 64, seconds: float = PATIENT) -> Deployment:
    return replace(deployment("http://127.0.0.1:1/v1"), queue=Queue(1, waiting, seconds))


class Visitor:
    """Somebody who holds a slot until told to leave."""

    def __init__(self, queues: Queues, at: Deployment, slots: int | None = 1) -> None:
        self.inside = asyncio.Event()
        self.leave = asyncio.Event()
        self.task = asyncio.create_task(self._stay(queues, at, slots))

    async def _stay(self, queues: Queues, at: Deployment, slots: int | None) -> None:
        async with queues.enter(at, slots):
            self.inside.set()
            await self.leave.wait()


async def settle() -> None:
    """Let every task run as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_requests_that_came_and_went_between_two_questions_are_not_missed() -> None:
    queues, at = Queues(), queued()
    never = queues.was_busy("near")
    async with queues.enter(at, None):
        during = [queues.was_busy("near"), queues.was_busy("near")]
    async with queues.enter(at, None):
        pass

    assert (never, during) == (False, [True, True])
    assert [queues.was_busy("near"), queues.was_busy("near")] == [True, False]


async def test_the_next_one_comes_in_when_one_leaves_in_the_order_of_arrival() -> None:
    queues, at = Queues(), queued()
    first, second, third = (Visitor(queues, at) for _ in range(3))
    await settle()

    assert (queues.load("near"), second.inside.is_set()) == ((1, 2), False)
    first.leave.set()
    await settle()
    assert (queues.load("near"), second.inside.is_set(), third.inside.is_set()) == ((1, 1), True, False)

    second.leave.set()
    third.leave.set()
    await asyncio.gather(first.task, second.task, third.task)
    assert queues.load("near") == (0, 0)


async def test_without_slots_nobody_waits_but_all_are_counted() -> None:
    queues, at = Queues(), queued()
    visitors = [Visitor(queues, at, None) for _ in range(5)]
    await settle()

    assert queues.load("near") == (5, 0)
    for visitor in visitors:
        visitor.leave.set()
        await visitor.task
    assert (queues.load("near"), queues.load("unknown")) == ((0, 0), (0, 0))


async def test_a_full_queue_sends_on_with_a_time_to_come_back() -> None:
    queues, at = Queues(), queued(waiting=0)
    visitor = Visitor(queues, at)
    await settle()

    with pytest.raises(UpstreamBusy, match="its queue is full") as failure:
        async with queues.enter(at, 1):
            pytest.fail("there is no slot")

    assert (failure.value.status, failure.value.may_fall_back, failure.value.retry_after) == (503, True, "1")
    visitor.leave.set()
    await visitor.task


async def test_who_waited_long_enough_leaves_no_hole() -> None:
    queues = Queues()
    visitor = Visitor(queues, queued())
    await settle()

    with pytest.raises(UpstreamBusy, match="none fell free in time"):
        async with queues.enter(queued(seconds=0.01), 1):
            pytest.fail("there is no slot")

    assert queues.load("near") == (1, 0)
    visitor.leave.set()
    await visitor.task
    async with queues.enter(queued(), 1):
        assert queues.load("near") == (1, 0)


@pytest.mark.parametrize("granted", [False, True])
async def test_a_client_that_leaves_while_it_waits_leaves_no_hole(granted: bool) -> None:
    queues, at = Queues(), queued()
    first, second, third = (Visitor(queues, at) for _ in range(3))
    await settle()

    if granted:  # its slot falls free in the very turn in which it is cancelled
        first.leave.set()
        while queues.load("near") != (1, 1):
            await asyncio.sleep(0)
    second.task.cancel()
    first.leave.set()
    await settle()

    assert (second.task.cancelled(), third.inside.is_set(), queues.load("near")) == (True, True, (1, 0))
    third.leave.set()
    await asyncio.gather(first.task, third.task)


async def test_more_slots_let_more_in_at_once() -> None:
    queues, at = Queues(), queued()
    visitors = [Visitor(queues, at, 1) for _ in range(3)]
    await settle()

    visitors.append(Visitor(queues, at, 3))
    await settle()

    assert [visitor.inside.is_set() for visitor in visitors] == [True, True, True, False]
    for visitor in visitors:
        visitor.leave.set()
        await visitor.task


async def test_a_failure_inside_gives_the_slot_back() -> None:
    queues, at = Queues(), queued(waiting=0)
    for _ in range(2):
        with pytest.raises(ValueError, match="inside"):
            async with queues.enter(at, 1):
                raise ValueError("inside")

    assert queues.load("near") == (0, 0)


@given(
    slots=st.integers(1, 3),
    steps=st.lists(st.tuples(st.sampled_from(["come", "leave", "cancel"]), st.integers(0, 9)), max_size=40),
)
async def test_whoever_comes_and_goes_the_slots_are_kept_and_no_one_waits_beside_a_free_one(
    slots: int, steps: list[tuple[str, int]]
) -> None:
    queues, at = Queues(), queued()
    async with AsyncExitStack() as stack:
        visitors: list[Visitor] = []
        for step, who in steps:
            if step == "come":
                visitors.append(Visitor(queues, at, slots))
                stack.callback(visitors[-1].task.cancel)
            elif visitors:
                chosen = visitors[who % len(visitors)]
                chosen.task.cancel() if step == "cancel" else chosen.leave.set()
            await settle()
            running, waiting = queues.load("near")
            assert running <= slots
            assert waiting == 0 or running == slots
        for visitor in visitors:
            visitor.leave.set()
        await asyncio.gather(*(visitor.task for visitor in visitors), return_exceptions=True)
    assert queues.load("near") == (0, 0)


async def test_who_was_let_in_is_counted_whether_they_waited_or_not() -> None:
    queues, at = Queues(), queued()
    assert queues.let_in(at.name) == 0
    first = Visitor(queues, at)
    await first.inside.wait()
    second = Visitor(queues, at)
    await asyncio.sleep(0)
    assert queues.let_in(at.name) == 1
    first.leave.set()
    await second.inside.wait()
    second.leave.set()
    await asyncio.gather(first.task, second.task)

    assert (queues.let_in(at.name), queues.load(at.name)) == (2, (0, 0))
