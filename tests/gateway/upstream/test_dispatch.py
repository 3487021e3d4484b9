"""One answer comes out of a route; every attempt is settled once."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from gateway.catalog.deployments import Limits
from gateway.errors import (
    BudgetExceeded,
    LabelExceedsClearance,
    UpstreamCut,
    UpstreamError,
    UpstreamRateLimited,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from gateway.upstream import dispatch
from gateway.upstream.clients import Outgoing
from gateway.upstream.clients.http import HttpClient
from gateway.upstream.dispatch import Call, Patience, Upstreams
from gateway.upstream.guard import Guard
from gateway.wire.lanes import Usage
from policies.labels import PRIVATE, PUBLIC, Label
from tests.fakes import DEVICE, ESTIMATE, NEAR_HOSTED, Ledger, deployment
from tests.wire.sink import recording_sink
from tests.wire.upstream import (
    DONE,
    Script,
    Upstream,
    answer,
    bytewise,
    completion,
    delta,
    fake_upstream,
    finish,
    stream,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gateway.catalog.deployments import Deployment

GOOD = stream(delta("Olá"), finish(), DONE)


@asynccontextmanager
async def ways_out(patience: Patience = Patience()) -> AsyncIterator[Upstreams]:  # noqa: B008 - frozen
    async with Guard() as guard:
        client = HttpClient(guard)
        yield Upstreams(guard, http=client, quotes=client, patience=patience)


def call(route: Sequence[Deployment], ledger: Ledger, *, streams: bool = True, label: Label = PUBLIC) -> Call:
    return Call(route, lambda at: Outgoing(at.name.encode(), label, stream=streams), ledger.attempt)


async def told(upstreams: Upstreams, asked: Call) -> tuple[str, bytes]:
    """The name of the deployment that answered and all that it said."""
    async with dispatch.answer(upstreams, asked) as begun:
        if begun.events is None:
            return begun.deployment.name, begun.body or b""
        return begun.deployment.name, b"".join([event.raw async for batch in begun.events for event in batch])


async def first_then_second(
    first: Script, second: Script = GOOD, *, streams: bool = True
) -> tuple[str, Upstream, Ledger]:
    """Try two deployments and tell who answered."""
    ledger = Ledger()
    async with fake_upstream(first) as one, fake_upstream(second) as two, ways_out() as upstreams:
        route = [deployment(one.url, name="one"), deployment(two.url, name="two")]
        name, _ = await told(upstreams, call(route, ledger, streams=streams))
    return name, one, ledger


async def test_a_stream_comes_as_the_upstream_wrote_it() -> None:
    ledger = Ledger()
    async with fake_upstream(bytewise(GOOD)) as upstream, ways_out() as upstreams:
        name, said = await told(upstreams, call([deployment(upstream.url)], ledger))

    assert (name, said) == ("near", b"".join(GOOD.pieces[1:]))
    assert upstream.requests[0].body == b"near"
    assert [settled.outcome for settled in ledger.settled] == ["ok"]


async def test_a_last_event_without_its_blank_line_is_handed_on_and_half_an_event_is_not() -> None:
    for tail, last in ((b"data: [DONE]", b"data: [DONE]"), (b'data: {"choices": [', b"data: 1")):
        script = stream(delta("a"), b"data: 1\n\n", tail)
        async with fake_upstream(script) as upstream, ways_out() as upstreams:
            _, said = await told(upstreams, call([deployment(upstream.url)], Ledger()))

        assert said.rstrip().endswith(last)


async def test_a_json_answer_comes_whole_and_read() -> None:
    ledger = Ledger()
    async with fake_upstream(answer(completion("Olá"))) as upstream, ways_out() as upstreams:
        asked = call([deployment(upstream.url)], ledger, streams=False)
        async with dispatch.answer(upstreams, asked) as begun:
            assert begun.payload == completion("Olá")
            assert ledger.settled == []
            begun.attempt.usage = Usage(fresh=3, output=2)

    assert (ledger.settled[0].usage, ledger.settled[0].first_byte_ms is not None) == (Usage(fresh=3, output=2), True)


async def test_the_first_data_event_is_handed_on_before_the_second_comes() -> None:
    script = stream(b": hello\n\n", delta("a"), ending="hang")
    async with (
        fake_upstream(script) as upstream,
        ways_out() as upstreams,
        dispatch.answer(upstreams, call([deployment(upstream.url)], Ledger())) as begun,
    ):
        assert begun.events is not None
        batch = await asyncio.wait_for(anext(begun.events), 1)

    assert [event.kind for event in batch if event.data] == ["data"]


@pytest.mark.parametrize(
    "first",
    [
        answer({}, status=429, headers={"Retry-After": "9"}),
        answer({}, status=401),
        answer({"error": {"code": "context_length_exceeded"}}, status=400),
        answer({}, status=307, headers={"Location": "/"}),
        Script((b"",)),
        stream({"error": {"message": "overloaded"}}),
        stream(b": PROCESSING\n\n", {"error": {"message": "overloaded"}}),
        stream(b": PROCESSING\n\n"),
        stream(),
        stream(DONE),
        stream(b"data: no json\n\n"),
        stream(b'data: {"choices": [{"del'),
        answer(completion()),
    ],
)
async def test_a_failure_before_the_first_data_event_falls_back(first: Script) -> None:
    name, _, ledger = await first_then_second(first)

    assert name == "two"
    assert [settled.outcome for settled in ledger.settled[-1:]] == ["ok"]
    assert all(settled.outcome in ("failed", "refused") for settled in ledger.settled[:-1])
    assert len(ledger.held) == len(ledger.settled)


@pytest.mark.parametrize(
    "first",
    [
        answer({"error": {"message": "overloaded"}}),
        answer(b""),
        answer(b"[]"),
        answer({"id": "no choices"}),
        answer(answer(completion()).pieces[0][:-30]),
        GOOD,
    ],
)
async def test_a_json_answer_that_is_none_falls_back(first: Script) -> None:
    name, _, ledger = await first_then_second(first, answer(completion()), streams=False)

    assert name == "two"
    assert [settled.outcome for settled in ledger.settled] == ["failed", "ok"]
    assert (ledger.settled[0].usage, ledger.settled[0].error_code) == (ESTIMATE, "upstream_cut")


@pytest.mark.parametrize(("status", "asked"), [(400, 1), (422, 1), (429, 1), (500, 2), (503, 2)])
@pytest.mark.parametrize("streams", [True, False])
async def test_only_what_may_pass_is_asked_again_and_then_the_failure_stays(
    status: int, asked: int, streams: bool
) -> None:
    ledger = Ledger()
    script = answer({}, status=status)
    async with fake_upstream(script) as upstream, ways_out() as upstreams:
        with pytest.raises(UpstreamError) as failure:
            await told(upstreams, call([deployment(upstream.url)], ledger, streams=streams))

    assert len(upstream.requests) == asked == len(ledger.held)
    assert failure.value.status == (502 if status == 500 else status)
    assert {settled.usage for settled in ledger.settled} == {Usage()}


async def test_a_request_that_is_refused_for_itself_is_not_sent_elsewhere() -> None:
    ledger = Ledger()
    async with fake_upstream(answer({}, status=422)) as one, recording_sink() as sink, ways_out() as upstreams:
        route = [deployment(one.url), deployment(sink.url)]
        with pytest.raises(UpstreamRefused):
            await told(upstreams, call(route, ledger))

    assert sink.connections == 0


async def test_a_deployment_that_says_when_to_come_back_is_not_asked_before() -> None:
    name, one, _ = await first_then_second(answer({}, status=503, headers={"Retry-After": "1"}))

    assert (name, len(one.requests)) == ("two", 1)


async def test_a_second_try_of_the_same_deployment_can_succeed() -> None:
    ledger = Ledger()
    async with fake_upstream(answer({}, status=500), GOOD) as upstream, ways_out() as upstreams:
        name, _ = await told(upstreams, call([deployment(upstream.url)], ledger))

    assert (name, len(upstream.requests)) == ("near", 2)
    assert [(held.ordinal, settled.outcome) for held, settled in zip(ledger.held, ledger.settled, strict=True)] == [
        (1, "failed"),
        (2, "ok"),
    ]


async def test_the_last_failure_keeps_its_retry_after() -> None:
    busy = answer({}, status=429, headers={"Retry-After": "7"})
    async with fake_upstream(busy) as one, ways_out() as upstreams:
        with pytest.raises(UpstreamRateLimited) as failure:
            await told(upstreams, call([deployment(one.url), deployment(one.url, name="two")], Ledger()))

    assert failure.value.retry_after == "7"


@pytest.mark.parametrize("patience", [Patience(attempts=3), Patience(seconds=0.0)])
async def test_no_attempt_begins_once_the_patience_is_over(patience: Patience) -> None:
    ledger = Ledger()
    async with fake_upstream(answer({}, status=500)) as upstream, ways_out(patience) as upstreams:
        route = [deployment(upstream.url, name=str(number)) for number in range(5)]
        with pytest.raises(UpstreamUnavailable):
            await told(upstreams, call(route, ledger))

    assert len(ledger.held) == len(upstream.requests) == (3 if patience.seconds else 1)


async def test_after_the_first_data_event_nothing_is_tried_again() -> None:
    ledger = Ledger()
    broken = stream(delta("Ol"), {"error": {"message": "overloaded"}})
    async with fake_upstream(broken) as one, recording_sink() as sink, ways_out() as upstreams:
        name, said = await told(upstreams, call([deployment(one.url, name="one"), deployment(sink.url)], ledger))

    assert (name, b"overloaded" in said, sink.connections) == ("one", True, 0)


async def test_a_label_above_the_zone_stops_before_a_hold() -> None:
    ledger = Ledger()
    async with recording_sink() as sink, ways_out() as upstreams:
        route = [deployment(sink.url, NEAR_HOSTED), deployment(sink.url, DEVICE)]
        with pytest.raises(LabelExceedsClearance):
            await told(upstreams, call(route, ledger, label=PRIVATE))

    assert (sink.connections, ledger.held) == (0, [])


async def test_an_error_of_the_relay_settles_the_open_attempt() -> None:
    ledger = Ledger()
    async with fake_upstream(GOOD) as upstream, ways_out() as upstreams:
        with pytest.raises(UpstreamCut):
            async with dispatch.answer(upstreams, call([deployment(upstream.url)], ledger)):
                raise UpstreamCut("the relay saw no end")

    assert [(settled.outcome, settled.usage) for settled in ledger.settled] == [("failed", ESTIMATE)]


@pytest.mark.parametrize(
    "script", [Script((), ending="hang"), stream(ending="hang"), stream(delta("a"), ending="hang")]
)
async def test_a_client_that_leaves_hangs_up_and_settles(script: Script) -> None:
    ledger = Ledger()
    async with fake_upstream(script) as upstream, ways_out() as upstreams:
        task = asyncio.create_task(told(upstreams, call([deployment(upstream.url)], ledger)))
        await asyncio.wait_for(upstream.asked.wait(), 2)
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(upstream.left.wait(), 2)

    assert [(settled.outcome, settled.usage) for settled in ledger.settled] == [("aborted", ESTIMATE)]


async def test_a_silent_deployment_is_charged_at_the_estimate_and_passed_over() -> None:
    ledger = Ledger()
    async with fake_upstream(Script((), ending="hang")) as one, fake_upstream(GOOD) as two, ways_out() as upstreams:
        route = [deployment(one.url, limits=Limits(first_byte=0.1)), deployment(two.url, name="two")]
        name, _ = await told(upstreams, call(route, ledger))

    assert name == "two"
    assert (ledger.settled[0].usage, ledger.settled[0].error_code) == (ESTIMATE, UpstreamTimeout.code)


async def test_an_empty_route_says_so() -> None:
    async with ways_out() as upstreams:
        with pytest.raises(UpstreamUnavailable, match="no deployment was tried"):
            await told(upstreams, call([], Ledger()))


@pytest.mark.parametrize("streams", [True, False])
async def test_what_the_budget_has_no_room_for_is_passed_over(streams: bool) -> None:
    ledger = Ledger(too_dear=frozenset({"one"}))
    script = GOOD if streams else answer(completion("Olá"))
    async with fake_upstream(script) as one, fake_upstream(script) as two, ways_out() as upstreams:
        route = [deployment(one.url, name="one"), deployment(two.url, name="two")]
        name, _ = await told(upstreams, call(route, ledger, streams=streams))

    assert name == "two"
    assert one.requests == []
    assert [hold.ordinal for hold in ledger.held] == [1]


async def test_where_the_budget_has_no_room_for_any_nothing_is_sent() -> None:
    ledger = Ledger(too_dear=frozenset({"one", "two"}))
    async with fake_upstream(GOOD) as one, fake_upstream(GOOD) as two, ways_out() as upstreams:
        route = [deployment(one.url, name="one"), deployment(two.url, name="two")]
        with pytest.raises(BudgetExceeded) as refused:
            await told(upstreams, call(route, ledger))

    assert one.requests == two.requests == []
    assert refused.value.all_headers() == {"retry-after": "60", "x-should-retry": "false"}
