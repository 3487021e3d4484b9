"""Rate limits hold over all processes, tell the truth in their headers, and lose nothing when a process dies."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from gateway.errors import RateLimitExceeded
from gateway.ledger.entries import Account
from gateway.ledger.limits import Grant, Limits
from gateway.ledger.quotas import most_tokens
from gateway.settings import ROOT
from policies.budgets import Budgets, Rate, RateLimit, Subject, own_limits
from tests.gateway.ledger.limit_process import LEASE_SECONDS, PATIENT
from tests.gateway.ledger.packs import a_pack
from tests.wire.valkey import valkey

ANA = Account("ana", groups=frozenset({"adults", "family"}))
NO_LIMITS = a_pack(Budgets())
MINUTE = 60


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["shared", "alone"])
async def limits(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[Limits]:
    """The same limits over a store and without one."""
    if request.param == "alone":
        yield Limits(now=clock)
        return
    async with valkey(tmp_path / "valkey.sock") as store:
        yield Limits(store, store_seconds=PATIENT, now=clock)


async def ask(limits: Limits, size: int = 0, /, used: int | None = None, **own: Any) -> Grant:
    """One request of ana's from its beginning to its end."""
    async with limits.enter(NO_LIMITS, own_limits("ana", **own), ANA, size) as grant:
        if used is not None:
            grant.used(used)
        return grant


async def test_no_stretch_of_a_minute_sees_more_requests_than_the_limit(limits: Limits, clock: Clock) -> None:
    admitted: list[float] = []
    for _ in range(100):
        clock.now += 3
        try:
            await ask(limits, requests="4/minute")
        except RateLimitExceeded as error:
            clock.now += int(error.retry_after or 0) - 3
        else:
            admitted.append(clock.now)

    assert len(admitted) > 20
    assert all(later - earlier >= MINUTE for earlier, later in zip(admitted, admitted[4:], strict=False))


async def test_who_waits_as_long_as_told_is_let_in(limits: Limits, clock: Clock) -> None:
    for _ in range(3):
        await ask(limits, requests="3/hour")
        clock.now += 700

    with pytest.raises(RateLimitExceeded) as told:
        await ask(limits, requests="3/hour")
    assert told.value.retry_after is not None
    clock.now += int(told.value.retry_after)

    await ask(limits, requests="3/hour")


async def test_headers_and_refusals_say_how_the_limits_stand(limits: Limits) -> None:
    first = await ask(limits, 400, requests="2/minute", tokens="1000/minute")
    await ask(limits, 400, requests="2/minute", tokens="1000/minute")
    with pytest.raises(RateLimitExceeded) as told:
        await ask(limits, 100, requests="2/minute", tokens="1000/minute")

    headers = first.headers()
    assert (headers["x-ratelimit-limit-requests"], headers["x-ratelimit-remaining-requests"]) == ("2", "1")
    assert (headers["x-ratelimit-limit-tokens"], headers["x-ratelimit-remaining-tokens"]) == ("1000", "600")
    assert headers["x-ratelimit-reset-requests"] == headers["x-ratelimit-reset-tokens"] == "1m1s"
    refused = told.value
    assert (refused.status, refused.code, refused.retry_after) == (429, "rate_limit_exceeded", "61")
    assert refused.all_headers()["retry-after"] == "61"
    assert refused.headers["x-ratelimit-remaining-requests"] == "0"
    assert refused.headers["x-ratelimit-remaining-tokens"] == "200"
    assert str(refused) == "key 'ana' may have 2 requests a minute, of which 0 are left: try again in 61 s"


async def test_a_refused_request_counts_on_none_of_its_limits(limits: Limits) -> None:
    await ask(limits, 900, requests="5/minute", tokens="1000/minute")
    for _ in range(9):
        with pytest.raises(RateLimitExceeded, match="1000 tokens a minute, of which 100 are left"):
            await ask(limits, 101, requests="5/minute", tokens="1000/minute", concurrency=1)

    last = await ask(limits, 100, requests="5/minute", tokens="1000/minute", concurrency=1)

    assert last.headers()["x-ratelimit-remaining-requests"] == "3"
    assert last.headers()["x-ratelimit-remaining-tokens"] == "0"


@pytest.mark.parametrize(("used", "left"), [(50, 850), (0, 900), (300, 600)])
async def test_tokens_count_as_used_and_not_as_reserved_once_that_is_known(
    limits: Limits, used: int, left: int
) -> None:
    await ask(limits, 200, used=used, tokens="1000/minute")

    grant = await ask(limits, 100, tokens="1000/minute")

    assert grant.headers()["x-ratelimit-remaining-tokens"] == str(left)


async def test_what_is_made_good_late_does_not_change_the_next_minute(limits: Limits, clock: Clock) -> None:
    async with limits.enter(NO_LIMITS, own_limits("ana", tokens="1000/minute"), ANA, 800) as grant:
        clock.now += 10 * MINUTE
        grant.used(1)

    following = await ask(limits, 1000, tokens="1000/minute")

    assert following.headers()["x-ratelimit-remaining-tokens"] == "0"
    with pytest.raises(RateLimitExceeded):
        await ask(limits, 1, tokens="1000/minute")


