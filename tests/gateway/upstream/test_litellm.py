"""What the litellm process says, where it can go, and what becomes of its failures."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from gateway.errors import (
    GatewayError,
    LabelExceedsClearance,
    NotLocal,
    UpstreamRateLimited,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from gateway.settings import Settings, child_environment
from gateway.supervisor import parts
from gateway.supervisor.address import Address
from gateway.upstream.clients import Outgoing
from gateway.upstream.clients.http import HttpClient
from gateway.upstream.clients.litellm import LitellmClient, needs_litellm
from gateway.upstream.exit import Exit
from gateway.upstream.guard import Guard
from gateway.upstream.tickets import PLACEHOLDER, Tickets
from gateway.wire.lanes import Usage
from gateway.wire.shapes import CHAT, ChatShape
from gateway.wire.usage import read_usage, service_tier
from policies.labels import PRIVATE, PUBLIC
from policies.load import load_pack
from tests.fakes import LAN, NEAR_HOSTED, deployment
from tests.gateway.house import RULES, make_settings
from tests.gateway.house import deployment as declared
from tests.wire.upstream import STREAM_HEAD, Script, answer, fake_upstream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from gateway.catalog.deployments import Deployment
    from policies.labels import Label

KEY = "sk-real-key-of-the-house"
CHAT_REQUEST = {"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": "canary of a prompt"}]}
USAGE = {"input_tokens": 20, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 0, "output_tokens": 7}
MESSAGE: dict[str, Any] = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
    "content": [{"type": "text", "text": "Olá, 👋"}], "stop_reason": "end_turn", "stop_sequence": None, "usage": USAGE,
}  # fmt: skip


@dataclass
class Process:
    """The litellm process: it takes seconds to start, so the tests of this module share it."""

    socket: Path
    exit: Path
    log: Path
    started: subprocess.Popen[bytes]


@pytest.fixture(scope="module")
def process() -> Iterator[Process]:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders can exceed what a socket's path may be
        folder = Path(name)
        paths = (folder / "l.sock", folder / "exit.sock", folder / "log")
        options = ["--socket", str(paths[0]), "--exit", str(paths[1])]
        command = [sys.executable, "-P", "-m", "gateway.upstream.litellm_child", *options]
        with (
            paths[2].open("wb") as log,
            subprocess.Popen(command, stderr=log, stdout=log, env=child_environment(), cwd=folder) as started,
        ):
            until_ready(paths[0], started)
            yield Process(*paths, started)
            started.terminate()
            assert started.wait(20) == 0


def until_ready(socket: Path, started: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 90
    while not socket.is_socket():
        assert started.poll() is None
        assert time.monotonic() < end
        time.sleep(0.1)


@asynccontextmanager
async def litellm_client(process: Process) -> AsyncIterator[LitellmClient]:
    """A client with an exit of its own, as the gateway has it."""
    async with Guard() as guard:
        http = HttpClient(guard)
        tickets = Tickets()
        process.exit.unlink(missing_ok=True)
        config = uvicorn.Config(
            Exit(http, tickets), uds=str(process.exit), lifespan="off", log_level="critical", access_log=False
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server._serve())
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            yield LitellmClient(http, tickets, process.socket)
        finally:
            server.should_exit = True
            await serving


def claude(url: str, **more: Any) -> Deployment:
    at = deployment(url, api_key=KEY)
    return replace(at, engine="anthropic", upstream_model="claude-sonnet-4-5", **more)


def outgoing(body: dict[str, Any], *, label: Label = PUBLIC) -> Outgoing:
    return Outgoing(json.dumps(body).encode(), label, stream=bool(body.get("stream")))


async def asked(process: Process, at: Deployment, body: dict[str, Any] = CHAT_REQUEST) -> dict[str, Any]:
    async with litellm_client(process) as client, client.send(at, outgoing(body)) as reply:
        return dict(json.loads(await reply.read(1_000_000)))


async def streamed(process: Process, at: Deployment) -> list[bytes]:
    """The data of a stream's events."""
    body = {**CHAT_REQUEST, "stream": True, "stream_options": {"include_usage": True}}
    async with litellm_client(process) as client, client.send(at, outgoing(body)) as reply:
        assert reply.stream
        whole = b"".join([chunk async for chunk in reply.chunks()])
    return [event.removeprefix(b"data: ") for event in whole.split(b"\n\n") if event]


