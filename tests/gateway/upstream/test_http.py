"""The HTTP client keeps an upstream's limits and tells its failures apart, without its words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from gateway.catalog.deployments import Limits
from gateway.errors import (
    UpstreamCut,
    UpstreamError,
    UpstreamRateLimited,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from gateway.upstream.clients import Outgoing
from gateway.upstream.clients.http import HttpClient
from gateway.upstream.guard import Guard
from policies.labels import PUBLIC
from tests.fakes import deployment
from tests.wire.upstream import Script, answer, bytewise, completion, delta, fake_upstream, stream

CANARY = "the prompt said sk-canary"


async def exchange(script: Script, limits: Limits | None = None, limit: int = 1_000_000) -> bytes:
    """Ask a fake upstream once and read its whole answer."""
    async with fake_upstream(script) as upstream, Guard() as guard:
        at = deployment(upstream.url, limits=limits)
        async with HttpClient(guard).send(at, Outgoing(b"{}", PUBLIC, stream=False)) as reply:
            return await reply.read(limit)


@pytest.mark.parametrize(
    ("status", "kind", "may_retry", "may_fall_back"),
    [
        (400, UpstreamRefused, False, False),
        (401, UpstreamRefused, False, True),
        (403, UpstreamRefused, False, True),
        (404, UpstreamRefused, False, True),
        (408, UpstreamTimeout, False, True),
        (413, UpstreamRefused, False, False),
        (422, UpstreamRefused, False, False),
        (429, UpstreamRateLimited, False, True),
        (500, UpstreamUnavailable, True, True),
        (503, UpstreamUnavailable, True, True),
        (504, UpstreamTimeout, False, True),
    ],
)
async def test_a_status_becomes_its_error_and_the_upstreams_words_stay_out(
    status: int, kind: type[UpstreamError], may_retry: bool, may_fall_back: bool
) -> None:
    with pytest.raises(kind) as failure:
        await exchange(answer({"error": {"message": CANARY}}, status=status))

    error = failure.value
    assert (error.may_retry, error.may_fall_back) == (may_retry, may_fall_back)
    assert "canary" not in f"{error!r} {error.args} {error.__cause__!r}"
    if kind is UpstreamRefused:
        assert error.status == status


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        ({"Retry-After": "30"}, "30"),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, "Wed, 21 Oct 2026 07:28:00 GMT"),
        ({"retry-after-ms": "1500"}, "2"),
        ({"retry-after-ms": "soon"}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_kept(headers: dict[str, str], kept: str | None, status: int) -> None:
    with pytest.raises(UpstreamError) as failure:
        await exchange(answer({}, status=status, headers=headers))

    assert failure.value.retry_after == kept


@pytest.mark.parametrize(
    "error",
    [
        {"code": "context_length_exceeded", "message": "x"},
        {"type": "exceed_context_size_error", "message": "request (8031 tokens) exceeds the available context size"},
        {"message": "This model's maximum context length is 4096 tokens."},
        {"message": "The input (70000 tokens) is longer than the model's context length (32768 tokens)."},
        {"message": "Invalid request: Your request exceeded model token limit: 8192"},
    ],
)
async def test_a_prompt_that_does_not_fit_may_try_elsewhere(error: dict[str, str]) -> None:
    with pytest.raises(UpstreamRefused) as failure:
        await exchange(answer({"error": error}, status=400))

    assert (failure.value.code, failure.value.status) == ("context_length_exceeded", 400)
    assert failure.value.may_fall_back


async def test_a_stream_arrives_byte_for_byte_one_byte_a_packet() -> None:
    events = [delta("é 你好 👩‍👩‍👧 \u2028 \u0085"), b": PROCESSING\r\n\r\n"]

    content = await exchange(bytewise(stream(*events, end="\r\n")))

    assert content == f"data: {json.dumps(events[0], ensure_ascii=False)}\r\n\r\n: PROCESSING\r\n\r\n".encode()


@pytest.mark.parametrize("ending", ["close", "abort"])
async def test_an_answer_shorter_than_it_says_is_cut(ending: str) -> None:
    whole = answer(completion()).pieces[0]

    with pytest.raises(UpstreamCut):
        await exchange(Script((whole[:-5],), ending="close" if ending == "close" else "abort"))


async def test_an_answer_longer_than_the_limit_is_cut() -> None:
    with pytest.raises(UpstreamCut, match="more than 100 bytes"):
        await exchange(answer(completion("x" * 200)), limit=100)


@pytest.mark.parametrize("script", [Script((b"",)), Script((b"HTTP/1.1 200 OK\r\n",), ending="abort")])
async def test_hanging_up_before_an_answer_may_have_cost_something(script: Script) -> None:
    with pytest.raises(UpstreamUnavailable, match="hung up") as failure:
        await exchange(script)

    assert failure.value.billed


async def test_what_is_no_http_is_an_error_of_the_upstream() -> None:
    with pytest.raises(UpstreamError):
        await exchange(Script((b"SSH-2.0-OpenSSH\r\n\r\n",)))


async def test_nobody_listening_costs_nothing() -> None:
    async with fake_upstream() as gone:
        at = deployment(gone.url)
    async with Guard() as guard:
        with pytest.raises(UpstreamUnavailable, match="cannot be reached") as failure:
            async with HttpClient(guard).send(at, Outgoing(b"{}", PUBLIC, stream=False)):
                pass

    assert not failure.value.billed


@pytest.mark.parametrize(
    ("script", "limits", "said"),
    [
        (Script((), ending="hang"), Limits(first_byte=0.1), "did not begin"),
        (stream(ending="hang"), Limits(first_byte=0.1), "fell silent"),
        (stream(delta("a"), ending="hang"), Limits(idle=0.1), "fell silent"),
        (stream(*[delta("a")] * 50, pause=0.02), Limits(total=0.2), "fell silent"),
    ],
)
async def test_each_limit_ends_a_silence(script: Script, limits: Limits, said: str) -> None:
    with pytest.raises(UpstreamTimeout, match=said) as failure:
        await exchange(script, limits)

    assert failure.value.billed


async def test_a_slow_answer_within_its_limits_is_read() -> None:
    content = await exchange(stream(*[delta("a")] * 5, pause=0.08), Limits(idle=0.3, first_byte=0.3))

    assert content.count(b"data:") == 5


async def test_a_connection_that_does_not_come_about_costs_nothing() -> None:
    async def never(_host: str, _port: int) -> Sequence[str]:
        await asyncio.sleep(60)
        return []

    async with Guard(never) as guard:
        at = deployment("http://house.example/v1", limits=Limits(connect=0.05))
        with pytest.raises(UpstreamTimeout, match=r"within 0\.05 s") as failure:
            async with HttpClient(guard).send(at, Outgoing(b"{}", PUBLIC, stream=False)):
                pass

    assert not failure.value.billed


async def test_a_failure_of_the_reader_stays_its_own() -> None:
    async with fake_upstream(stream(delta("a"))) as upstream, Guard() as guard:
        with pytest.raises(TimeoutError, match="of the reader"):
            async with HttpClient(guard).send(deployment(upstream.url), Outgoing(b"{}", PUBLIC, stream=True)):
                raise TimeoutError("of the reader")