async def test_a_request_that_never_fits_is_told_to_ask_for_less(limits: Limits) -> None:
    with pytest.raises(RateLimitExceeded, match="1000 tokens a minute, and this request alone may use 1001") as told:
        await ask(limits, 1001, tokens="1000/minute")

    assert told.value.all_headers()["x-should-retry"] == "false"
    assert told.value.retry_after is None
    await ask(limits, 1000, tokens="1000/minute")


async def test_as_many_calls_as_allowed_are_under_way_at_once(limits: Limits) -> None:
    own = own_limits("ana", concurrency=2)
    async with limits.enter(NO_LIMITS, own, ANA, 0):
        async with limits.enter(NO_LIMITS, own, ANA, 0):
            with pytest.raises(RateLimitExceeded, match="2 calls under way at once, and has them") as told:
                await ask(limits, concurrency=2)
        await ask(limits, concurrency=2)

    assert told.value.retry_after == "1"


@pytest.mark.parametrize("failure", [ValueError, asyncio.CancelledError])
async def test_a_call_that_fails_or_is_cancelled_gives_its_place_back(
    limits: Limits, failure: type[BaseException]
) -> None:
    for _ in range(5):
        with pytest.raises(failure):
            async with limits.enter(NO_LIMITS, own_limits("ana", concurrency=1), ANA, 0):
                raise failure

    await ask(limits, concurrency=1)


async def test_calls_cancelled_while_they_enter_leak_nothing(tmp_path: Path) -> None:
    own = own_limits("ana", concurrency=3)
    async with valkey(tmp_path / "valkey.sock") as store:
        limits = Limits(store, store_seconds=PATIENT)

        async def enter(after: int) -> None:
            async with limits.enter(NO_LIMITS, own, ANA, 0):
                await asyncio.sleep(after)

        for steps in range(30):
            task = asyncio.create_task(enter(60))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        async with AsyncExitStack() as stack:
            for _ in range(3):
                await stack.enter_async_context(limits.enter(NO_LIMITS, own, ANA, 0))
            with pytest.raises(RateLimitExceeded):
                await ask(limits, concurrency=3)


async def test_limits_of_keys_groups_and_the_house_all_hold_and_the_lower_of_two_wins(limits: Limits) -> None:
    pack = a_pack(
        Budgets(
            limits=(
                RateLimit(Subject("house"), requests=Rate(9, 60)),
                RateLimit(Subject("group"), requests=Rate(8, 60)),
                RateLimit(Subject("group", "children"), requests=Rate(1, 60)),
                RateLimit(Subject("key"), requests=Rate(7, 60)),
                RateLimit(Subject("tag"), requests=Rate(1, 60)),
            )
        )
    )

    async with limits.enter(pack, own_limits("ana", requests="3/minute"), ANA, 0) as grant:
        shown = grant.headers()

    assert sorted((quota.whose, quota.limit) for quota in grant.quotas) == [
        ("group 'adults'", 8),
        ("group 'family'", 8),
        ("key 'ana'", 3),
        ("the house", 9),
    ]
    assert (shown["x-ratelimit-limit-requests"], shown["x-ratelimit-remaining-requests"]) == ("3", "2")


async def test_two_periods_of_one_key_are_counted_apart(limits: Limits) -> None:
    pack = a_pack(Budgets(limits=(RateLimit(Subject("key"), requests=Rate(2, 1)),)))

    for _ in range(2):
        async with limits.enter(pack, own_limits("ana", requests="9/day"), ANA, 0) as grant:
            pass

    assert [(reading.used, quota.limit) for quota, reading in zip(grant.quotas, grant.readings, strict=True)] == [
        (2, 2),
        (2, 9),
    ]


async def test_without_a_limit_nothing_is_asked_and_nothing_said(clock: Clock) -> None:
    store = Redis.from_url("unix:///nowhere/valkey.sock")

    async with Limits(store, now=clock).enter(NO_LIMITS, (), ANA, 10**9) as grant:
        grant.used(5)
    await store.aclose()

    assert grant.headers() == {}
    assert most_tokens(Budgets(), (), ANA) is None
    assert most_tokens(Budgets(), own_limits("ana", tokens="70/minute", requests="1/day"), ANA) == 70


async def test_a_renewed_lease_holds_and_one_that_nobody_renews_ends(tmp_path: Path, clock: Clock) -> None:
    own = own_limits("ana", concurrency=1)
    async with valkey(tmp_path / "valkey.sock") as store:
        here, there = (Limits(store, lease_seconds=30, store_seconds=PATIENT, now=clock) for _ in "ab")
        async with here.enter(NO_LIMITS, own, ANA, 0):
            for _ in range(5):
                clock.now += 20
                await here.renew()
                with pytest.raises(RateLimitExceeded):
                    await ask(there, concurrency=1)
            clock.now += 31

            await ask(there, concurrency=1)

        await here.renew()
        await ask(there, concurrency=1)


