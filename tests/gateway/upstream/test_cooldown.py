"""A deployment that fails rests for a while, and one request finds out whether it is back, over all processes."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from redis.asyncio import Redis

from gateway.errors import (
    UpstreamBusy,
    UpstreamContextExceeded,
    UpstreamCut,
    UpstreamError,
    UpstreamRateLimited,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
    UpstreamUnfit,
)
from gateway.upstream.cooldown import Cooldown
from tests.wire.valkey import valkey

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

BROKEN = UpstreamUnavailable("it failed")


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def passes(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


async def break_down(cooldown: Cooldown, name: str = "near") -> None:
    for _ in range(3):
        await cooldown.failed(name, BROKEN)


async def test_three_failures_in_a_row_open_and_a_success_between_starts_anew() -> None:
    cooldown = Cooldown()
    for _ in range(2):
        await cooldown.failed("near", BROKEN)
    await cooldown.succeeded("near")
    for _ in range(2):
        await cooldown.failed("near", BROKEN)

    assert (cooldown.state("near"), await cooldown.admits("near")) == ("closed", True)
    await cooldown.failed("near", BROKEN)
    assert (cooldown.state("near"), await cooldown.admits("near"), cooldown.state("far")) == ("open", False, "closed")


async def test_after_its_rest_one_request_at_a_time_tries_it() -> None:
    clock = Clock()
    cooldown = Cooldown(now=clock)
    await break_down(cooldown)
    clock.passes(5)

    assert cooldown.state("near") == "half_open"
    assert [await cooldown.admits("near") for _ in range(3)] == [True, False, False]
    async with cooldown.trying("near"):
        pass
    assert (cooldown.state("near"), await cooldown.admits("near")) == ("closed", True)


async def test_a_trial_that_fails_doubles_the_rest_up_to_a_limit() -> None:
    clock = Clock()
    cooldown = Cooldown(now=clock)
    await break_down(cooldown)
    rests = [cooldown.remaining("near")]

    for _ in range(8):
        clock.passes(cooldown.remaining("near"))
        assert await cooldown.admits("near")
        with pytest.raises(UpstreamUnavailable):
            async with cooldown.trying("near"):
                raise BROKEN
        rests.append(cooldown.remaining("near"))

    assert rests == [5, 10, 20, 40, 80, 160, 300, 300, 300]


async def test_failures_during_a_rest_do_not_prolong_it() -> None:
    clock = Clock()
    cooldown = Cooldown(now=clock)
    await break_down(cooldown)

    clock.passes(2)
    await break_down(cooldown)

    assert cooldown.remaining("near") == 3


@pytest.mark.parametrize("ending", [asyncio.CancelledError, GeneratorExit, KeyError])
async def test_a_trial_that_says_nothing_of_the_deployment_leaves_it_to_the_next(ending: type[BaseException]) -> None:
    clock = Clock()
    cooldown = Cooldown(now=clock)
    await break_down(cooldown)
    clock.passes(5)

    assert await cooldown.admits("near")
    with pytest.raises(ending):
        async with cooldown.trying("near"):
            raise ending

    assert (cooldown.state("near"), await cooldown.admits("near")) == ("half_open", True)


@pytest.mark.parametrize("kind", [UpstreamRateLimited, UpstreamUnavailable])
async def test_a_deployment_that_names_its_time_rests_until_then_and_is_taken_at_its_word(
    kind: type[UpstreamError],
) -> None:
    clock = Clock()
    cooldown = Cooldown(now=clock)

    await cooldown.failed("near", kind("later", retry_after="30"))

    assert (cooldown.state("near"), cooldown.named_time("near"), cooldown.remaining("near")) == ("open", True, 30)
    clock.passes(10.5)
    refusal = cooldown.refusal("near")
    assert (type(refusal), refusal.retry_after) == (kind, "20")
    clock.passes(20)
    assert (cooldown.state("near"), [await cooldown.admits("near") for _ in range(2)]) == ("closed", [True, True])


async def test_a_time_far_away_is_not_waited_for_unheard() -> None:
    cooldown = Cooldown(now=Clock())

    await cooldown.failed("near", UpstreamRateLimited("later", retry_after="864000"))

    assert cooldown.remaining("near") == 3600


@pytest.mark.parametrize(
    "error",
    [
        UpstreamRefused("the request is wrong", status=400),
        UpstreamContextExceeded("too long", status=400),
        UpstreamBusy("our own queue", retry_after="9"),
        UpstreamUnfit("the model's words"),
    ],
)
async def test_what_is_not_the_deployments_fault_is_not_held_against_it(error: UpstreamError) -> None:
    cooldown = Cooldown()
    for _ in range(5):
        await cooldown.failed("near", error)

    assert cooldown.state("near") == "closed"


def _refused_key() -> UpstreamError:
    error = UpstreamRefused("the key", status=401)
    error.may_fall_back = True
    return error


@pytest.mark.parametrize("make", [lambda: UpstreamCut("x"), lambda: UpstreamTimeout("x"), _refused_key])
async def test_what_is_the_deployments_fault_counts(make: Callable[[], UpstreamError]) -> None:
    cooldown = Cooldown()
    for _ in range(3):
        await cooldown.failed("near", make())

    assert cooldown.state("near") == "open"


@asynccontextmanager
async def process(socket: Path, clock: Clock) -> AsyncIterator[Cooldown]:
    """The cooldown of one gateway process, which listens to the others."""
    store = Redis.from_url(f"unix://{socket}")
    cooldown = Cooldown(store, clock)
    listening = asyncio.create_task(cooldown.listen())
    try:
        yield cooldown
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await store.aclose()


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(400):
        if holds():
            return
        await asyncio.sleep(0.02)
    pytest.fail("it does not come to be")


async def listeners(store: Redis, count: int) -> None:
    while (await store.pubsub_numsub("soleira:cooldown"))[0][1] < count:
        await asyncio.sleep(0.02)


async def test_all_processes_rest_together_share_one_trial_and_go_on_together(tmp_path: Path) -> None:
    clock, socket = Clock(), tmp_path / "v.sock"
    async with valkey(socket) as store, process(socket, clock) as here, process(socket, clock) as there:
        await listeners(store, 2)

        await break_down(here)
        await until(lambda: there.state("near") == "open")

        clock.passes(5)
        assert [await there.admits("near"), await here.admits("near")] == [True, False]
        async with there.trying("near"):
            pass
        await until(lambda: here.state("near") == "closed")


async def test_a_process_that_starts_later_knows_who_rests_and_for_how_long_next(tmp_path: Path) -> None:
    clock, socket = Clock(), tmp_path / "v.sock"
    async with valkey(socket), process(socket, clock) as here:
        await break_down(here)

        async with process(socket, clock) as late:
            await until(lambda: late.state("near") == "open")
            clock.passes(5)
            await late.failed("near", BROKEN)

            assert late.remaining("near") == 10
            await until(lambda: here.remaining("near") == 10)


async def test_a_trial_is_given_back_to_the_other_process_too(tmp_path: Path) -> None:
    clock, socket = Clock(), tmp_path / "v.sock"
    async with valkey(socket) as store, process(socket, clock) as here, process(socket, clock) as there:
        await listeners(store, 2)
        await break_down(here)
        await until(lambda: there.state("near") == "open")
        clock.passes(5)

        assert await here.admits("near")
        assert not await there.admits("near")
        with pytest.raises(asyncio.CancelledError):
            async with here.trying("near"):
                raise asyncio.CancelledError

        assert await there.admits("near")


async def test_without_the_store_each_process_has_its_own_memory(tmp_path: Path) -> None:
    clock = Clock()
    async with process(tmp_path / "none.sock", clock) as cooldown:
        await break_down(cooldown)
        assert cooldown.state("near") == "open"

        clock.passes(5)
        assert [await cooldown.admits("near"), await cooldown.admits("near")] == [True, False]
        async with cooldown.trying("near"):
            pass
        assert cooldown.state("near") == "closed"


async def test_nonsense_on_the_channel_and_clocks_that_run_ahead_do_no_harm(tmp_path: Path) -> None:
    clock, socket = Clock(), tmp_path / "v.sock"
    async with valkey(socket) as store, process(socket, clock) as here:
        await listeners(store, 1)
        await store.publish("soleira:cooldown", b"\xff no json")
        await store.publish("soleira:cooldown", b'{"name": "near", "until": 99999999999, "seconds": 5}')

        await until(lambda: here.state("near") == "open")
        assert here.remaining("near") == 3600


async def test_a_healthy_deployment_costs_no_word_with_the_store(tmp_path: Path) -> None:
    async with valkey(tmp_path / "v.sock") as store:
        cooldown = Cooldown(store, Clock())
        before = (await store.info("stats"))["total_commands_processed"]
        for _ in range(5):
            assert await cooldown.admits("near")
            async with cooldown.trying("near"):
                pass
        after = (await store.info("stats"))["total_commands_processed"]

    assert after - before == 1  # the question itself


async def test_without_a_store_there_is_nobody_to_listen_to() -> None:
    await asyncio.wait_for(Cooldown().listen(), 5)
