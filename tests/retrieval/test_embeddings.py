"""What the embedding model is asked directly: by the real process and the real weights, and by a fake that counts."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest

from retrieval.client import EmbedRequest, RerankRequest, RetrievalClient, RetrievalNotReady, RetrievalRefused
from retrieval.embeddings import embed, rerank
from retrieval.endpoints import create_app
from retrieval.lifespan import Lifespan
from retrieval.turns import Turns
from tests.retrieval.conftest import PACK, House, Process, WordEmbedder

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

    from starlette.types import Message

    from retrieval.runtime import Runtime

QUESTION = "Quando vence o aluguel?"
RIGHT = "O aluguel vence no dia 8 de cada mês."
WRONG = "Corte a cebola, refogue no azeite e junte o arroz."


@pytest.fixture
async def model(process: Process) -> AsyncGenerator[RetrievalClient, None]:
    await process.until_ready()
    client = RetrievalClient(process.socket)
    yield client
    await client.close()


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(first, second, strict=True))


async def test_vectors_have_the_length_of_one_and_the_model_s_dimensions(model: RetrievalClient) -> None:
    embedded = await model.embed([QUESTION, RIGHT, QUESTION], "query")

    assert [len(vector) for vector in embedded.vectors] == [384] * 3
    assert [cosine(vector, vector) for vector in embedded.vectors] == pytest.approx([1.0] * 3, abs=1e-5)
    assert embedded.vectors[0] == pytest.approx(embedded.vectors[2], abs=1e-5)


async def test_what_a_text_is_changes_its_vector_and_a_prompt_in_it_says_so_too(model: RetrievalClient) -> None:
    ((asked,), (found,)) = [(await model.embed([RIGHT], kind)).vectors for kind in ("query", "document")]
    (prompted,) = (await model.embed([f"passage: {RIGHT}"], "query")).vectors

    assert cosine(asked, found) < 0.999
    assert prompted == pytest.approx(found, abs=1e-5)


async def test_the_document_that_answers_is_nearest(model: RetrievalClient) -> None:
    ranked = await model.rerank(QUESTION, [WRONG, RIGHT])
    (asked,) = (await model.embed([QUESTION], "query")).vectors
    found = (await model.embed([WRONG, RIGHT], "document")).vectors

    assert ranked.scores[1] > ranked.scores[0] + 0.05
    assert ranked.scores == pytest.approx([cosine(asked, vector) for vector in found], abs=1e-5)


async def test_tokens_are_those_of_the_caller_s_words(model: RetrievalClient) -> None:
    one, two = await model.embed(["O aluguel vence no dia 8"], "query"), await model.embed(["O aluguel"] * 2, "query")
    ranked = await model.rerank("O aluguel", ["vence no dia 8"])

    assert one.tokens == 9
    assert two.tokens == 8
    assert ranked.tokens == 9


@pytest.mark.parametrize("text", ["casa " * 600, "漢" * 100_000, "a" * 1_000_000], ids=["words", "unknown", "letters"])
async def test_a_text_that_the_model_would_only_begin_to_read_is_refused(model: RetrievalClient, text: str) -> None:
    with pytest.raises(RetrievalRefused) as embedding:
        await model.embed(["casa", text], "document")
    with pytest.raises(RetrievalRefused) as asking:
        await model.rerank(text, ["casa"])
    with pytest.raises(RetrievalRefused) as ranking:
        await model.rerank("casa", ["casa", "casa", text])

    refusals = [caught.value.refusal for caught in (embedding, asking, ranking)]
    assert [refusal.index for refusal in refusals] == [1, None, 2]
    assert {refusal.reason for refusal in refusals} == {"too_long"}
    assert all(refusal.size > refusal.limit == 510 for refusal in refusals)


async def test_the_longest_text_that_fits_is_read_to_its_last_word(model: RetrievalClient) -> None:
    # The prompt and the two marks around the text come to four tokens, of 512.
    fits = " ".join(["casa"] * 507)
    embedded = await model.embed([f"{fits} casa", f"{fits} verde"], "document")

    assert embedded.tokens == 508 * 2
    assert embedded.vectors[0] != pytest.approx(embedded.vectors[1], abs=1e-4)
    with pytest.raises(RetrievalRefused):
        await model.embed([f"{fits} casa casa"], "document")


async def test_vectors_are_not_cut_for_a_model_that_was_not_taught_so(model: RetrievalClient) -> None:
    assert len((await model.embed(["casa"], "query", 384)).vectors[0]) == 384
    with pytest.raises(RetrievalRefused) as caught:
        await model.embed(["casa"], "query", 128)

    refusal = caught.value.refusal
    assert (refusal.reason, refusal.size, refusal.limit) == ("dimensions", 128, 384)


async def test_before_the_process_is_there_both_say_so(tmp_path: Path) -> None:
    client = RetrievalClient(tmp_path / "none.sock")

    for call in (client.embed(["casa"], "query"), client.rerank("casa", ["casa"])):
        with pytest.raises(RetrievalNotReady):
            await call
    await client.close()


class Slow(WordEmbedder):
    """Takes its time for every text until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()
        self.begun = threading.Event()
        self.asked = 0

    def query(self, text: str) -> list[float]:
        self.asked += 1
        self.begun.set()
        self.let_go.wait(10)
        return super().query(text)


async def test_a_question_of_the_house_waits_for_one_text_and_not_for_all() -> None:
    embedder = Slow()
    with Turns(embedder) as turns:
        many = asyncio.create_task(embed(turns, EmbedRequest(("um dois",) * 50, "query", None)))
        await asyncio.to_thread(embedder.begun.wait, 10)
        question = asyncio.create_task(turns.question("um dois"))
        await asyncio.sleep(0)
        embedder.let_go.set()

        await question
        waited_for_all = many.done()
        embedded = await many

    assert not waited_for_all
    assert (len(embedded.vectors), embedded.tokens) == (50, 100)


class Opened(Lifespan):
    """A process that is open, of parts that the test made."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(PACK, PACK)
        self._runtime = runtime


async def test_nothing_more_is_embedded_for_a_caller_who_hung_up(house: House) -> None:
    embedder = Slow()
    body = msgspec.json.encode(EmbedRequest(("um dois",) * 50, "query", None))
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        if messages:
            return messages.pop()
        await asyncio.to_thread(embedder.begun.wait, 10)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    with Turns(embedder) as turns:
        app = create_app(Opened(replace(house.runtime, turns=turns)))
        scope = {"type": "http", "method": "POST", "path": "/embed", "headers": [], "query_string": b""}
        await app(scope, receive, send)
        embedder.let_go.set()
        await turns.question("done")

    assert embedder.asked == 2
    assert sent[0]["status"] == 499


async def test_scores_stand_in_the_order_of_the_documents() -> None:
    with Turns(WordEmbedder()) as turns:
        ranked = await rerank(turns, RerankRequest("gate", ("river", "gate", "the gate")))

    assert ranked.scores[1] > ranked.scores[2] > ranked.scores[0]
    assert ranked.tokens == 5