def events(*payloads: dict[str, Any]) -> tuple[bytes, ...]:
    return tuple(f"event: {p['type']}\ndata: {json.dumps(p, ensure_ascii=False)}\n\n".encode() for p in payloads)


OPENING = events(
    {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Olá"}},
)
CLOSING = events(
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ", 👋"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": USAGE},
    {"type": "message_stop"},
)


async def test_a_chat_is_said_in_the_providers_protocol_with_the_deployments_key(process: Process) -> None:
    async with fake_upstream(answer(MESSAGE)) as upstream:
        completion = await asked(process, claude(upstream.url))

    [request] = upstream.requests
    assert (request.path, request.headers["x-api-key"]) == ("/v1/messages", KEY)
    assert json.loads(request.body)["messages"][0]["content"] == [{"type": "text", "text": "canary of a prompt"}]
    assert PLACEHOLDER.encode() not in request.head + request.body
    assert completion["choices"][0]["message"]["content"] == "Olá, 👋"
    usage = read_usage(completion)
    assert usage is not None
    assert (usage.prompt, usage.cached, usage.completion) == (120, 100, 7)


async def test_nothing_of_this_machine_is_told_to_the_provider(process: Process) -> None:
    async with fake_upstream(answer(MESSAGE)) as upstream:
        await asked(process, claude(upstream.url))

    names = upstream.requests[0].headers
    assert names["user-agent"] == "soleira"
    assert not [name for name in names if name.startswith(("soleira-", "x-stainless-", "x-litellm-"))]


async def test_a_stream_comes_in_chunks_with_its_usage(process: Process) -> None:
    async with fake_upstream(Script((STREAM_HEAD, *OPENING, *CLOSING))) as upstream:
        *said, done = await streamed(process, claude(upstream.url))

    chunks = [json.loads(data) for data in said]
    deltas = [choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]]
    usage = read_usage(chunks[-1])
    assert ("".join(deltas), done) == ("Olá, 👋", b"[DONE]")
    assert usage is not None
    assert (usage.prompt, usage.cached, usage.completion) == (120, 100, 7)


WRITING: dict[str, Any] = {
    **USAGE,
    "cache_creation_input_tokens": 300,
    "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100},
    "service_tier": "priority",
}


async def test_what_was_written_to_a_cache_and_the_tier_come_through(process: Process) -> None:
    started = {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None, "usage": WRITING}}
    async with fake_upstream(answer({**MESSAGE, "usage": WRITING})) as upstream:
        whole = await asked(process, claude(upstream.url))
    sums = {name: count for name, count in WRITING.items() if name not in ("cache_creation", "service_tier")}
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": sums}
    pieces = (*events(started), *OPENING[1:], *CLOSING[:2], *events(ended), CLOSING[3])
    async with fake_upstream(Script((STREAM_HEAD, *pieces))) as upstream:
        *_, last, _ = await streamed(process, claude(upstream.url))

    for said in (whole, json.loads(last)):
        expected = Usage(fresh=20, cached=100, cache_write_5m=200, cache_write_1h=100, output=7)
        assert (read_usage(said), service_tier(said)) == (expected, "priority")
        assert "cost" not in said["usage"], "litellm's price list is not the house's"


@pytest.mark.parametrize("ending", ["close", "abort"])
async def test_a_cut_stream_never_looks_complete(process: Process, ending: Any) -> None:
    async with fake_upstream(Script((STREAM_HEAD, *OPENING), pause=0.01, ending=ending)) as upstream:
        said = await streamed(process, claude(upstream.url))

    assert "error" in json.loads(said[-1])
    assert b"[DONE]" not in said
    assert not any(choice.get("finish_reason") for data in said for choice in json.loads(data).get("choices", ()))


@pytest.mark.parametrize("stated", [{}, {"usage": {}}])
async def test_usage_that_the_provider_did_not_state_is_not_made_up(process: Process, stated: dict[str, Any]) -> None:
    silent = [event for event in (*OPENING, *CLOSING) if b"usage" not in event]
    end = events({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, **stated})
    async with fake_upstream(Script((STREAM_HEAD, *silent[:-1], *end, silent[-1]))) as upstream:
        said = await streamed(process, claude(upstream.url))
    async with fake_upstream(answer({**MESSAGE, "usage": {}})) as upstream:
        completion = await asked(process, claude(upstream.url))

    assert said[-1] == b"[DONE]"
    assert not any("usage" in json.loads(data) for data in said[:-1])
    assert "usage" not in completion


