"""Faults that operators of such systems have met, each of its whole kind, for JSON answers and streams alike."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from gateway.catalog.deployments import Limits
from gateway.errors import UpstreamCut, UpstreamError, UpstreamRateLimited, UpstreamTimeout
from gateway.upstream import dispatch
from gateway.upstream.clients import Outgoing
from gateway.upstream.clients.http import HttpClient
from gateway.upstream.dispatch import Call, Upstreams
from gateway.upstream.guard import Guard
from gateway.wire.lanes import Usage
from policies.labels import PUBLIC
from tests.fakes import ESTIMATE, Ledger, deployment
from tests.wire.upstream import (
    DONE,
    STREAM_HEAD,
    Script,
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
    from gateway.upstream.dispatch import Answer

CLOSE = {"Connection": "close"}
GOOD = stream(delta("Olá"), finish(), DONE)
CANARY = "sk-canary-0123456789"


@asynccontextmanager
async def ways_out() -> AsyncIterator[Upstreams]:
    async with Guard() as guard:
        client = HttpClient(guard)
        yield Upstreams(guard, http=client, quotes=client)


def call(route: Sequence[Deployment], ledger: Ledger, *, streams: bool, headers: dict[str, str] | None = None) -> Call:
    outgoing = Outgoing(b'{"prompt": "my plan"}', PUBLIC, stream=streams, headers=headers or {})
    return Call(route, lambda _: outgoing, ledger.attempt)


async def texts(begun: Answer) -> list[bytes]:
    """The data of the stream's events; UpstreamCut where it breaks off."""
    assert begun.events is not None
    return [event.data async for batch in begun.events for event in batch if event.data is not None]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("cut", [False, True])
async def test_any_line_end_is_one_call_and_the_first_event_comes_when_it_comes(end: str, cut: bool) -> None:
    events = [f"data: {text}{end}{end}".encode() for text in ('{"choices": [{"delta": {"content": "a"}}]}', "[DONE]")]
    first = bytewise(stream(events[0], ending="hang")) if cut else stream(events[0], ending="hang")
    async with fake_upstream(first) as upstream, ways_out() as upstreams:
        asked = call([deployment(upstream.url)], Ledger(), streams=True)
        async with dispatch.answer(upstreams, asked) as begun:
            assert begun.events is not None
            batch = await asyncio.wait_for(anext(begun.events), 5)  # the upstream says nothing more

    assert b'"a"' in b"".join(event.raw for event in batch)
    assert len(upstream.requests) == 1


async def test_a_line_end_that_is_split_ends_one_event() -> None:
    head = b'data: {"choices": [{"delta": {"content": "a"}}]}'
    pieces = (STREAM_HEAD, head + b"\r", b"\n\r", b"\ndata: [DONE]\r", b"\n\r\n")
    async with fake_upstream(Script(pieces, pause=0.02)) as upstream, ways_out() as upstreams:
        asked = call([deployment(upstream.url)], Ledger(), streams=True)
        async with dispatch.answer(upstreams, asked) as begun:
            said = await texts(begun)

    assert said == [head.removeprefix(b"data: "), b"[DONE]"]


@pytest.mark.parametrize("ending", ["close", "abort"])
async def test_a_stream_that_is_cut_ends_without_a_made_up_end(ending: str) -> None:
    script = stream(
        delta("a"), delta("b"), b'data: {"choices": [{"delta"', ending="abort" if ending == "abort" else "close"
    )
    async with fake_upstream(script) as upstream, ways_out() as upstreams:
        asked = call([deployment(upstream.url)], Ledger(), streams=True)
        async with dispatch.answer(upstreams, asked) as begun:
            assert begun.events is not None
            said = b""
            try:
                async for batch in begun.events:
                    said += b"".join(event.raw for event in batch)
            except UpstreamCut:
                assert ending == "abort"

    assert (b"[DONE]" in said, said.count(b"data:"), len(upstream.requests)) == (False, 2, 1)


@pytest.mark.parametrize("ending", ["close", "abort"])
async def test_a_json_answer_that_is_cut_is_no_answer(ending: str) -> None:
    whole = answer(completion()).pieces[0]
    script = Script((whole[:-5],), ending="abort" if ending == "abort" else "close")
    ledger = Ledger()
    async with fake_upstream(script) as upstream, ways_out() as upstreams:
        with pytest.raises(UpstreamCut):
            async with dispatch.answer(upstreams, call([deployment(upstream.url)], ledger, streams=False)):
                pytest.fail("it is half an answer")

    assert [(settled.outcome, settled.usage) for settled in ledger.settled] == [("failed", ESTIMATE)]


