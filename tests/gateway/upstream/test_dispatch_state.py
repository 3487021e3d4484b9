"""Dispatch looks at the state of a route's deployments: who rests, who is full, who sleeps, who said when."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from gateway.catalog.deployments import Limits, Queue, Wake
from gateway.errors import (
    UpstreamBusy,
    UpstreamQuotaExceeded,
    UpstreamRateLimited,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from gateway.upstream import dispatch
from gateway.upstream.clients import Outgoing
from gateway.upstream.clients.http import HttpClient
from gateway.upstream.dispatch import Call, Patience, Upstreams
from gateway.upstream.guard import Guard
from gateway.wire.shapes import CHAT, ChatShape
from policies.labels import PUBLIC
from tests.fakes import Ledger, deployment
from tests.wire.upstream import DONE, answer, completion, delta, fake_upstream, finish, stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gateway.catalog.deployments import Deployment
    from gateway.upstream.clients import Reply
    from tests.wire.upstream import Script

GOOD = stream(delta("Olá"), finish(), DONE)
# Said, not only done: a connection that is dropped unannounced may be taken once more.
CLOSE = {"Connection": "close"}
BROKEN = answer({}, status=500, headers=CLOSE)


@asynccontextmanager
async def ways_out(**more: object) -> AsyncIterator[Upstreams]:
    async with Guard() as guard:
        client = HttpClient(guard)
        yield replace(Upstreams(guard, http=client, quotes=client), **more)  # type: ignore[arg-type]  # named by tests


async def ask(upstreams: Upstreams, route: Sequence[Deployment], ledger: Ledger, *, streams: bool = True) -> str:
    """Who answers."""
    asked = Call(route, lambda at: Outgoing(at.name.encode(), PUBLIC, stream=streams), ledger.attempt)
    async with dispatch.answer(upstreams, asked) as begun:
        async for _ in begun.events or _nothing():
            pass
        return begun.deployment.name


async def _nothing() -> AsyncIterator[None]:
    return
    yield


def limited(seconds: str) -> Script:
    return answer({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": seconds, **CLOSE})


async def test_a_deployment_that_keeps_failing_is_passed_over() -> None:
    ledger = Ledger()
    async with fake_upstream(BROKEN) as one, fake_upstream(GOOD) as two, ways_out() as upstreams:
        route = [deployment(one.url, name="one"), deployment(two.url, name="two")]
        names = [await ask(upstreams, route, ledger) for _ in range(5)]

        assert (names, upstreams.cooldown.state("one")) == (["two"] * 5, "open")

    assert (len(one.requests), len(two.requests)) == (4, 5)


async def test_where_all_rest_they_are_asked_all_the_same() -> None:
    ledger = Ledger()
    async with fake_upstream(*[BROKEN] * 4, GOOD) as one, ways_out() as upstreams:
        route = [deployment(one.url, name="one")]
        for _ in range(2):
            with pytest.raises(UpstreamUnavailable):
                await ask(upstreams, route, ledger)
        assert upstreams.cooldown.state("one") == "open"

        assert await ask(upstreams, route, ledger) == "one"
        assert upstreams.cooldown.state("one") == "closed"


async def test_answers_that_are_cut_in_the_middle_count_as_failures() -> None:
    async with fake_upstream(GOOD) as one, ways_out() as upstreams:
        asked = Call([deployment(one.url)], lambda at: Outgoing(b"{}", PUBLIC, stream=True), Ledger().attempt)
        for _ in range(3):
            with pytest.raises(UpstreamUnavailable):
                async with dispatch.answer(upstreams, asked):
                    raise UpstreamUnavailable("the relay saw no end")

        assert upstreams.cooldown.state("near") == "open"


@pytest.mark.parametrize("streams", [True, False])
async def test_a_deployment_that_is_back_soon_is_waited_for_where_no_other_is_left(streams: bool) -> None:
    ledger = Ledger()
    good = GOOD if streams else answer(completion())
    async with fake_upstream(limited("1"), good) as one, ways_out() as upstreams:
        assert await ask(upstreams, [deployment(one.url)], ledger, streams=streams) == "near"

    assert [(held.ordinal, settled.outcome) for held, settled in zip(ledger.held, ledger.settled, strict=True)] == [
        (1, "refused"),
        (2, "ok"),
    ]


async def test_another_deployment_is_asked_before_anybody_waits() -> None:
    async with fake_upstream(limited("1")) as one, fake_upstream(GOOD) as two, ways_out() as upstreams:
        route = [deployment(one.url, name="one"), deployment(two.url, name="two")]

        assert [await ask(upstreams, route, Ledger()) for _ in range(2)] == ["two", "two"]

    assert len(one.requests) == 1


@pytest.mark.parametrize("seconds", ["30", "Wed, 21 Oct 2126 07:28:00 GMT"])
async def test_a_deployment_that_is_back_late_is_not_waited_for_and_its_time_is_told(seconds: str) -> None:
    async with fake_upstream(limited(seconds)) as one, ways_out() as upstreams:
        with pytest.raises(UpstreamRateLimited) as failure:
            await ask(upstreams, [deployment(one.url)], Ledger())

    assert (failure.value.retry_after, len(one.requests)) == (seconds, 1)


async def test_it_is_waited_for_once_only() -> None:
    async with fake_upstream(limited("1")) as one, ways_out() as upstreams:
        with pytest.raises(UpstreamRateLimited):
            await ask(upstreams, [deployment(one.url)], Ledger())

    assert len(one.requests) == 2


async def test_an_account_without_quota_is_not_waited_for() -> None:
    empty = answer({"error": {"code": "insufficient_quota"}}, status=429, headers={"Retry-After": "1"})
    async with fake_upstream(empty) as one, ways_out() as upstreams:
        with pytest.raises(UpstreamQuotaExceeded):
            await ask(upstreams, [deployment(one.url)], Ledger())

    assert len(one.requests) == 1


async def test_while_a_deployment_has_named_its_time_one_request_at_a_time_asks_it() -> None:
    ledger = Ledger()
    async with fake_upstream(limited("30"), stream(delta("a"), ending="hang")) as one, ways_out() as upstreams:
        route = [deployment(one.url)]
        with pytest.raises(UpstreamRateLimited):
            await ask(upstreams, route, ledger)
        one.asked.clear()
        await upstreams.cooldown.takes_trial("near")
        with pytest.raises(UpstreamRateLimited, match="rate limit") as failure:
            await ask(upstreams, route, ledger)

    assert int(failure.value.retry_after or 0) in (29, 30)
    assert len(one.requests) == len(ledger.held) == 1


async def test_one_that_asks_earlier_all_the_same_may_be_answered() -> None:
    async with fake_upstream(limited("30"), GOOD) as one, ways_out() as upstreams:
        route = [deployment(one.url)]
        with pytest.raises(UpstreamRateLimited):
            await ask(upstreams, route, Ledger())

        assert await ask(upstreams, route, Ledger()) == "near"
        assert upstreams.cooldown.state("near") == "closed"


async def test_no_more_requests_are_under_way_than_there_are_slots() -> None:
    ledger, open_slot = Ledger(), stream(delta("a"), ending="hang")
    async with fake_upstream(open_slot, GOOD) as one, ways_out() as upstreams:
        route = [replace(deployment(one.url), queue=Queue(1, 64, 60.0))]
        first = asyncio.create_task(ask(upstreams, route, ledger))
        await asyncio.wait_for(one.asked.wait(), 5)
        second = asyncio.create_task(ask(upstreams, route, ledger))
        while upstreams.queues.load("near") != (1, 1):
            await asyncio.sleep(0.01)
        assert len(ledger.held) == 1  # who waits holds no money

        first.cancel()
        assert await second == "near"
        assert upstreams.queues.load("near") == (0, 0)

    assert len(one.requests) == 2


async def test_a_full_queue_goes_on_to_the_next_deployment() -> None:
    async with fake_upstream(GOOD) as one, fake_upstream(GOOD) as two, ways_out() as upstreams:
        full = replace(deployment(one.url, name="one"), queue=Queue(1, 0, 60.0))
        async with upstreams.queues.enter(full, 1):
            assert await ask(upstreams, [full, deployment(two.url, name="two")], Ledger()) == "two"
            with pytest.raises(UpstreamBusy):
                await ask(upstreams, [full], Ledger())

        assert upstreams.cooldown.state("one") == "closed"
    assert one.requests == []


async def test_slots_that_a_probe_read_hold_too() -> None:
    async with fake_upstream(GOOD) as one, ways_out(slots=lambda _: 1) as upstreams:
        at = replace(deployment(one.url), queue=Queue(None, 0, 60.0))
        async with upstreams.queues.enter(at, 1):
            with pytest.raises(UpstreamBusy):
                await ask(upstreams, [at], Ledger())


@dataclass
class FakeWaking:
    """Wakes by telling a server's place."""

    started: list[str] = field(default_factory=list)
    awaited: list[str] = field(default_factory=list)
    up: asyncio.Event = field(default_factory=asyncio.Event)
    fails: bool = False

    async def wake(self, deployment: Deployment) -> None:
        self.awaited.append(deployment.name)
        if self.fails:
            raise UpstreamUnavailable("it did not wake")
        await self.up.wait()

    def start(self, deployment: Deployment) -> None:
        self.started.append(deployment.name)