async def test_a_rate_limit_keeps_its_time(process: Process) -> None:
    busy = answer({"type": "error", "error": {"type": "x"}}, status=429, headers={"Retry-After": "30"})
    async with fake_upstream(busy) as upstream:
        with pytest.raises(UpstreamRateLimited) as refused:
            await asked(process, claude(upstream.url))

    assert (refused.value.retry_after, len(upstream.requests)) == ("30", 1)


@pytest.mark.parametrize(
    ("status", "code"), [(400, "upstream_refused"), (401, "upstream_refused"), (529, "upstream_unavailable")]
)
async def test_a_refusal_is_asked_for_once_and_told_without_its_words(process: Process, status: int, code: str) -> None:
    words = {"type": "error", "error": {"type": "x", "message": f"no: {KEY}, canary of a prompt"}}
    async with fake_upstream(answer(words, status=status)) as upstream:
        with pytest.raises(GatewayError) as refused:
            await asked(process, claude(upstream.url))

    assert (refused.value.code, len(upstream.requests)) == (code, 1)
    assert not [word for word in (KEY, "canary") if word in str(refused.value)]


@pytest.mark.parametrize("parameter", ["logit_bias", "api_base", "mock_response", "user", "metadata", "fallbacks"])
async def test_what_cannot_be_carried_is_refused_before_anything_leaves(process: Process, parameter: str) -> None:
    body = {**CHAT_REQUEST, parameter: {"1": 1} if parameter == "logit_bias" else "http://127.0.0.1:9"}
    async with fake_upstream(answer(MESSAGE)) as upstream:
        at = replace(claude(upstream.url), engine="litellm", upstream_model="cohere_chat/command-a-03-2025")
        with pytest.raises(UpstreamRefused) as refused:
            await asked(process, at, body)

    assert (refused.value.status, refused.value.billed, upstream.connections) == (400, False, 0)


async def test_a_model_of_no_known_provider_is_the_deployments_fault(process: Process) -> None:
    at = replace(claude("http://127.0.0.1:9/v1"), engine="litellm", upstream_model="nobody-knows/this")

    with pytest.raises(UpstreamRefused, match="upstream_model") as refused:
        await asked(process, at)

    assert (refused.value.status, refused.value.may_fall_back) == (404, True)


async def test_a_provider_gets_its_key_in_the_header_of_its_own(process: Process) -> None:
    told = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Oi"}]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7},
    }
    async with fake_upstream(answer(told)) as upstream:
        at = replace(claude(upstream.url), engine="litellm", upstream_model="gemini/gemini-2.5-flash")
        completion = await asked(process, at)

    [request] = upstream.requests
    assert request.path.endswith("/models/gemini-2.5-flash:generateContent")
    assert (request.headers["x-goog-api-key"], "authorization" in request.headers) == (KEY, False)
    assert completion["choices"][0]["message"]["content"] == "Oi"


async def test_embeddings_go_the_same_way(process: Process) -> None:
    class Embeddings(ChatShape):
        path = "/embeddings"

    told = {"data": [{"index": 0, "embedding": [0.5, -0.25]}], "usage": {"prompt_tokens": 3, "total_tokens": 3}}
    async with fake_upstream(answer(told)) as upstream:
        at = replace(claude(upstream.url), engine="litellm", upstream_model="mistral/mistral-embed")
        body = {"model": "m", "input": ["canary of a prompt"], "encoding_format": "base64"}
        async with litellm_client(process) as client:
            async with client.send(at, replace(outgoing(body), shape=Embeddings())) as reply:
                vectors = json.loads(await reply.read(1_000_000))

    assert vectors["data"][0]["embedding"] == [0.5, -0.25]
    assert (upstream.requests[0].path, upstream.requests[0].headers["authorization"]) == (
        "/v1/embeddings",
        f"Bearer {KEY}",
    )


