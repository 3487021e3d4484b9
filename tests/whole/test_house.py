"""The house end to end, on real parts: a private question is answered at home, and nothing billed is unrecorded."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from tests.gateway.house import deployment
from tests.running import ADMIN_KEY, RunningHouse, running, write_pack
from tests.wire.sink import Sink, recording_sink
from tests.wire.upstream import DONE, Upstream, delta, fake_upstream, finish
from tests.wire.upstream import stream as streaming

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [pytest.mark.whole, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

USAGE = {"prompt_tokens": 1000, "completion_tokens": 200, "prompt_tokens_details": {"cached_tokens": 400}}
COST = 600 * 3_000 + 400 * 300 + 200 * 15_000


@dataclass(frozen=True)
class Street:
    """The house, a hosted model that answers, and one that must never be asked."""

    house: RunningHouse
    hosted: Upstream
    forbidden: Sink

    async def ask(self, model: str, question: str, *, stream: bool = False) -> tuple[int, str]:
        """Ask; the status and the whole answer as text."""
        body = {"model": model, "messages": [{"role": "user", "content": question}], "stream": stream}
        async with aiohttp.ClientSession() as session, self._post(session, body) as response:
            return response.status, await response.text()

    def _post(self, session: aiohttp.ClientSession, body: object) -> Any:
        headers = {"authorization": f"Bearer {ADMIN_KEY}"}
        return session.post(f"{self.house.url}/v1/chat/completions", json=body, headers=headers)

    def spent(self) -> dict[str, Any]:
        """What the command line says was spent."""
        told: dict[str, Any] = json.loads(self.house.soleira("spend", "--json").stdout)
        return told


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def street(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Street]:
    data = tmp_path_factory.mktemp("house")
    whole = streaming(delta("Brasília."), finish(), {"id": "c", "choices": [], "usage": USAGE}, DONE)
    async with AsyncExitStack() as stack:
        hosted = await stack.enter_async_context(fake_upstream(whole))
        forbidden = await stack.enter_async_context(recording_sink())
        write_pack(data / "pack", [deployment("kimi-k3", hosted.url), deployment("gpt", forbidden.url)])
        opened = running(data)
        house = await asyncio.to_thread(opened.__enter__)
        stack.push_async_callback(asyncio.to_thread, opened.__exit__, None, None, None)
        yield Street(house, hosted, forbidden)


def first_citation(answer: str) -> dict[str, Any]:
    cited: dict[str, Any] = json.loads(answer)["choices"][0]["message"]["annotations"][0]["file_citation"]
    return cited


@pytest.mark.parametrize(
    ("question", "file", "words"),
    [
        ("Quando vence o aluguel?", "contrato-de-aluguel.md", "dia 8"),
        ("How long are parts and labor covered on the dishwasher?", "dishwasher-warranty.md", "two years"),
        (
            "Em quanto tempo um técnico visita a casa para a lava-louças?",
            "dishwasher-warranty.md",
            "five business days",
        ),
    ],
    ids=["pt", "en", "pt on an English paper"],
)
async def test_a_question_is_answered_at_home_from_the_right_file(
    street: Street, question: str, file: str, words: str
) -> None:
    status, answer = await street.ask("quotes@samples", question)

    assert status == 200
    assert words in json.loads(answer)["choices"][0]["message"]["content"]
    assert first_citation(answer)["file"] == file


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
async def test_a_private_paper_stays_in_the_house(street: Street, stream: bool) -> None:
    refused = await street.ask("gpt@samples", "Quando vence o aluguel?", stream=stream)
    answered = await street.ask("auto@samples", "Quando vence o aluguel?", stream=stream)

    assert refused[0] == 403
    assert json.loads(refused[1])["error"]["code"] == "label_exceeds_clearance"
    assert answered[0] == 200
    assert "dia 8" in answered[1]
    assert b"POST" not in street.forbidden.received  # it is looked at, for its zone is a network of ours


async def test_a_public_question_goes_out_and_its_cost_is_exact(street: Street) -> None:
    before = await asyncio.to_thread(street.spent)

    status, answer = await street.ask("kimi-k3", "Qual é a capital do Brasil?", stream=True)
    after = await asyncio.to_thread(street.spent)

    assert status == 200
    assert answer.endswith("data: [DONE]\n\n")
    assert after["total_nano_usd"] - before["total_nano_usd"] == COST
    assert after["held_nano_usd"] == 0


async def test_a_gateway_killed_in_the_middle_of_a_stream_leaves_nothing_unrecorded(street: Street) -> None:
    before = await asyncio.to_thread(street.spent)
    street.hosted.scripts, scripts = (streaming(delta("Bra"), ending="hang"),), street.hosted.scripts
    body = {"model": "kimi-k3", "messages": [{"role": "user", "content": "Qual é a capital?"}], "stream": True}
    async with aiohttp.ClientSession() as session, street._post(session, body) as response:
        await response.content.readuntil(b"Bra")
        os.kill(street.house.child("gateway.main"), signal.SIGKILL)
        with pytest.raises(aiohttp.ClientError):
            await response.read()
    street.hosted.scripts = scripts
    await _ready(street.house)

    after = await asyncio.to_thread(street.spent)
    again = await street.ask("kimi-k3", "Qual é a capital do Brasil?", stream=True)

    assert after["attempts"] == before["attempts"] + 1
    assert after["estimated"] == before["estimated"] + 1
    assert after["total_nano_usd"] > before["total_nano_usd"]
    assert after["held_nano_usd"] == 0
    assert again[0] == 200


@pytest.mark.parametrize("child", ["retrieval.service", "valkey"])
async def test_a_stream_does_not_notice_that_another_child_is_killed(street: Street, child: str) -> None:
    slow = streaming(*(delta(f"{number} ") for number in range(20)), finish(), DONE, pause=0.05)
    street.hosted.scripts, scripts = (slow,), street.hosted.scripts
    body = {"model": "kimi-k3", "messages": [{"role": "user", "content": "Conte."}], "stream": True}
    async with aiohttp.ClientSession() as session, street._post(session, body) as response:
        await response.content.readuntil(b'"3 "')
        os.kill(street.house.child(child), signal.SIGKILL)
        rest = await response.text()
    street.hosted.scripts = scripts
    await asyncio.sleep(0.5)
    await _ready(street.house)

    assert '"19 "' in rest
    assert rest.endswith("data: [DONE]\n\n")
    assert (await asyncio.to_thread(street.spent))["held_nano_usd"] == 0


async def test_a_stream_of_an_engine_that_is_killed_ends_with_an_error_and_is_settled(street: Street) -> None:
    question = "Tell me a very long story about a lighthouse, with many details."
    body = {"model": "smollm2-135m", "messages": [{"role": "user", "content": question}], "stream": True}
    before = await asyncio.to_thread(street.spent)
    async with aiohttp.ClientSession() as session, street._post(session, body) as response:
        await response.content.readuntil(b"data: ")
        os.kill(street.house.child("engine_child"), signal.SIGKILL)
        rest = await response.text()
    after = await asyncio.to_thread(street.spent)

    assert '"code":"upstream_cut"' in rest
    assert "[DONE]" not in rest
    assert (after["attempts"], after["held_nano_usd"]) == (before["attempts"] + 1, 0)
    assert await _answers_again(street, "smollm2-135m")


async def _answers_again(street: Street, model: str) -> bool:
    for _ in range(50):
        if (await street.ask(model, "Say hello."))[0] == 200:
            return True
        await asyncio.sleep(0.2)
    return False


@pytest.mark.parametrize("child", ["retrieval.service", "engine_child", "valkey"])
async def test_a_killed_child_comes_back(street: Street, child: str) -> None:
    killed = street.house.child(child)

    os.kill(killed, signal.SIGKILL)
    await asyncio.sleep(0.5)
    await _ready(street.house)
    status, _ = await street.ask("auto@samples", "Quando vence o aluguel?")

    assert status == 200
    assert street.house.child(child) != killed


async def test_a_deleted_document_never_answers_again(street: Street) -> None:
    paper = street.house.data / "segredo.md"
    paper.write_text("# Cofre\n\nO código do cofre do sítio é jabuticaba.\n")
    taken = await asyncio.to_thread(street.house.soleira, "ingest", str(paper), "--collection", "vault")
    question = ("quotes@vault", "Qual é o código do cofre?")
    found = await street.ask(*question)

    listed = await asyncio.to_thread(
        street.house.soleira, "search", "código do cofre", "--collection", "vault", "--json"
    )
    document = json.loads(listed.stdout)[0]["document"]
    deleted = await asyncio.to_thread(street.house.soleira, "docs", "delete", document)
    gone = await street.ask(*question)

    assert (taken.returncode, deleted.returncode) == (0, 0)
    assert "jabuticaba" in found[1]
    assert "jabuticaba" not in gone[1]


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
async def test_the_demonstration_model_answers_by_name(street: Street, stream: bool) -> None:
    status, answer = await street.ask("smollm2-135m", "Say hello.", stream=stream)

    assert status == 200
    assert "smollm2-135m" in answer
    assert answer.endswith("data: [DONE]\n\n") if stream else json.loads(answer)["usage"]["completion_tokens"] > 0


async def test_the_gateway_is_light(street: Street) -> None:
    process = _process(street.house.child("gateway.main"))

    memory_kb = int((process / "status").read_text().split("VmRSS:")[1].split()[0])
    libraries = (process / "maps").read_text()

    assert memory_kb <= 150 * 1024
    assert not [name for name in ("torch", "litellm", "qdrant") if name in libraries]


async def test_no_word_of_a_conversation_is_kept(street: Street) -> None:
    street.hosted.scripts, scripts = (streaming(delta("canario-answer-7392"), finish(), DONE),), street.hosted.scripts
    status, answer = await street.ask("kimi-k3", "canario-question-7391", stream=True)
    private, _ = await street.ask("auto@samples", "Quando vence o aluguel? canario-private-7393")
    street.hosted.scripts = scripts
    data = street.house.data

    kept = [file for folder in ("logs", "valkey", "run") for file in (data / folder).rglob("*") if file.is_file()]
    kept += data.glob("ledger.db*")

    assert (status, private) == (200, 200)
    assert "canario-answer-7392" in answer
    assert len(kept) >= 5
    assert [
        file.name for file in kept if b"canario" in file.read_bytes() or b"dia 8 de cada" in file.read_bytes()
    ] == []


async def test_an_idle_house_has_no_connection_to_outside(street: Street) -> None:
    children = [street.house.child(name) for name in ("gateway.main", "retrieval.service", "engine_child", "valkey")]

    peers = {peer for pid in (street.house.up.pid, *children) for peer in _peers(_process(pid))}

    assert {peer for peer in peers if not ip_address(peer).is_loopback} == set()


def _process(pid: int) -> Path:
    process = Path("/proc") / str(pid)
    if not process.exists():
        pytest.skip("this system has no /proc to read processes from")
    return process


def _peers(process: Path) -> set[str]:
    """The remote addresses of a process's internet sockets, those that only listen left out."""
    inodes = {os.readlink(link)[8:-1] for link in (process / "fd").iterdir() if _is_socket(link)}
    found = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in (process / "net" / table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[9] in inodes and int(fields[2].partition(":")[0], 16):
                found.add(_address(fields[2].partition(":")[0]))
    return found


def _is_socket(link: Path) -> bool:
    try:
        return os.readlink(link).startswith("socket:[")
    except FileNotFoundError:  # closed meanwhile
        return False


def _address(hexadecimal: str) -> str:
    """The kernel writes each group of four bytes in the machine's order."""
    groups = [
        int(hexadecimal[start : start + 8], 16).to_bytes(4, sys.byteorder) for start in range(0, len(hexadecimal), 8)
    ]
    return str(ip_address(b"".join(groups)))


async def _ready(house: RunningHouse) -> None:
    until = time.monotonic() + 60
    async with aiohttp.ClientSession() as session:
        while time.monotonic() < until:
            try:
                async with session.get(f"{house.url}/readyz") as response:
                    if response.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.1)
    pytest.fail("the house did not get ready again")