def sleeper(url: str) -> Deployment:
    return replace(deployment(url, name="sleeper"), wake=Wake(("true",), None, 60.0))


async def asleep_url() -> str:
    async with fake_upstream() as gone:
        return gone.url


async def test_a_sleeping_deployment_is_woken_while_another_answers() -> None:
    waking = FakeWaking()
    url = await asleep_url()
    async with fake_upstream(GOOD) as two, ways_out(waking=waking) as upstreams:
        assert await ask(upstreams, [sleeper(url), deployment(two.url, name="two")], Ledger()) == "two"

    assert (waking.started, waking.awaited) == (["sleeper"], [])


@pytest.mark.parametrize("others", [0, 1])
async def test_a_sleeping_deployment_that_is_the_last_hope_is_waited_for_and_asked_again(others: int) -> None:
    waking, ledger = FakeWaking(), Ledger()
    async with fake_upstream(GOOD) as late, fake_upstream(BROKEN) as broken, ways_out(waking=waking) as upstreams:
        at = replace(sleeper(await asleep_url()), limits=Limits(connect=5.0, first_byte=5.0, idle=5.0))
        client = HttpClient(upstreams.guard)
        asking = asyncio.create_task(
            ask(
                replace(upstreams, http=_Moving(client, at, late.url, waking.up)),
                [at, *[deployment(broken.url, name="broken")] * others],
                ledger,
            )
        )
        while not waking.awaited:
            await asyncio.sleep(0.01)
        waking.up.set()
        assert await asking == "sleeper"

    assert ledger.settled[-1].outcome == "ok"