async def test_the_guard_has_the_last_word(process: Process) -> None:
    async with fake_upstream(answer(MESSAGE)) as upstream:
        with pytest.raises(NotLocal):
            await asked(process, claude(upstream.url, zone=LAN))
        async with litellm_client(process) as client:
            with pytest.raises(LabelExceedsClearance):
                async with client.send(claude(upstream.url, zone=NEAR_HOSTED), outgoing(CHAT_REQUEST, label=PRIVATE)):
                    pytest.fail("it was sent")

    assert upstream.connections == 0


async def test_a_picture_is_not_fetched_from_elsewhere(process: Process) -> None:
    async with fake_upstream(answer(b"picture")) as elsewhere, fake_upstream(answer(MESSAGE)) as upstream:
        part = {"type": "image_url", "image_url": {"url": f"http://127.0.0.1:{elsewhere.port}/a.png"}}
        at = replace(claude(upstream.url), engine="litellm", upstream_model="gemini/gemini-2.5-flash")
        with pytest.raises(GatewayError):
            await asked(process, at, {"messages": [{"role": "user", "content": [part]}]})

    assert elsewhere.connections == 0


@pytest.mark.parametrize("script", [Script((), ending="hang"), Script((STREAM_HEAD, *OPENING), ending="hang")])
async def test_who_leaves_hangs_up_at_the_provider(process: Process, script: Script) -> None:
    async with fake_upstream(script) as upstream, litellm_client(process) as client:
        body = {**CHAT_REQUEST, "stream": bool(script.pieces)}

        async def ask() -> None:
            async with client.send(claude(upstream.url), outgoing(body)) as reply:
                await reply.read(1_000_000)

        asking = asyncio.create_task(ask())
        await upstream.asked.wait()
        asking.cancel()
        await asyncio.wait_for(upstream.left.wait(), 20)

    assert len(upstream.requests) == 1


async def test_a_deployment_that_cannot_be_reached_is_told_as_that(process: Process) -> None:
    async with fake_upstream(answer(MESSAGE)) as gone:
        pass

    with pytest.raises(UpstreamUnavailable, match="'near' cannot be reached") as refused:
        await asked(process, claude(gone.url))

    assert not refused.value.billed


async def test_a_silent_deployment_is_given_up_within_its_limit(process: Process) -> None:
    async with fake_upstream(Script((), ending="hang")) as upstream:
        at = claude(upstream.url)
        with pytest.raises(UpstreamTimeout) as refused:
            await asked(process, replace(at, limits=replace(at.limits, first_byte=1.0)))

    assert refused.value.billed


async def test_without_the_process_it_is_said_what_is_missing(tmp_path: Path) -> None:
    async with Guard() as guard:
        client = LitellmClient(HttpClient(guard), Tickets(), tmp_path / "none.sock")
        with pytest.raises(UpstreamUnavailable, match="litellm process") as refused:
            async with client.send(claude("http://127.0.0.1:9/v1"), outgoing(CHAT_REQUEST)):
                pytest.fail("it was sent")

    assert (refused.value.retry_after, refused.value.billed) == ("5", False)


async def test_no_prompt_and_no_key_is_in_its_log(process: Process) -> None:
    words = {"type": "error", "error": {"type": "x", "message": f"no: {KEY}, canary of a prompt"}}
    async with fake_upstream(answer(words, status=400)) as upstream:
        with pytest.raises(UpstreamRefused):
            await asked(process, claude(upstream.url))

    log = process.log.read_bytes()
    assert b"a call failed" in log
    assert not [word for word in (KEY.encode(), b"canary") if word in log]


def test_only_what_the_gateway_does_not_speak_itself_needs_it() -> None:
    class Messages(ChatShape):
        path = "/messages"

    claude_ = claude("http://127.0.0.1:9/v1")
    assert needs_litellm(claude_, CHAT)
    assert not needs_litellm(claude_, Messages())
    assert needs_litellm(replace(claude_, engine="litellm"), CHAT)
    assert not needs_litellm(deployment("http://127.0.0.1:9/v1"), CHAT)


@pytest.mark.parametrize("model", ["ollama/kimi-k3:cloud", "ollama_chat/llama"])
async def test_ollama_is_not_asked_past_the_check_of_where_its_models_run(tmp_path: Path, model: str) -> None:
    async with fake_upstream(answer(MESSAGE)) as upstream, Guard() as guard:
        client = LitellmClient(HttpClient(guard), Tickets(), tmp_path / "none.sock")
        with pytest.raises(NotLocal, match="engine: ollama"):
            async with client.send(replace(claude(upstream.url), upstream_model=model), outgoing(CHAT_REQUEST)):
                pytest.fail("it was sent")

    assert upstream.connections == 0


