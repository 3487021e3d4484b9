"""`quotes` answers with sentences of the passages alone."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec
import pytest

from gateway.errors import UpstreamUnavailable
from gateway.upstream import dispatch
from gateway.upstream.clients import Outgoing
from gateway.upstream.clients.quotes import QuotesClient
from gateway.upstream.dispatch import Call, Upstreams
from gateway.upstream.guard import Guard
from gateway.wire.lanes import Usage
from gateway.wire.usage import read_usage
from policies.labels import PRIVATE
from retrieval.client import Anchor, Passage, RetrievalNotReady, Sentence
from tests.fakes import Ledger, deployment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gateway.upstream.dispatch import Answer

QUOTES = replace(deployment("", name="quotes"), engine="quotes", model="quotes")
FOUND = [Sentence("O aluguel é de R$ 2.000.", 1, 0.9), Sentence("Vence no dia 5.\n", 0, 0.5)]
PASSAGES = [
    Passage(f"d{n}", f"{n}.txt", "papers", f"c{n}", "texto", PRIVATE, Anchor(None, n, None), 1.0, "pt") for n in (1, 2)
]


@dataclass
class FakeQuoter:
    found: list[Sentence] | Exception

    async def sentences(self, question: str, passages: Sequence[Passage], top: int) -> list[Sentence]:
        assert (question, list(passages)) == ("Quanto é o aluguel?", PASSAGES)
        if isinstance(self.found, Exception):
            raise self.found
        return self.found[:top]


@asynccontextmanager
async def asked(found: list[Sentence] | Exception, *, streams: bool, language: str = "pt") -> AsyncIterator[Answer]:
    client = QuotesClient(FakeQuoter(found), clock=lambda: 7.0)
    outgoing = Outgoing(b"{}", PRIVATE, streams, "Quanto é o aluguel?", PASSAGES, language)
    async with Guard() as guard:
        upstreams = Upstreams(guard, http=client, quotes=client)
        async with dispatch.answer(upstreams, Call([QUOTES], lambda _: outgoing, Ledger().attempt)) as answer:
            yield answer


async def chunks(answer: Answer) -> list[dict[str, object]]:
    assert answer.events is not None
    data = [event.data async for batch in answer.events for event in batch]
    assert data[-1] == b"[DONE]"
    return [msgspec.json.decode(chunk or b"") for chunk in data[:-1]]


async def test_a_json_answer_quotes_verbatim_with_markers() -> None:
    async with asked(FOUND, streams=False) as answer:
        payload = answer.payload or {}

    (choice,) = payload["choices"]
    assert choice["message"] == {
        "role": "assistant",
        "content": "O aluguel é de R$ 2.000. [2]\n\nVence no dia 5. [1]",
    }
    assert (payload["object"], payload["model"], payload["created"]) == ("chat.completion", "quotes", 7)
    assert choice["finish_reason"] == "stop"


async def test_a_stream_says_the_same_and_ends_properly() -> None:
    async with asked(FOUND, streams=True) as answer:
        said = await chunks(answer)

    choices = [choice for chunk in said for choice in chunk["choices"]]  # type: ignore[attr-defined]
    assert "".join(choice["delta"].get("content", "") for choice in choices).startswith("O aluguel é de R$ 2.000. [2]")
    assert [choice["finish_reason"] for choice in choices] == [None, None, None, "stop"]
    assert len({str(chunk["id"]) for chunk in said}) == 1


@pytest.mark.parametrize("streams", [True, False])
async def test_its_usage_is_a_known_zero(streams: bool) -> None:
    async with asked(FOUND, streams=streams) as answer:
        last = answer.payload or (await chunks(answer))[-1]

    assert read_usage(last) == Usage()


@pytest.mark.parametrize(("language", "words"), [("pt", "Não encontrei"), ("en", "I found nothing"), ("de", "I found")])
async def test_finding_nothing_is_said_in_the_language_of_the_question(language: str, words: str) -> None:
    async with asked([], streams=False, language=language) as answer:
        payload = answer.payload or {}

    assert payload["choices"][0]["message"]["content"].startswith(words)


async def test_without_retrieval_it_is_unavailable_for_a_while() -> None:
    with pytest.raises(UpstreamUnavailable) as failure:
        async with asked(RetrievalNotReady("canary", 2), streams=False):
            pass

    assert failure.value.retry_after == "2"
    assert "canary" not in str(failure.value)
