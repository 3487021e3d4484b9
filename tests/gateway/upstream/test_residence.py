"""An Ollama model that runs in a cloud is not local, though Ollama's address is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from gateway.errors import NotLocal, UpstreamUnavailable
from gateway.upstream.clients import Outgoing
from gateway.upstream.clients.http import HttpClient
from gateway.upstream.guard import Guard
from gateway.upstream.residence import Residence
from policies.labels import PUBLIC
from policies.zones import Addresses
from tests.fakes import NEAR_HOSTED, deployment
from tests.gateway.upstream.probes.engines import OLLAMA, engine
from tests.wire.upstream import completion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.catalog.deployments import Deployment
    from tests.gateway.upstream.probes.engines import FakeEngine, Page

CHAT = "/v1/chat/completions"
REMOTE: Page = (200, {"remote_host": "https://ollama.com:443", "remote_model": "kimi-k3"})


def ollama(fake: FakeEngine, model: str = "small") -> Deployment:
    return replace(deployment(fake.url), engine="ollama", upstream_model=model)


def answering(pages: Mapping[str, Page]) -> dict[str, Page]:
    return {**pages, CHAT: (200, completion("Olá"))}


async def ask(guard: Guard, at: Deployment) -> bytes:
    async with HttpClient(guard).send(at, Outgoing(b'{"secret": 1}', PUBLIC, stream=False)) as reply:
        return await reply.read(1_000_000)


async def test_a_model_of_its_own_is_proven_once_and_then_asked() -> None:
    async with engine(answering(OLLAMA)) as fake, Guard() as guard:
        await ask(guard, ollama(fake))
        await ask(guard, ollama(fake))

    assert fake.asked == ["/api/show", "/api/tags", CHAT, CHAT]


async def test_nothing_is_sent_to_a_model_that_runs_in_a_cloud() -> None:
    async with engine(answering({**OLLAMA, "/api/show": REMOTE})) as fake, Guard() as guard:
        for _ in range(2):
            with pytest.raises(NotLocal, match="in a cloud"):
                await ask(guard, ollama(fake))

    assert CHAT not in fake.asked


@pytest.mark.parametrize("tag", ["kimi-k3:cloud", "gpt-oss:120b-cloud", "KIMI-K3:Cloud"])
async def test_a_cloud_tag_is_refused_without_a_question(tag: str) -> None:
    async with engine(answering(OLLAMA)) as fake, Guard() as guard:
        with pytest.raises(NotLocal):
            await ask(guard, ollama(fake, tag))
        with pytest.raises(NotLocal):
            await guard.prove([ollama(fake, tag)])

    assert fake.asked == []


async def test_a_pack_with_such_a_model_is_refused() -> None:
    async with engine({**OLLAMA, "/api/show": REMOTE}) as fake, Guard() as guard:
        with pytest.raises(NotLocal):
            await guard.prove([deployment(fake.url), ollama(fake)])


async def test_an_ollama_that_is_off_at_the_start_is_asked_before_the_first_word() -> None:
    async with engine({**OLLAMA, "/api/show": (500, {"error": "starting"})}) as fake, Guard() as guard:
        await guard.prove([ollama(fake)])
        fake.pages.update(answering({"/api/show": REMOTE}))
        with pytest.raises(NotLocal):
            await ask(guard, ollama(fake))

    assert CHAT not in fake.asked


async def test_an_ollama_that_does_not_say_is_sent_nothing() -> None:
    async with engine(answering({**OLLAMA, "/api/show": (500, {})})) as fake, Guard() as guard:
        with pytest.raises(UpstreamUnavailable, match="does not say"):
            await ask(guard, ollama(fake))

    assert CHAT not in fake.asked


async def test_a_model_that_becomes_remote_is_refused_from_the_next_look_on() -> None:
    async with engine(answering(OLLAMA)) as fake, Guard() as guard:
        await ask(guard, ollama(fake))
        fake.pages["/api/show"] = REMOTE
        with pytest.raises(NotLocal):
            await guard.prove([ollama(fake)])
        with pytest.raises(NotLocal):
            await ask(guard, ollama(fake))

    assert fake.asked.count(CHAT) == 1


async def test_a_zone_for_any_address_may_hold_a_cloud_model() -> None:
    anywhere = replace(NEAR_HOSTED, addresses=Addresses(frozenset({"any"})))
    async with engine(answering({})) as fake, Guard() as guard:
        await ask(guard, replace(ollama(fake, "kimi-k3:cloud"), zone=anywhere))

    assert fake.asked == [CHAT]


@dataclass
class Ollama:
    """Says what the test says, and counts the questions."""

    shown: dict[str, Any] | None
    asked: list[str] = field(default_factory=list)

    async def __call__(self, _at: Deployment, path: str, _body: bytes | None) -> dict[str, Any] | None:
        self.asked.append(path)
        return self.shown if path == "/api/show" else None


async def test_a_proof_is_good_for_a_minute() -> None:
    clock, server = [0.0], Ollama({})
    residence = Residence(server, lambda: clock[0])
    at = replace(deployment("http://127.0.0.1:1/v1"), engine="ollama")

    for clock[0] in (1.0, 50.0, 62.0):
        await residence.check(at)

    assert server.asked.count("/api/show") == 2


async def test_a_model_that_is_not_there_is_no_proof() -> None:
    server = Ollama(None)
    residence = Residence(server, lambda: 1.0)
    at = replace(deployment("http://127.0.0.1:1/v1"), engine="ollama")

    await residence.check(at)
    await residence.check(at)

    assert server.asked == ["/api/show", "/api/show"]
