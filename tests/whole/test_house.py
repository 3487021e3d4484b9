"""The house end to end, on real parts: a private question is answered at home, and nothing billed is unrecorded."""

from __future__ import annotations

import asyncio
import json
import os
import signal
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
        ("How long is the dishwasher warranty?", "dishwasher-warranty.md", "two years"),
        ("O seguro da casa cobre enchente?", "home-insurance.txt", "flood"),
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
    assert street.forbidden.connections == 0


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


async def test_the_gateway_is_light_and_its_logs_hold_no_words(street: Street) -> None:
    await street.ask("kimi-k3", "canario-no-log-7391")
    process = Path("/proc") / str(street.house.child("gateway.main"))
    if not process.exists():
        pytest.skip("this system has no /proc to read memory and libraries from")

    memory_kb = int((process / "status").read_text().split("VmRSS:")[1].split()[0])
    libraries = (process / "maps").read_text()

    assert memory_kb <= 150 * 1024
    assert not [name for name in ("torch", "litellm", "qdrant") if name in libraries]
    logs = b"".join(log.read_bytes() for log in (street.house.data / "logs").iterdir())
    ledger = b"".join(file.read_bytes() for file in street.house.data.glob("ledger.db*"))
    assert b"canario-no-log-7391" not in logs + ledger


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