@pytest.mark.parametrize("said", [None, Usage()])
async def test_a_client_that_leaves_in_the_middle_is_charged_what_is_known(said: Usage | None) -> None:
    ledger = Ledger()
    reading = asyncio.Event()
    async with fake_upstream(stream(delta("a"), ending="hang")) as upstream, ways_out() as upstreams:

        async def read() -> None:
            asked = call([deployment(upstream.url)], ledger, streams=True)
            async with dispatch.answer(upstreams, asked) as begun:
                begun.attempt.usage = said
                reading.set()
                await texts(begun)

        task = asyncio.create_task(read())
        await asyncio.wait_for(reading.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(upstream.left.wait(), 5)

    settled = [(one.outcome, one.usage) for one in ledger.settled]
    assert settled == [("aborted", ESTIMATE if said is None else said)]


@pytest.mark.parametrize(
    "script", [Script((), ending="hang"), Script((answer(completion()).pieces[0][:-9],), ending="hang")]
)
async def test_a_client_that_leaves_a_json_answer_hangs_up_at_once(script: Script) -> None:
    ledger = Ledger()
    async with fake_upstream(script) as upstream, ways_out() as upstreams:

        async def read() -> None:
            async with dispatch.answer(upstreams, call([deployment(upstream.url)], ledger, streams=False)):
                pytest.fail("it never ends")

        task = asyncio.create_task(read())
        await asyncio.wait_for(upstream.asked.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(upstream.left.wait(), 5)

    assert [settled.outcome for settled in ledger.settled] == ["aborted"]


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(
    ("status", "body", "goes_on"),
    [
        (400, {}, False),
        (401, {}, True),
        (402, {}, True),
        (403, {}, True),
        (404, {}, True),
        (413, {}, False),
        (422, {}, False),
        (400, {"error": {"code": "context_length_exceeded"}}, True),
    ],
)
async def test_what_is_refused_for_good_is_asked_once(status: int, body: object, goes_on: bool, streams: bool) -> None:
    ledger = Ledger()
    refuses = answer(body, status=status, headers=CLOSE)
    async with fake_upstream(refuses) as one, fake_upstream(refuses) as two, ways_out() as upstreams:
        route = [deployment(one.url, name="one"), deployment(two.url, name="two")]
        with pytest.raises(UpstreamError):
            async with dispatch.answer(upstreams, call(route, ledger, streams=streams)):
                pytest.fail("both refuse")

    assert (len(one.requests), len(two.requests)) == (1, int(goes_on))
    assert [settled.usage for settled in ledger.settled] == [Usage()] * (1 + goes_on)


@pytest.mark.parametrize("streams", [True, False])
async def test_retries_and_fallbacks_share_one_budget(streams: bool) -> None:
    ledger = Ledger()
    async with fake_upstream(answer({}, status=503, headers=CLOSE)) as upstream, ways_out() as upstreams:
        route = [deployment(upstream.url, name=str(number)) for number in range(9)]
        with pytest.raises(UpstreamError):
            async with dispatch.answer(upstreams, call(route, ledger, streams=streams)):
                pytest.fail("all fail")

    assert len(upstream.requests) == len(ledger.held) == upstreams.patience.attempts
    assert [held.ordinal for held in ledger.held] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({"Retry-After": "30"}, "30"),
        ({"Retry-After": "Wed, 21 Oct 2126 07:28:00 GMT"}, "Wed, 21 Oct 2126 07:28:00 GMT"),
        ({"retry-after-ms": "30000"}, "30"),
        ({"Retry-After": CANARY}, None),
    ],
)
async def test_the_time_to_come_back_is_told(headers: dict[str, str], told: str | None, streams: bool) -> None:
    async with fake_upstream(answer({}, status=429, headers={**headers, **CLOSE})) as upstream, ways_out() as upstreams:
        with pytest.raises(UpstreamRateLimited) as failure:
            async with dispatch.answer(upstreams, call([deployment(upstream.url)], Ledger(), streams=streams)):
                pytest.fail("it is limited")

    assert (failure.value.retry_after, len(upstream.requests)) == (told, 1)


