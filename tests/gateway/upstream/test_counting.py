"""A prompt that may be too long is counted by the very deployment it would go to, and by nobody else."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gateway.errors import LabelExceedsClearance, UpstreamContextExceeded
from gateway.settings import ROOT
from gateway.supervisor.parts import engine_runs_here
from gateway.upstream import counting, dispatch
from gateway.upstream.clients import Outgoing
from gateway.upstream.clients.http import HttpClient
from gateway.upstream.dispatch import Call, Upstreams
from gateway.upstream.guard import Guard
from gateway.upstream.probes.look import answers
from gateway.wire.messages import MESSAGES
from gateway.wire.usage import read_usage
from policies.labels import INTERNAL, PRIVATE
from policies.zones import Addresses
from tests.fakes import DEVICE, NEAR_HOSTED, Ledger, deployment
from tests.wire.sink import recording_sink
from tests.wire.upstream import DONE, Script, Upstream, answer, completion, delta, fake_upstream, finish
from tests.wire.upstream import stream as streamed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateway.catalog.deployments import Deployment
    from policies.labels import Label

CONTEXT = 100
SMALLEST = 256
"""llama.cpp rounds contexts up to a multiple of it."""
MESSAGES_SAID = [{"role": "user", "content": "Quando vence o aluguel?"}]
CHAT = json.dumps({"model": "small", "messages": MESSAGES_SAID, "stream": True, "max_tokens": 9}).encode()
ANYWHERE = replace(DEVICE, addresses=Addresses(frozenset({"any"})))


def counted(tokens: int, **more: Any) -> Script:
    """What vLLM and SGLang say."""
    return answer({"count": tokens, "max_model_len": CONTEXT, "tokens": [7] * tokens, **more})


def own(url: str, engine: str = "vllm", *, name: str = "near", context: int | None = CONTEXT) -> Deployment:
    return replace(deployment(url, name=name), engine=engine, context=context)


def outgoing(body: bytes = CHAT, *, label: Label = PRIVATE, stream: bool = False, bound: int | None = 150) -> Outgoing:
    return Outgoing(body, label, stream, bound=bound)


async def count(at: Deployment, asked: Outgoing | None = None) -> int | None:
    async with Guard() as guard:
        return await counting.count(guard, at, asked or outgoing())


async def told(route: list[Deployment], asked: Outgoing, ledger: Ledger) -> str:
    """Who answers the request."""
    async with Guard() as guard:
        client = HttpClient(guard)
        upstreams = Upstreams(guard, http=client, quotes=client)
        async with dispatch.answer(upstreams, Call(route, lambda _: asked, ledger.attempt)) as begun:
            if begun.events is not None:
                assert [batch async for batch in begun.events]
            return begun.deployment.name


def said(*, stream: bool) -> Script:
    return streamed(delta("Olá"), finish(), DONE) if stream else answer(completion())


def paths(upstream: Upstream) -> list[str]:
    return [request.path for request in upstream.requests]


async def test_vllm_is_asked_for_what_its_prompt_is_made_of_and_nothing_else() -> None:
    kwargs = {"chat_template_kwargs": {"thinking": True}, "reasoning_effort": "low", "tools": [{"type": "function"}]}
    body = json.dumps({**json.loads(CHAT), **kwargs}).encode()
    async with fake_upstream(counted(42)) as upstream:
        assert await count(own(upstream.url), outgoing(body)) == 42

    (request,) = upstream.requests
    assert request.path == "/tokenize"
    assert json.loads(request.body) == {
        "model": "small",
        "messages": MESSAGES_SAID,
        "tools": [{"type": "function"}],
        "chat_template_kwargs": {"thinking": True, "reasoning_effort": "low"},
    }


async def test_sglang_is_asked_with_the_whole_chat_and_its_tokenizers_length_is_no_context() -> None:
    async with fake_upstream(counted(42, max_model_len=10**30)) as upstream:
        assert await count(own(upstream.url, "sglang")) == 42

    assert (paths(upstream), upstream.requests[0].body) == (["/v1/tokenize"], CHAT)


async def test_a_llama_server_is_asked_by_its_chats_path_or_by_the_two_steps_of_older_ones() -> None:
    nothing = answer({"error": {"code": 404}}, status=404)
    steps = (nothing, answer({"prompt": "<s>Olá"}), answer({"tokens": [1, 2, 3]}))
    async with fake_upstream(answer({"input_tokens": 42})) as new, fake_upstream(*steps) as old:
        assert await count(own(new.url, "llama_server")) == 42
        assert await count(own(old.url, "llama_server")) == 3

    assert (paths(new), new.requests[0].body) == (["/v1/chat/completions/input_tokens"], CHAT)
    assert paths(old)[1:] == ["/apply-template", "/tokenize"]
    assert json.loads(old.requests[2].body) == {"content": "<s>Olá", "add_special": True}


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama_server"])
async def test_a_messages_request_that_goes_out_as_it_is_is_counted_as_it_is(engine: str) -> None:
    async with fake_upstream(answer({"input_tokens": 42})) as upstream:
        asked = replace(outgoing(), shape=MESSAGES)
        assert await count(own(upstream.url, engine), asked) == 42

    assert (paths(upstream), upstream.requests[0].body) == (["/v1/messages/count_tokens"], CHAT)


@pytest.mark.parametrize(
    "nothing",
    [
        answer({"error": "no such path"}, status=404),
        answer({}),
        answer({"count": "many"}),
        answer(b"\xff"),
        answer(b'{"count": 5'),
        answer({"count": 5}, status=500),
        Script((b"",)),
        Script((b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",)),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_where_no_count_comes_the_deployment_itself_decides(nothing: Script, stream: bool) -> None:
    ledger = Ledger()
    async with fake_upstream(nothing, said(stream=stream)) as upstream:
        assert await told([own(upstream.url)], outgoing(stream=stream), ledger) == "near"

    assert paths(upstream) == ["/tokenize", "/v1/chat/completions"]
    assert [settled.outcome for settled in ledger.settled] == ["ok"]


async def test_a_deployment_that_is_off_is_no_count() -> None:
    async with fake_upstream(counted(1)) as upstream:
        url = upstream.url

    assert await count(own(url)) is None


@pytest.mark.parametrize("stream", [False, True])
async def test_one_with_more_room_is_asked_in_place_of_one_that_is_too_small(stream: bool) -> None:
    ledger = Ledger()
    async with fake_upstream(counted(CONTEXT)) as small, fake_upstream(said(stream=stream)) as large:
        route = [own(small.url, name="small"), own(large.url, name="large", context=1000)]
        assert await told(route, outgoing(stream=stream), ledger) == "large"

    assert (paths(small), paths(large)) == (["/tokenize"], ["/v1/chat/completions"])
    assert [(hold.deployment.name, hold.ordinal) for hold in ledger.held] == [("large", 1)]


@pytest.mark.parametrize("stream", [False, True])
async def test_where_none_has_the_room_the_refusal_has_the_figures(stream: bool) -> None:
    ledger = Ledger()
    async with fake_upstream(counted(149)) as one, fake_upstream(counted(148)) as two:
        route = [own(one.url, name="one"), own(two.url, name="two")]
        with pytest.raises(UpstreamContextExceeded, match=r"148 tokens.* takes 100") as refused:
            await told(route, outgoing(stream=stream), ledger)

    assert (refused.value.status, refused.value.code, refused.value.param) == (
        400,
        "context_length_exceeded",
        "messages",
    )
    assert ledger.held == []


async def test_a_prompt_that_leaves_room_for_one_token_is_sent() -> None:
    ledger = Ledger()
    async with fake_upstream(counted(CONTEXT - 1), said(stream=False)) as upstream:
        assert await told([own(upstream.url)], outgoing(), ledger) == "near"


@pytest.mark.parametrize(
    ("context", "bound"), [(CONTEXT, CONTEXT), (None, 150), (CONTEXT, None)], ids=["it fits", "no context", "pictures"]
)
async def test_it_is_not_counted_where_that_would_tell_nothing(context: int | None, bound: int | None) -> None:
    async with fake_upstream(said(stream=False)) as upstream:
        await told([own(upstream.url, context=context)], outgoing(bound=bound), Ledger())

    assert paths(upstream) == ["/v1/chat/completions"]


async def test_a_deployment_counts_once_however_often_it_is_asked() -> None:
    ledger = Ledger()
    async with fake_upstream(counted(5), answer({}, status=503), said(stream=False)) as upstream:
        assert await told([own(upstream.url)], outgoing(), ledger) == "near"

    assert paths(upstream) == ["/tokenize", "/v1/chat/completions", "/v1/chat/completions"]
    assert len(ledger.held) == 2


@pytest.mark.parametrize("engine", ["openai", "ollama", "tokenspeed", "moonshot", "litellm", "quotes"])
async def test_an_engine_that_counts_nothing_is_not_asked(engine: str) -> None:
    async with recording_sink() as sink:
        assert await count(own(sink.url, engine)) is None

    assert sink.connections == 0


async def test_a_hosted_deployment_is_not_asked_whatever_its_engine() -> None:
    async with recording_sink() as sink:
        assert await count(replace(own(sink.url), zone=ANYWHERE)) is None

    assert sink.connections == 0


async def test_a_text_is_not_counted_where_it_may_not_go() -> None:
    async with recording_sink() as sink, Guard() as guard:
        at = replace(own(sink.url), zone=NEAR_HOSTED)
        with pytest.raises(LabelExceedsClearance):
            await counting.count(guard, at, outgoing())
        with pytest.raises(LabelExceedsClearance):
            await guard.ask(at, "/tokenize", CHAT, PRIVATE)

    assert sink.connections == 0


async def test_a_text_is_counted_where_it_may_go() -> None:
    async with fake_upstream(counted(42)) as upstream:
        assert await count(replace(own(upstream.url), zone=NEAR_HOSTED), outgoing(label=INTERNAL)) == 42


async def test_more_tokens_than_fit_an_ordinary_look_are_read() -> None:
    script = answer({"count": 900_000, "max_model_len": 1, "tokens": [163_839] * 900_000})
    async with fake_upstream(script) as upstream:
        assert len(script.pieces[0]) > 4 * 2**20
        assert await count(own(upstream.url)) == 900_000


@asynccontextmanager
async def real_engine(context: int) -> AsyncIterator[Deployment]:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders can exceed what a socket's path may be
        path = Path(folder) / "engine.sock"
        module = [sys.executable, "-m", "gateway.upstream.engine_child"]
        command = [*module, "--threads", "1", "--context", str(context), "--socket", str(path)]
        child = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stderr=subprocess.DEVNULL)
        try:
            at = own(f"unix:{path}:/v1", "llama_server", context=context)
            async with Guard() as guard, asyncio.timeout(40):
                while not await answers(guard, at, datetime(2026, 11, 30, tzinfo=UTC)):
                    await asyncio.sleep(0.05)
            yield at
        finally:
            child.terminate()
            await child.wait()


def chat(words: int, **more: Any) -> bytes:
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "palavra " * words}]
    return json.dumps({"model": "small", "messages": said, "max_tokens": 1, **more}).encode()


@pytest.mark.skipif(not engine_runs_here(), reason="llama.cpp's wheel needs AVX2")
async def test_the_real_engine_counts_what_it_then_uses_and_refuses_what_is_found_too_long() -> None:
    tools = [{"type": "function", "function": {"name": "busca", "parameters": {"type": "object", "properties": {}}}}]
    ledger = Ledger()
    async with real_engine(SMALLEST) as at, Guard() as guard:
        client = HttpClient(guard)
        for body in (chat(3), chat(3, tools=tools)):
            async with client.send(at, outgoing(body)) as reply:
                usage = read_usage(json.loads(await reply.read(1_000_000)))
            assert usage is not None
            assert await counting.count(guard, at, outgoing(body)) == usage.prompt
            shown = (await guard.ask(at, "/apply-template", body, PRIVATE)).json() or {}
            content = json.dumps({"content": shown["prompt"], "add_special": True}).encode()
            split = (await guard.ask(at, "/tokenize", content, PRIVATE)).json() or {}
            assert len(split["tokens"]) == usage.prompt
        natively = replace(outgoing(json.dumps({"model": "m", "messages": MESSAGES_SAID}).encode()), shape=MESSAGES)
        assert await counting.count(guard, at, natively) == await counting.count(guard, at, outgoing(CHAT))

        size = {words: await counting.count(guard, at, outgoing(chat(words))) for words in range(60, 130)}
        fits = max(words for words, tokens in size.items() if tokens is not None and tokens < SMALLEST)
        assert await told([at], outgoing(chat(fits), bound=500), ledger) == "near"
        with pytest.raises(UpstreamContextExceeded, match=rf"{size[fits + 1]} tokens.* takes {SMALLEST}"):
            await told([at], outgoing(chat(fits + 1), bound=500), ledger)
        with pytest.raises(UpstreamContextExceeded):  # and the engine says so too where it is not counted
            await told([at], outgoing(chat(fits + 1), bound=None), ledger)

    assert ledger.settled[0].outcome == "ok"
    assert len(ledger.held) == 2
