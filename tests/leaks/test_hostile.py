"""What deployments answer, whatever it is, tells nobody what was asked and is not taken for the gateway's own words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from gateway.errors import UpstreamCut
from gateway.upstream.guard import Guard
from gateway.upstream.probes.look import look
from gateway.upstream.probes.prober import now
from tests.fakes import deployment as made
from tests.gateway.house import deployment, house
from tests.leaks.asking import EVERYTHING, LEAST, post
from tests.wire.serving import serving
from tests.wire.sink import recording_sink
from tests.wire.upstream import DONE, answer, completion, delta, fake_upstream, finish, stream

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path

    from gateway.catalog.observed import Observation
    from tests.wire.upstream import Script

CANARY = "canary-of-a-prompt 4711"
ECHOES: list[Script] = [
    answer({"error": {"message": CANARY, "param": CANARY, "code": CANARY}}, status=400, headers={"X-Said": CANARY}),
    answer({"error": {"message": CANARY, "type": CANARY}}, status=500, headers={"Retry-After": CANARY}),
    answer({"error": {"message": CANARY, "code": CANARY}}),
    answer({"object": "error", "message": CANARY}),
    answer(CANARY.encode()),
    answer({"model": CANARY}),
    answer({}, status=302, headers={"Location": f"/{CANARY}"}),
]
"""Refusals of upstreams that repeat what they were asked."""


def ledger(data: Path) -> bytes:
    """All that the ledger's files hold."""
    return b"".join(file.read_bytes() for file in data.glob("ledger.db*"))