async def test_a_tool_is_called_with_its_arguments_as_text(process: Process) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "São Paulo"}}
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tool = {"type": "function", "function": {"name": "weather", "parameters": schema}}
    async with fake_upstream(answer({**MESSAGE, "content": [call], "stop_reason": "tool_use"})) as upstream:
        completion = await asked(process, claude(upstream.url), {**CHAT_REQUEST, "tools": [tool]})

    [choice] = completion["choices"]
    [made] = choice["message"]["tool_calls"]
    sent = json.loads(upstream.requests[0].body)["tools"][0]
    assert (sent["name"], sent["input_schema"]["required"]) == ("weather", ["city"])
    assert (choice["finish_reason"], choice["message"]["content"], made["id"]) == ("tool_calls", None, "toolu_1")
    assert json.loads(made["function"]["arguments"]) == {"city": "São Paulo"}


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one block of a message."""
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def called(index: int) -> list[dict[str, Any]]:
    """The events of a tool call whose arguments come in two pieces."""
    tool = {"type": "tool_use", "id": f"toolu_{index}", "name": "w", "input": {}}
    pieces = ('{"ci', f'ty": {index}}}')
    return block(index, tool, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


async def test_a_streamed_tool_call_has_its_name_its_id_and_all_its_arguments(process: Process) -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    said = events(
        {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
        *block(0, thinking, {"type": "thinking_delta", "thinking": "Penso."}),
        *called(1),
        *called(2),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": USAGE},
        {"type": "message_stop"},
    )
    async with fake_upstream(Script((STREAM_HEAD, *said))) as upstream:
        *chunks, done = await streamed(process, claude(upstream.url))

    choices = [choice for chunk in chunks for choice in json.loads(chunk)["choices"]]
    calls: dict[int, dict[str, str]] = {}
    for part in (part for choice in choices for part in choice["delta"].get("tool_calls") or ()):
        call = calls.setdefault(part["index"], {"id": "", "name": "", "arguments": ""})
        call["id"] += part.get("id") or ""
        for field, text in part["function"].items():
            call[field] += text or ""
    assert list(calls.values()) == [
        {"id": f"toolu_{at}", "name": "w", "arguments": json.dumps({"city": at})} for at in (1, 2)
    ]
    assert "".join(choice["delta"].get("reasoning_content") or "" for choice in choices) == "Penso."
    assert (choices[-1]["finish_reason"], done) == ("tool_calls", b"[DONE]")


async def test_thoughts_come_as_reasoning_content(process: Process) -> None:
    blocks = [{"type": "thinking", "thinking": "Penso.", "signature": "s"}, *MESSAGE["content"]]
    async with fake_upstream(answer({**MESSAGE, "content": blocks})) as upstream:
        body = {**CHAT_REQUEST, "max_tokens": 4096, "reasoning_effort": "low"}
        completion = await asked(process, claude(upstream.url), body)

    message = completion["choices"][0]["message"]
    assert json.loads(upstream.requests[0].body)["thinking"]["type"] in ("enabled", "adaptive")
    assert (message["reasoning_content"], message["content"]) == ("Penso.", "Olá, 👋")


@pytest.mark.parametrize(("engine", "needed"), [("anthropic", True), ("litellm", True), ("openai", False)])
def test_the_process_is_started_where_a_deployment_needs_it(tmp_path: Path, engine: str, needed: bool) -> None:
    at = declared("far", "https://api.example/v1", engine=engine)
    settings = make_settings(tmp_path, RULES, [at])

    assert parts.translates(load_pack(settings.pack)) is needed


def test_it_is_started_before_the_gateway_and_told_both_sockets(tmp_path: Path) -> None:
    settings = Settings.from_environment(tmp_path, environ={})
    specs = parts.specs(settings, Address("127.0.0.1", 4141), engine=False, translator=True)

    assert [spec.name for spec in specs] == ["valkey", "litellm", "retrieval", "gateway"]
    assert specs[1].command[-4:] == (
        "--socket", str(specs[1].socket), "--exit", str(settings.run_dir / "exit.sock")
    )  # fmt: skip
    assert not [name for name in specs[1].environment if "KEY" in name]