async def test_a_store_that_starts_anew_hears_of_the_calls_under_way(tmp_path: Path, clock: Clock) -> None:
    own = own_limits("ana", concurrency=1)
    async with valkey(tmp_path / "valkey.sock") as store:
        here, there = (Limits(store, store_seconds=PATIENT, now=clock) for _ in "ab")
        async with here.enter(NO_LIMITS, own, ANA, 0):
            await store.flushall()
            await here.renew()

            with pytest.raises(RateLimitExceeded):
                await ask(there, concurrency=1)


async def test_while_the_store_is_away_a_process_counts_for_itself_and_says_so_once(tmp_path: Path) -> None:
    socket = tmp_path / "valkey.sock"
    store = Redis.from_url(f"unix://{socket}")
    limits = Limits(store, store_seconds=PATIENT)
    async with valkey(socket):
        await ask(limits, requests="3/day", concurrency=1)
    await store.connection_pool.disconnect()

    with capture_logs() as logs:
        await ask(limits, requests="3/day", concurrency=1)
        async with limits.enter(NO_LIMITS, own_limits("ana", concurrency=1), ANA, 0):
            with pytest.raises(RateLimitExceeded, match="calls under way"):
                await ask(limits, requests="3/day", concurrency=1)
        await ask(limits, requests="3/day", concurrency=1)
        with pytest.raises(RateLimitExceeded, match="3 requests a day"):
            await ask(limits, requests="3/day", concurrency=1)

    await store.aclose()
    assert [entry["event"] for entry in logs] == ["limits_not_shared"]


async def test_a_store_that_is_back_is_counted_on_again(tmp_path: Path) -> None:
    socket = tmp_path / "valkey.sock"
    store = Redis.from_url(f"unix://{socket}")
    limits = Limits(store, store_seconds=PATIENT, away_seconds=0)
    with capture_logs() as logs:
        await ask(limits, requests="1/day")

        async with valkey(socket):
            first = await ask(limits, requests="1/day")
            kept = await store.keys()
    await store.aclose()

    assert first.shared
    assert kept == [b"soleira:{limits}:key:ana:requests:86400"]
    assert [entry["event"] for entry in logs] == ["limits_not_shared", "limits_shared_again"]


class Process:
    """A process of its own that asks for calls."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def hear(self) -> str:
        assert self._process.stdout is not None
        return (await asyncio.wait_for(self._process.stdout.readline(), 60)).decode().strip()

    def tell(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n".encode())

    async def kill(self) -> None:
        self._process.kill()
        await self._process.wait()


@asynccontextmanager
async def processes(socket: Path, calls: int, own: Mapping[str, Any]) -> AsyncIterator[list[Process]]:
    command = ("-m", "tests.gateway.ledger.limit_process", str(socket), str(calls), json.dumps(own))
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable, *command, cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        for _ in range(2)
    ]
    try:
        found = [Process(process) for process in started]
        assert [await process.hear() for process in found] == ["ready", "ready"]
        yield found
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def admitted_at_once(started: list[Process]) -> list[int]:
    for process in started:
        process.tell("go")
    return [json.loads(await process.hear())["admitted"] for process in started]


@pytest.mark.parametrize("own", [{"concurrency": 7}, {"requests": "7/day"}, {"tokens": "70/day"}])
async def test_fifty_requests_at_once_from_two_processes_find_exactly_the_limit(
    tmp_path: Path, own: dict[str, Any]
) -> None:
    async with valkey(tmp_path / "valkey.sock"), processes(tmp_path / "valkey.sock", 25, own) as started:
        first = await admitted_at_once(started)
        again = await admitted_at_once(started)

    assert sum(first) == 7
    assert sum(again) == 0


async def test_the_calls_of_a_killed_process_end_and_those_of_a_living_one_do_not(tmp_path: Path) -> None:
    socket, own = tmp_path / "valkey.sock", {"concurrency": 40}
    async with valkey(socket) as store, processes(socket, 15, own) as started:
        killed, living = started
        assert await admitted_at_once(started) == [15, 15]

        await killed.kill()

        limits = Limits(store, lease_seconds=LEASE_SECONDS, store_seconds=PATIENT)
        free = await eventually(lambda: how_many(limits, 40), at_least=25)
        living.tell("leave")
        assert await living.hear() == "left after leave"
        assert (free, await how_many(limits, 40)) == (25, 40)
        assert await store.zcard("soleira:{limits}:key:ana:calls:0") == 0


async def how_many(limits: Limits, most: int) -> int:
    """How many calls find a place now; they are ended again."""
    async with AsyncExitStack() as stack:
        for count in range(most + 1):
            try:
                await stack.enter_async_context(limits.enter(NO_LIMITS, own_limits("ana", concurrency=most), ANA, 0))
            except RateLimitExceeded:
                return count
    pytest.fail("more calls found a place than the limit allows")


async def eventually(count: Callable[[], Any], at_least: int) -> int:
    for _ in range(600):
        found: int = await count()
        if found >= at_least:
            return found
        await asyncio.sleep(0.1)
    pytest.fail("it never came to that")