@dataclass
class _Moving:
    """A client that finds the sleeper once it is up."""

    client: HttpClient
    sleeper: Deployment
    url: str
    up: asyncio.Event

    @asynccontextmanager
    async def send(self, deployment: Deployment, outgoing: Outgoing) -> AsyncIterator[Reply]:
        if deployment.name == self.sleeper.name and self.up.is_set():
            deployment = replace(deployment, base_url=self.url)
        async with self.client.send(deployment, outgoing) as reply:
            yield reply


async def test_a_deployment_that_does_not_wake_is_the_failure() -> None:
    async with ways_out(waking=FakeWaking(fails=True)) as upstreams:
        with pytest.raises(UpstreamUnavailable, match="did not wake"):
            await ask(upstreams, [sleeper(await asleep_url())], Ledger())


async def test_waking_takes_no_longer_than_the_request_may() -> None:
    async with ways_out(waking=FakeWaking(), patience=Patience(seconds=2.0)) as upstreams:
        with pytest.raises(UpstreamTimeout, match="not awake in time"):
            await ask(upstreams, [sleeper(await asleep_url())], Ledger())


async def test_a_deployment_that_answers_with_an_error_is_awake() -> None:
    waking = FakeWaking()
    async with fake_upstream(BROKEN) as one, ways_out(waking=waking) as upstreams:
        with pytest.raises(UpstreamUnavailable, match="status 500"):
            await ask(upstreams, [sleeper(one.url)], Ledger())

    assert (waking.started, waking.awaited) == ([], [])


async def test_an_engine_has_its_own_client_and_anthropic_its_own_endpoint_by_http() -> None:
    messages = shape_at("/messages")
    async with Guard() as guard:
        http, quotes, child = HttpClient(guard), HttpClient(guard), HttpClient(guard)
        upstreams = Upstreams(guard, http, quotes, others={"litellm": child, "anthropic": child})
        asked = {
            (engine, shape.path): upstreams.client(replace(deployment("http://near/v1"), engine=engine), shape)
            for engine in ("vllm", "quotes", "litellm", "anthropic")
            for shape in (CHAT, messages)
        }

    assert asked["vllm", CHAT.path] is http
    assert asked["quotes", CHAT.path] is quotes
    assert asked["litellm", CHAT.path] is asked["litellm", "/messages"] is asked["anthropic", CHAT.path] is child
    assert asked["anthropic", "/messages"] is http


def shape_at(path: str) -> ChatShape:
    """A shape like the chat's at another path."""
    shape = ChatShape()
    shape.path = path
    return shape
