"""An answer begins when it says something; until then an error falls back, and unfit arguments are asked for again."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

import pytest

from gateway.errors import UpstreamContextExceeded, UpstreamCut, UpstreamError, UpstreamUnfit
from gateway.upstream import dispatch
from gateway.upstream.clients import Outgoing
from gateway.upstream.clients.http import HttpClient
from gateway.upstream.dispatch import Call, Patience, Upstreams
from gateway.upstream.guard import Guard
from gateway.wire.lanes import Usage
from policies.labels import PUBLIC
from tests.fakes import ESTIMATE, Ledger, deployment
from tests.wire.upstream import DONE, answer, bytewise, completion, delta, fake_upstream, finish, stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from tests.wire.upstream import Script, Upstream

CLOSE = {"Connection": "close"}
ROLE = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}
NO_CHOICES: dict[str, Any] = {"choices": [], "prompt_filter_results": []}
OVERLOADED = {"error": {"message": "overloaded", "code": 503}}
GOOD = stream(ROLE, delta("Olá"), finish(), DONE)
USAGE = {"prompt_tokens": 7, "completion_tokens": 4, "total_tokens": 11}


@asynccontextmanager
async def ways_out(patience: Patience = Patience()) -> AsyncIterator[Upstreams]:  # noqa: B008 - frozen
    async with Guard() as guard:
        client = HttpClient(guard)
        yield Upstreams(guard, http=client, quotes=client, patience=patience)


def no_tool_without_city(message: Mapping[str, Any]) -> str | None:
    """The name of a tool that is called without a city, which every one of these tests needs."""
    for call in message.get("tool_calls") or ():
        if not names_a_city(call["function"]["arguments"]):
            return str(call["function"]["name"])
    return None


def names_a_city(arguments: str) -> bool:
    try:
        return "city" in json.loads(arguments)
    except ValueError:
        return False


class CityWatch:
    """Collects the arguments of one call until the answer ends."""

    def __init__(self) -> None:
        self._arguments = ""

    def see(self, payload: Mapping[str, Any]) -> Literal["hold", "pass", "unfit"]:
        for choice in payload["choices"]:
            if choice["delta"].get("content"):
                return "pass"
            for call in choice["delta"].get("tool_calls", ()):
                self._arguments += call["function"].get("arguments", "")
            if choice["finish_reason"]:
                return "pass" if names_a_city(self._arguments) else "unfit"
        return "hold"


def outgoing(*, streams: bool) -> Outgoing:
    return Outgoing(b"{}", PUBLIC, stream=streams, unfit=no_tool_without_city, watch=CityWatch)


async def told(upstreams: Upstreams, call: Call) -> tuple[str, bytes]:
    """The name of the deployment that answered and all that it said."""
    async with dispatch.answer(upstreams, call) as begun:
        if begun.events is None:
            return begun.deployment.name, begun.body or b""
        return begun.deployment.name, b"".join([event.raw async for batch in begun.events for event in batch])


async def ask(ledger: Ledger, *scripts: Script, streams: bool, patience: Patience = Patience()) -> tuple[bytes, int]:  # noqa: B008 - frozen
    """What one deployment answers in the end, and how often it was asked."""
    async with fake_upstream(*scripts) as upstream, ways_out(patience) as upstreams:
        call = Call([deployment(upstream.url)], lambda _: outgoing(streams=streams), ledger.attempt)
        _, said = await told(upstreams, call)
    return said, len(upstream.requests)


async def falls_back(first: Script) -> tuple[str, bytes, Upstream, Ledger]:
    ledger = Ledger()
    async with fake_upstream(first) as one, fake_upstream(GOOD) as two, ways_out() as upstreams:
        route = [deployment(one.url, name="one"), deployment(two.url, name="two")]
        call = Call(route, lambda _: Outgoing(b"{}", PUBLIC, stream=True), ledger.attempt)
        name, said = await told(upstreams, call)
    return name, said, one, ledger


@pytest.mark.parametrize(
    "first",
    [
        stream(ROLE, OVERLOADED),
        stream(NO_CHOICES, ROLE, OVERLOADED),
        stream(b": PROCESSING\n\n", ROLE, b": PROCESSING\n\n", OVERLOADED),
        stream(ROLE),
        stream(ROLE, DONE),
        stream(ROLE, b"data: no json\n\n"),
        stream({"object": "error", "message": "it broke", "type": "InternalServerError", "code": 500}),
        bytewise(stream(ROLE, OVERLOADED, end="\r\n")),
        answer(OVERLOADED),
        answer({"object": "error", "message": "longer than the model's context length", "code": 400}),
    ],
)
async def test_an_error_before_anything_was_said_falls_back(first: Script) -> None:
    name, said, one, ledger = await falls_back(first)

    assert (name, len(one.requests)) == ("two", 1)
    assert said == b"".join(GOOD.pieces[1:])  # nothing of the first answer is glued on
    assert ledger.settled[-1].outcome == "ok"


@pytest.mark.parametrize(
    "said",
    [
        {"content": "a"},
        {"reasoning_content": "a"},
        {"reasoning": "a"},
        {"tool_calls": [{"index": 0, "id": "1", "function": {"name": "f", "arguments": ""}}]},
        {"refusal": "no"},
    ],
)
async def test_whatever_is_said_commits_to_the_answer(said: dict[str, Any]) -> None:
    speaks = {"choices": [{"index": 0, "delta": said, "finish_reason": None}]}

    name, content, _, _ = await falls_back(stream(ROLE, speaks, OVERLOADED))

    assert (name, b"overloaded" in content) == ("one", True)


async def test_a_context_error_inside_a_stream_keeps_its_name() -> None:
    too_long = {"error": {"message": "The input (9 tokens) is longer than the model's context length (8 tokens)."}}

    with pytest.raises(UpstreamContextExceeded):
        await ask(Ledger(), stream(ROLE, too_long), streams=True)


async def test_a_request_that_is_refused_inside_a_stream_is_not_sent_elsewhere() -> None:
    with pytest.raises(UpstreamError) as failure:
        await falls_back(stream({"error": {"message": "no", "type": "invalid_request_error", "code": 400}}))

    assert (failure.value.code, failure.value.status) == ("upstream_refused", 400)


async def test_a_start_that_never_ends_is_handed_on() -> None:
    long_start = {"choices": [], "padding": "x" * 600_000}

    said, asked = await ask(Ledger(), stream(long_start, long_start, delta("a"), finish(), DONE), streams=True)

    assert (said.count(b"padding"), said.endswith(DONE), asked) == (2, True, 1)


def calls(arguments: str, content: str | None = None) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": arguments}}
    message = {"role": "assistant", "content": content, "tool_calls": [call]}
    return {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": USAGE}


def calls_stream(arguments: str, *, usage: bool = True) -> Script:
    pieces = [arguments[:3], arguments[3:]]
    chunks = [delta_of({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces]
    last = [{"id": "c", "choices": [], "usage": USAGE}] if usage else []
    return stream(ROLE, *chunks, finish("tool_calls"), *last, DONE)


def delta_of(said: dict[str, Any]) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": said, "finish_reason": None}]}


def tool_answer(arguments: str, *, streams: bool) -> Script:
    return calls_stream(arguments) if streams else answer(calls(arguments), headers=CLOSE)


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("arguments", ['{"city": "Par', '{"town": 1}'])
async def test_unfit_arguments_are_asked_for_once_more_and_paid_for(streams: bool, arguments: str) -> None:
    ledger = Ledger()
    good = tool_answer('{"city": "Paris"}', streams=streams)

    said, asked = await ask(ledger, tool_answer(arguments, streams=streams), good, streams=streams)

    assert (b"Paris" in said, b"own" in said, asked) == (True, False, 2)
    assert [(settled.outcome, settled.error_code) for settled in ledger.settled] == [
        ("failed", "upstream_unfit"),
        ("ok", None),
    ]
    assert ledger.settled[0].usage == Usage(fresh=7, output=4)


@pytest.mark.parametrize("streams", [True, False])
async def test_the_second_answer_passes_as_it_is(streams: bool) -> None:
    ledger = Ledger()

    said, asked = await ask(ledger, tool_answer('{"town": 1}', streams=streams), streams=streams)

    assert (asked, b"own" in said) == (2, True)
    assert [settled.outcome for settled in ledger.settled] == ["failed", "ok"]


@pytest.mark.parametrize("streams", [True, False])
async def test_the_last_answer_that_may_be_asked_for_passes_as_it_is(streams: bool) -> None:
    ledger = Ledger()
    script = tool_answer('{"town": 1}', streams=streams)

    _, asked = await ask(ledger, script, streams=streams, patience=Patience(attempts=1))

    assert (asked, [settled.outcome for settled in ledger.settled]) == (1, ["ok"])


@pytest.mark.parametrize("streams", [True, False])
async def test_fit_arguments_and_plain_text_pass_at_once(streams: bool) -> None:
    text = stream(ROLE, delta("Olá"), finish(), DONE) if streams else answer(completion(), headers=CLOSE)
    for script in (tool_answer('{"city": "Paris"}', streams=streams), text):
        _, asked = await ask(Ledger(), script, streams=streams)
        assert asked == 1


async def test_an_unfit_stream_without_usage_costs_the_estimate() -> None:
    ledger = Ledger()

    await ask(ledger, calls_stream('{"town": 1}', usage=False), calls_stream('{"city": 1}'), streams=True)

    assert (ledger.settled[0].usage, ledger.settled[0].error_code) == (ESTIMATE, UpstreamUnfit.code)


async def test_a_held_stream_that_is_cut_falls_back() -> None:
    cut = stream(ROLE, delta_of({"tool_calls": [{"index": 0, "function": {"arguments": '{"ci'}}]}))

    with pytest.raises(UpstreamCut):
        await ask(Ledger(), cut, streams=True)


async def test_a_failure_after_an_unfit_answer_goes_on_to_the_next_deployment() -> None:
    unfit, broken = calls_stream('{"town": 1}'), answer({}, status=500, headers=CLOSE)
    async with fake_upstream(unfit, broken) as one, fake_upstream(GOOD) as two, ways_out() as upstreams:
        route = [deployment(one.url, name="one"), deployment(two.url, name="two")]
        call = Call(route, lambda _: outgoing(streams=True), Ledger().attempt)

        assert (await told(upstreams, call))[0] == "two"
    assert len(one.requests) == 2