@pytest.mark.parametrize("endpoint", LEAST)
async def test_a_refusal_that_repeats_the_prompt_is_told_without_it(
    tmp_path: Path, endpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {name: "canary" if isinstance(value, str) else value for name, value in LEAST[endpoint].items()}
    async with fake_upstream(*ECHOES) as hosted:
        far = deployment("far", hosted.url, capabilities=list(EVERYTHING))
        async with house(tmp_path, [far]) as home:
            bodies = [(await post(home, endpoint, "far", asked)).body for _ in ECHOES]
            metrics = home.runtime.metrics.exposition()
            seen = repr(home.runtime.fleet.observed.of("far"))
    logged = "".join(capsys.readouterr())

    assert b"upstream" in bodies[0] or b"refused" in bodies[0]
    for said in (*bodies, metrics, seen.encode(), logged.encode(), ledger(tmp_path)):
        assert b"canary-of-a-prompt" not in said


async def test_words_in_place_of_a_models_name_are_not_kept(tmp_path: Path) -> None:
    async with fake_upstream(answer(completion(model=f"{CANARY} ")), answer(completion(model="canary: oh?"))) as hosted:
        async with house(tmp_path, [deployment("far", hosted.url)]) as home:
            await post(home, "chat/completions", "far")
            await post(home, "chat/completions", "far")
            seen = home.runtime.fleet.observed.of("far")

    assert seen is not None
    assert "canary: oh?" not in seen.models
    assert b"canary: oh?" not in ledger(tmp_path)


LATER = [
    "1, 1 Jan 2027 0:0:0 +9999999999999",
    "Fri, 31 Dec 2026 99999999999999:0:0 GMT",
    "Fri, 31 Dec 99999999999999999999 00:00:00 GMT",
    "1e300",
    "9" * 400,
    "nan",
]


@pytest.mark.parametrize("value", LATER)
async def test_a_time_that_is_none_keeps_nobody_from_the_next_deployment(tmp_path: Path, value: str) -> None:
    refusing = answer({}, status=429, headers={"Retry-After": value})
    async with fake_upstream(refusing) as first, fake_upstream(answer(completion("olá"))) as second:
        pair = [deployment("one", first.url, model="both"), deployment("two", second.url, model="both")]
        async with house(tmp_path, pair) as home:
            given = await post(home, "chat/completions", "both")

    assert (given.status, given.headers["soleira-deployment"]) == (200, "two")


FORGED = b": soleira-decision=dec_0, soleira-zone=device, soleira-cost-usd=0\n"


@pytest.mark.parametrize("event", [FORGED + b"\n", FORGED + b"data: " + json.dumps(delta("b")).encode() + b"\n\n"])
async def test_an_upstream_does_not_speak_as_the_gateway_does(tmp_path: Path, event: bytes) -> None:
    script = stream(delta("a"), b": waiting\n\n", event, delta("c"), finish(), DONE)
    async with fake_upstream(script) as hosted, house(tmp_path, [deployment("far", hosted.url)]) as home:
        given = await post(home, "chat/completions", "far", {"stream": True})

    assert b": waiting\n\n" in given.body
    assert given.body.count(b"soleira-") == given.body.rpartition(b"\n: ")[2].count(b"soleira-") > 0
    assert "soleira-zone=hosted" in given.body.decode()
    assert given.text.replace("b", "") == "ac"


async def test_the_type_of_an_event_closes_no_answer_that_goes_on(tmp_path: Path) -> None:
    forged = delta("a", type="x\n\ndata: [DONE]\n\n")
    async with fake_upstream(stream(forged, delta("b"))) as hosted:
        renamed = deployment("far", hosted.url, upstream_model="m")
        async with house(tmp_path, [renamed]) as home:
            cut = await post(home, "chat/completions", "far", {"stream": True})

    assert b"\ndata: [DONE]" not in cut.body
    assert cut.events[-1]["error"]["code"] == UpstreamCut.code


async def looked_at(hostile: bytes, engine: str) -> Observation:
    """What is seen of a server that answers every question with these bytes."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(hostile)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + hostile)
        await writer.drain()

    async with serving(handle) as port, Guard() as guard:
        at = replace(made(f"http://127.0.0.1:{port}/v1"), engine=engine)
        return await look(guard, at, now())


HOSTILE = {
    "nothing": b"",
    "no JSON": b"\xff\xfe\x00" * 1000,
    "deep": b'{"data":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "not a number": b'{"data": [{"id": "small", "max_model_len": NaN}]}',
    "twice": b'{"data": [{"id": "a", "id": {"x": 1}}], "data": 5}',
    "half a pair": b'{"data": [{"id": "\\ud800"}]}',
    "huge numbers": b'{"data": [{"id": "small", "max_model_len": 1' + b"0" * 300 + b'}], "total_slots": 1e999}',
    "other kinds": b'{"data": [5, null, {"id": []}], "models": [1, {"name": {}}], "capabilities": {}, "modalities": 3}',
    "figures": b'vllm:num_requests_running{a="b"} 1.0\n' * 100_000,
    "a list": b"[" + b"{}," * 100_000 + b"{}]",
    "endless name": b'{"data": [{"id": "' + b"x" * 3_000_000 + b'"}], "version": "\x1b[2J"}',
}


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama_server", "ollama", "tokenspeed", "openai"])
@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
async def test_a_probe_survives_whatever_a_server_says(body: bytes, engine: str) -> None:
    seen = await looked_at(body, engine)

    assert all(len(name) <= 120 for name in seen.models)
    assert len(repr(seen)) < 20_000


async def test_hosted_deployments_hear_nothing_until_they_are_asked(tmp_path: Path) -> None:
    async with recording_sink() as hosted:
        engines = ("openai", "vllm", "ollama", "anthropic", "litellm", "moonshot")
        far = [deployment(engine, hosted.url, engine=engine, upstream_model="a/b:cloud") for engine in engines]
        async with house(tmp_path, far) as home:
            await home.runtime.prober.round()
            await home.runtime.packs.reload()
            await home.runtime.prober.round()
            assert hosted.connections == 0

            await post(home, "chat/completions", "openai", {"messages": []})
            assert hosted.connections == 0


async def test_a_probe_by_command_carries_nobodys_words_and_no_other_key(tmp_path: Path) -> None:
    heard: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            heard.append(data)
            writer.write(b"HTTP/1.1 404 Nothing\r\nContent-Length: 2\r\n\r\n{}")
            await writer.drain()

    async with fake_upstream(answer(completion())) as hosted, serving(handle) as port:
        engines = ("openai", "vllm", "llama_server", "sglang", "tokenspeed", "anthropic", "litellm")
        others = [deployment(name, f"http://127.0.0.1:{port}/v1", engine=name) for name in engines]
        async with house(tmp_path, [deployment("far", hosted.url), *others]) as home:
            words = {"messages": [{"role": "user", "content": CANARY}], "user": CANARY}
            await post(home, "chat/completions", "far", words)
            for at in home.runtime.packs.current.catalog.deployments:
                if at.name in engines:
                    await home.runtime.prober.probe(at)

    assert CANARY.encode() in hosted.requests[0].body
    assert {said.split(b" ")[0] for said in heard} == {b"GET"}
    assert [said for said in heard if b"canary" in said or b"authorization" in said.lower()] == []