@pytest.mark.parametrize("streams", [True, False])
async def test_a_model_that_thinks_long_is_heard_out(streams: bool) -> None:
    """Longer in all than each of its waits may be, silent at the start and in the middle."""
    whole = answer(completion(), headers=CLOSE).pieces[0]
    script = (
        stream(*[delta("a")] * 6, finish(), DONE)
        if streams
        else Script(tuple(whole[i : i + 40] for i in range(0, len(whole), 40)))
    )
    limits = Limits(connect=5.0, first_byte=1.5, idle=1.5)
    async with fake_upstream(replace(script, pause=0.3)) as upstream, ways_out() as upstreams:
        asked = call([deployment(upstream.url, limits=limits)], Ledger(), streams=streams)
        async with dispatch.answer(upstreams, asked) as begun:
            said = b"".join(await texts(begun)) if streams else begun.body or b""

    assert said.endswith(b"[DONE]" if streams else b"}")
    assert len(script.pieces) * 0.3 > limits.idle


@pytest.mark.parametrize(
    ("script", "limits"),
    [
        (Script((), ending="hang"), Limits(first_byte=0.1)),
        (stream(ending="hang"), Limits(first_byte=0.1)),
        (stream(delta(""), ending="hang"), Limits(idle=0.1)),
        (stream(*[delta("")] * 50, pause=0.05), Limits(total=0.2)),
    ],
)
async def test_a_silence_beyond_its_limit_goes_on_to_the_next(script: Script, limits: Limits) -> None:
    ledger = Ledger()
    async with fake_upstream(script) as one, fake_upstream(GOOD) as two, ways_out() as upstreams:
        route = [deployment(one.url, name="one", limits=limits), deployment(two.url, name="two")]
        async with dispatch.answer(upstreams, call(route, ledger, streams=True)) as begun:
            assert begun.deployment.name == "two"

    assert [(one.outcome, one.error_code) for one in ledger.settled] == [("failed", UpstreamTimeout.code), ("ok", None)]


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("status", [200, 307, 400, 401, 403, 404, 422, 429, 500])
async def test_a_key_that_is_quoted_stays_out_of_errors_logs_and_ledger(
    status: int, streams: bool, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Ledger()
    quotes = {"error": {"message": f"Incorrect API key provided: {CANARY}; you said my plan", "param": CANARY}}
    headers = {"x-key": CANARY, "Location": f"http://127.0.0.1/{CANARY}", **CLOSE}
    caplog.set_level(logging.DEBUG)
    async with fake_upstream(answer(quotes, status=status, headers=headers)) as upstream, ways_out() as upstreams:
        at = deployment(upstream.url, api_key=CANARY)
        with capture_logs() as logs, pytest.raises(UpstreamError) as failure:
            async with dispatch.answer(upstreams, call([at], ledger, streams=streams)):
                pytest.fail("it refuses")

    error = failure.value
    outside = f"{error!r} {error.args} {error.body()} {error.retry_after} {logs} {caplog.text} {ledger.settled}"
    assert upstream.requests[0].headers["authorization"] == f"Bearer {CANARY}"
    assert "canary" not in outside
    assert "my plan" not in outside


@pytest.mark.parametrize("streams", [True, False])
async def test_a_deployment_that_cannot_be_reached_is_not_told_by_its_address(streams: bool) -> None:
    async with fake_upstream() as gone:
        at = deployment(f"{gone.url}/{CANARY}", api_key=CANARY)
    async with ways_out() as upstreams:
        with capture_logs() as logs, pytest.raises(UpstreamError) as failure:
            async with dispatch.answer(upstreams, call([at], Ledger(), streams=streams)):
                pytest.fail("nobody is there")

    assert "canary" not in f"{failure.value!r} {failure.value.__cause__!r} {logs}"


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ("openai", {"authorization": f"Bearer {CANARY}"}),
        ("anthropic", {"x-api-key": CANARY, "anthropic-version": "2023-06-01"}),
    ],
)
async def test_the_key_stands_where_the_engine_looks_for_it_and_no_header_replaces_it(
    engine: str, expected: dict[str, str]
) -> None:
    own = {
        "x-trace": "1",
        "Authorization": "Bearer other",
        "anthropic-version": "1999-01-01",
        "Content-Type": "text/plain",
    }
    async with fake_upstream(answer(completion())) as upstream, ways_out() as upstreams:
        at = replace(deployment(upstream.url, api_key=CANARY), engine=engine)
        async with dispatch.answer(upstreams, call([at], Ledger(), streams=False, headers=own)):
            pass

    sent = upstream.requests[0].headers
    assert {name: sent.get(name) for name in expected} == expected
    assert (sent["x-trace"], sent["content-type"]) == ("1", "application/json")
    assert "other" not in upstream.requests[0].head.decode()
