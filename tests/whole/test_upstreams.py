"""The house with the models of others: litellm in its own process, an engine that is woken, a pack that is edited."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from tests.gateway.house import deployment
from tests.running import ADMIN_KEY, RunningHouse, running, write_pack
from tests.wire.upstream import Script, Upstream, answer, fake_upstream, stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

pytestmark = [pytest.mark.whole, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

KEY = "sk-of-the-provider-4711"
USAGE = {"input_tokens": 600, "cache_read_input_tokens": 400, "output_tokens": 200}
COST = "0.00492"
"""600 tokens at 3 dollars a million, 400 at 0.30, 200 at 15."""
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_sequence": None}
WHOLE = {**MESSAGE, "content": [{"type": "text", "text": "Brasília."}], "stop_reason": "end_turn", "usage": USAGE}


def event(kind: str, **more: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


BEGUN = (
    event("message_start", message={**MESSAGE, "content": [], "stop_reason": None, "usage": USAGE}),
    event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Brasília."}),
)
ENDED = (
    event("content_block_stop", index=0),
    event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 200}),
    event("message_stop"),
)


@dataclass(frozen=True)
class Town:
    """The house, and a provider that speaks Anthropic's protocol."""

    house: RunningHouse
    provider: Upstream

    def post(self, session: aiohttp.ClientSession, path: str, model: str, *, stream: bool) -> Any:
        """Ask for a chat or a message: both take this."""
        messages = [{"role": "user", "content": "Qual é a capital do Brasil?"}]
        body = {"model": model, "messages": messages, "stream": stream, "max_tokens": 500}
        return session.post(f"{self.house.url}{path}", json=body, headers={"authorization": f"Bearer {ADMIN_KEY}"})

    async def ask(self, model: str, *, stream: bool, path: str = "/v1/chat/completions") -> tuple[int, str]:
        """The status, and the answer with its cost: a header before it, or a comment in it."""
        async with aiohttp.ClientSession() as session, self.post(session, path, model, stream=stream) as response:
            return response.status, response.headers.get("soleira-cost-usd", "") + await response.text()

    def plays(self, script: Script) -> None:
        """What the provider answers from now on."""
        self.provider.scripts = (script,)

    async def spent(self) -> dict[str, Any]:
        shown = await asyncio.to_thread(self.house.soleira, "spend", "--json")
        told: dict[str, Any] = json.loads(shown.stdout)
        return told

    async def translates(self) -> None:
        """Return once the litellm process is up: it takes some seconds."""
        self.plays(answer(WHOLE))
        await until(lambda: (self.house.data / "run" / "litellm.sock").exists(), 60)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def town(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    data = tmp_path_factory.mktemp("town")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = Path(__file__).with_name("sleeper.py")
    command = [sys.executable, "-I", str(script), str(port), str(data / "starts")]
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(fake_upstream(answer(WHOLE)))
        rows = [
            deployment("claude", provider.url, engine="anthropic", api_key={"env": "PROVIDER_KEY"}),
            deployment("sleeper", f"http://127.0.0.1:{port}/v1", wake={"command": command, "seconds": 60}),
        ]
        write_pack(data / "pack", rows)
        (data / "samples.ingested").touch()  # nobody asks for papers here
        opened = running(data, PROVIDER_KEY=KEY)
        house = await asyncio.to_thread(opened.__enter__)
        stack.push_async_callback(asyncio.to_thread, opened.__exit__, None, None, None)
        yield Town(house, provider)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
@pytest.mark.parametrize("stream_it", [False, True], ids=["json", "stream"])
async def test_a_provider_with_a_protocol_of_its_own_answers(town: Town, path: str, stream_it: bool) -> None:
    await town.translates()
    town.plays(stream(*BEGUN, *ENDED) if stream_it else answer(WHOLE))

    status, told = await town.ask("claude", stream=stream_it, path=path)

    asked = town.provider.requests[-1]
    assert (status, asked.path, asked.headers["x-api-key"]) == (200, "/v1/messages", KEY)
    assert "Bras" in told
    assert COST in told


async def test_the_litellm_process_has_no_network_and_no_key(town: Town) -> None:
    await town.translates()
    assert (await town.ask("claude", stream=False))[0] == 200
    translator, gateway = (Path("/proc") / str(town.house.child(name)) for name in ("litellm_child", "gateway.main"))
    if not translator.exists():
        pytest.skip("this system has no /proc to read processes from")

    assert KEY.encode() not in (translator / "environ").read_bytes()
    assert internet_sockets(translator) == 0
    assert internet_sockets(gateway) > 0
    assert (holds(gateway, KEY.encode()), holds(translator, KEY.encode())) == (True, False)
    files = [file for file in town.house.data.rglob("*") if file.is_file()]
    assert [file for file in files if KEY.encode() in file.read_bytes()] == []


async def test_a_stream_of_the_litellm_process_that_is_killed_ends_with_an_error_and_is_settled(town: Town) -> None:
    await town.translates()
    before = await town.spent()
    town.provider.left.clear()
    town.plays(stream(*BEGUN, ending="hang"))
    async with (
        aiohttp.ClientSession() as session,
        town.post(session, "/v1/chat/completions", "claude", stream=True) as response,
    ):
        await response.content.readuntil(b"data: ")
        os.kill(town.house.child("litellm_child"), signal.SIGKILL)
        rest = await response.text()
    async with asyncio.timeout(60):
        await town.provider.left.wait()
    after = await town.spent()

    assert '"code":"upstream_cut"' in rest
    assert "[DONE]" not in rest
    assert (after["attempts"], after["held_nano_usd"]) == (before["attempts"] + 1, 0)
    town.plays(answer(WHOLE))
    assert await answers_again(town, "claude")


async def test_an_engine_that_sleeps_is_woken_once_by_its_command(town: Town) -> None:
    whole, streamed = await asyncio.gather(town.ask("sleeper", stream=False), town.ask("sleeper", stream=True))

    assert (whole[0], streamed[0]) == (200, 200)
    assert "Bom dia." in whole[1]
    assert "Bom dia." in streamed[1]
    assert streamed[1].endswith("data: [DONE]\n\n")
    assert (town.house.data / "starts").read_text() == "started\n"


async def test_who_edits_the_pack_reads_why_it_is_not_taken_up(town: Town) -> None:
    file = town.house.data / "pack" / "deployments.yaml"
    good = file.read_text()
    row = deployment("elsewhere", town.provider.url, api_key={"env": "NEVER_SET_KEY"})
    said = town.house.data / "said.txt"

    file.write_text(json.dumps({"deployments": [*json.loads(good)["deployments"], row]}))
    await until(lambda: "NOT taken up" in said.read_text(), 30)
    refused = said.read_text()
    file.write_text(good)
    await until(lambda: "Policy taken up" in said.read_text(), 30)

    assert "deployment 'elsewhere' needs its key in the environment variable NEVER_SET_KEY" in refused


async def answers_again(town: Town, model: str) -> bool:
    for _ in range(60):
        if (await town.ask(model, stream=False))[0] == 200:
            return True
        await asyncio.sleep(0.2)
    return False


async def until(true: Any, seconds: float) -> None:
    """Return once it is true: other processes take their time."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come true in time"
        await asyncio.sleep(0.1)


def internet_sockets(process: Path) -> int:
    """How many of its sockets are no Unix sockets, those that only listen too."""
    inodes = set(sockets(process))
    tables = [(process / "net" / table).read_text() for table in ("tcp", "tcp6", "udp", "udp6")]
    return len([line for table in tables for line in table.splitlines()[1:] if line.split()[9] in inodes])


def sockets(process: Path) -> Iterator[str]:
    for link in (process / "fd").iterdir():
        try:
            target = os.readlink(link)
        except FileNotFoundError:  # closed meanwhile
            continue
        if target.startswith("socket:["):
            yield target[8:-1]


def holds(process: Path, text: bytes) -> bool:
    """Whether a process has the text in its memory."""
    if not os.access(process / "mem", os.R_OK):
        pytest.skip("this system shows nobody the memory of processes")
    with (process / "mem").open("rb", buffering=0) as memory:
        for line in (process / "maps").read_text().splitlines():
            place, rights, *_ = line.split()
            if not rights.startswith("rw") or "[v" in line:
                continue
            start, end = (int(number, 16) for number in place.split("-"))
            if text in read(memory, start, end - start):
                return True
    return False


def read(memory: Any, start: int, length: int) -> bytes:
    try:
        memory.seek(start)
        found: bytes = memory.read(length)
    except OSError:  # unmapped meanwhile
        return b""
    return found
