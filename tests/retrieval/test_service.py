"""The real process: bundled weights, real store, the sample documents."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import time
from typing import TYPE_CHECKING

import aiohttp
import pytest

import migrations
from policies.labels import Label, Sensitivity
from retrieval.client import RetrievalClient, RetrievalError, RetrievalNotReady, Scope
from tests.retrieval.conftest import ALL, Process, reader
from tests.retrieval.questions import ACROSS_LANGUAGES, BY_NAME, IN_SHORT, UNRELATED, WITHIN_A_LANGUAGE
from tests.retrieval.tiny import make_model

if TYPE_CHECKING:
    from pathlib import Path

FAMILY = reader("samples")


async def recall(client: RetrievalClient, questions: list[tuple[str, str, str]], depth: int) -> float:
    """The part of the questions whose answer stands in one of the first `depth` passages."""
    right = 0
    for question, file, words in questions:
        passages = await client.search(question, FAMILY, depth)
        right += any(passage.file == file and words in passage.text for passage in passages)
    return right / len(questions)


async def test_questions_are_answered_from_the_right_passage(client: RetrievalClient) -> None:
    assert await recall(client, WITHIN_A_LANGUAGE, 1) >= 0.88
    assert await recall(client, WITHIN_A_LANGUAGE, 3) >= 0.96


async def test_questions_are_answered_across_languages(client: RetrievalClient) -> None:
    assert await recall(client, ACROSS_LANGUAGES, 1) >= 0.66
    assert await recall(client, ACROSS_LANGUAGES, 5) >= 0.77


async def test_unrelated_questions_find_nothing(client: RetrievalClient) -> None:
    empty = [not await client.search(question, FAMILY, 5) for question in UNRELATED]

    assert sum(empty) >= 0.8 * len(UNRELATED)


async def test_quotes_are_verbatim_and_name_their_passage(client: RetrievalClient) -> None:
    passages = await client.search("Quando vence o aluguel do apartamento?", FAMILY, 5)

    best, *_ = await client.sentences("Quando vence o aluguel do apartamento?", passages, 3)

    assert best.text == "O aluguel é de R$ 2.450,00 por mês e vence no dia 8 de cada mês."
    assert best.text in passages[best.passage].text
    assert passages[best.passage].file == "contrato-de-aluguel.md"


@pytest.mark.parametrize(
    ("questions", "first", "in_three"),
    [
        (WITHIN_A_LANGUAGE, 0.84, 0.84),
        (ACROSS_LANGUAGES, 0.55, 0.66),
        (BY_NAME, 0.6, 0.9),
        (IN_SHORT, 0.5, 0.5),
    ],
    ids=["within", "across", "by name", "in short"],
)
async def test_most_questions_are_answered_by_a_quoted_sentence(
    client: RetrievalClient, questions: list[tuple[str, str, str]], first: float, in_three: float
) -> None:
    leading = quoted = 0
    for question, _, words in questions:
        passages = await client.search(question, FAMILY, 5)
        said = [words in sentence.text for sentence in await client.sentences(question, passages, 3)]
        leading += said[:1] == [True]
        quoted += any(said)

    assert leading >= first * len(questions)
    assert quoted >= in_three * len(questions)


async def test_a_row_is_quoted_for_what_its_header_says_and_the_header_is_not(client: RetrievalClient) -> None:
    question = "Quando vence a terceira parcela do IPTU?"
    passages = await client.search(question, FAMILY, 5)

    quoted = [sentence.text for sentence in await client.sentences(question, passages, 3)]

    assert "| 3 de 6 | 11 de maio de 2026 | R$ 312,00 |" in quoted
    assert "| Parcela | Vencimento | Valor |" not in quoted


async def test_nothing_is_quoted_for_a_question_about_something_else(client: RetrievalClient) -> None:
    passages = await client.search("Quando vence o aluguel do apartamento?", FAMILY, 5)

    assert await client.sentences("Como funciona um reator nuclear?", passages, 3) == []
    assert await client.sentences("Quando vence?", [], 3) == []


async def test_scores_are_those_of_the_model_and_its_weights(client: RetrievalClient) -> None:
    (best,) = await client.search("Quando vence o aluguel do apartamento?", FAMILY, 1)

    assert best.score == pytest.approx(0.658, abs=0.01)


async def test_lists_show_only_what_is_in_scope(client: RetrievalClient) -> None:
    documents = await client.documents(FAMILY)
    (collection,) = await client.collections(FAMILY)

    assert len(documents) == collection.documents == 10
    assert collection.chunks == sum(document.chunks for document in documents) > 40
    assert {document.state for document in documents} == {"live"}
    assert await client.documents(reader("samples", clearance="internal")) == []
    assert await client.collections(reader("other", clearance="secret")) == []


async def test_a_document_out_of_scope_cannot_be_deleted(client: RetrievalClient) -> None:
    document = (await client.documents(FAMILY))[0].document

    assert not await client.delete(document, reader("samples", clearance="internal"))
    assert not await client.delete(document, reader("other", clearance="secret"))
    assert not await client.delete("doc_of_nobody", FAMILY)
    assert document in {info.document for info in await client.documents(FAMILY)}


async def test_a_file_is_found_as_soon_as_it_is_told_live_and_never_after_its_deletion(
    client: RetrievalClient, tmp_path: Path
) -> None:
    path = tmp_path / "nota.txt"
    path.write_text("A senha do cofre da oficina fica atrás do quadro azul.")

    (status,) = [status async for status in client.ingest(path, "oficina", Label.parse("secret"))]
    owner = Scope(("oficina",), Sensitivity.parse("secret"))
    (found,) = await client.search("Onde fica a senha do cofre?", owner, 5)

    assert (status.status, status.path, found.document) == ("live", "nota.txt", status.document)
    assert await client.search("Onde fica a senha do cofre?", reader("oficina"), 5) == []
    assert await client.delete(status.document, owner)
    assert await client.search("Onde fica a senha do cofre?", owner, 5) == []


@pytest.mark.slow
async def test_a_question_does_not_wait_for_documents(client: RetrievalClient, tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text(
        "\n\n".join(f"Chapter {n}. " + "The green gate of the garden was open all night. " * 60 for n in range(40))
    )

    async def take_in() -> str:
        (status,) = [status async for status in client.ingest(path, "books")]
        return status.document

    alone = await _seconds(client, 5)
    taking = asyncio.create_task(take_in())
    await asyncio.sleep(1)
    beside = await _seconds(client, 10)

    assert not taking.done()
    assert beside < max(5 * alone, 0.5)
    await client.delete(await taking, ALL)


async def _seconds(client: RetrievalClient, times: int) -> float:
    """The median time of a search."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await client.search("Quando vence o aluguel?", FAMILY, 3)
        taken.append(time.perf_counter() - began)
    return sorted(taken)[times // 2]


async def test_only_its_owner_may_open_the_socket(client: RetrievalClient, process: Process) -> None:
    assert stat.S_IMODE(process.socket.stat().st_mode) == 0o600


async def test_a_malformed_request_is_refused_without_harm(client: RetrievalClient, process: Process) -> None:
    connector = aiohttp.UnixConnector(str(process.socket))
    async with aiohttp.ClientSession("http://retrieval", connector=connector) as session:
        async with session.post("/search", data=b'{"query": 1}') as response:
            assert response.status == 400
        async with session.post("/search", data=b"\xff") as response:
            assert response.status == 400

    assert await client.ready()


async def test_killed_in_the_middle_of_taking_in_it_goes_on_after_the_next_start(tmp_path: Path) -> None:
    data, folder = tmp_path / "data", tmp_path / "in"
    data.mkdir()
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.txt").write_text(f"Gate {number}. " + "The garden gate is green and old. " * 120)
    migrations.upgrade("registry", f"sqlite:///{data / 'registry.db'}")
    first = Process(data)
    client = RetrievalClient(first.socket)
    with pytest.raises(RetrievalNotReady):
        await client.search("too early", ALL, 1)
    await first.until_ready()

    async def take_in_until_the_first_is_live() -> None:
        async for status in client.ingest(folder, "gates"):
            assert status.status == "live"
            os.kill(first.child.pid, signal.SIGKILL)

    with pytest.raises(RetrievalError):
        await take_in_until_the_first_is_live()
    first.child.wait()

    second = Process(data)
    await second.until_ready()
    documents = await client.documents(ALL)
    while any(document.state not in {"live", "failed"} for document in documents):
        await asyncio.sleep(0.2)
        documents = await client.documents(ALL)
    passages = await client.search("Is the garden gate green?", ALL, 100)
    await client.close()

    assert [document.state for document in documents] == ["live"] * 6
    assert {passage.document for passage in passages} == {document.document for document in documents}
    assert len(passages) == sum(document.chunks for document in documents)
    assert second.stop() == 0


@pytest.mark.slow
async def test_another_embedding_model_finds_what_was_taken_in_before(tmp_path: Path) -> None:
    data, paper = tmp_path / "data", tmp_path / "lease.md"
    data.mkdir()
    paper.write_text("# Lease\n\nThe rent of the cottage is due on the fifth.\n\n## Pets\n\nOne dog is allowed.\n")
    migrations.upgrade("registry", f"sqlite:///{data / 'registry.db'}")
    client = RetrievalClient(data / "retrieval.sock")
    first = Process(data, model=make_model(tmp_path / "narrow", 16))
    await first.until_ready()
    (status,) = [status async for status in client.ingest(paper, "papers")]
    (before,) = (data / "vectors").iterdir()
    first.stop()
    paper.unlink()

    second = Process(data, model=make_model(tmp_path / "wide", 24))
    await second.until_ready()
    async with asyncio.timeout(20):
        while len(passages := await client.search("When is the rent of the cottage due?", ALL, 5)) < status.chunks:
            await asyncio.sleep(0.1)
    (after,) = (data / "vectors").iterdir()
    await client.close()

    assert {passage.document for passage in passages} == {status.document}
    assert before.name != after.name
    assert second.stop() == 0


async def test_a_bad_pack_is_refused_with_its_problem_and_a_status_that_says_so(tmp_path: Path) -> None:
    migrations.upgrade("registry", f"sqlite:///{tmp_path / 'registry.db'}")

    process = Process(tmp_path, pack=tmp_path / "no such pack")

    assert await asyncio.to_thread(process.child.wait, 30) == 78


async def test_a_registry_without_tables_is_refused(tmp_path: Path) -> None:
    assert await asyncio.to_thread(Process(tmp_path).child.wait, 30) == 78


async def test_a_client_without_a_process_says_so(tmp_path: Path) -> None:
    client = RetrievalClient(tmp_path / "none.sock")

    assert not await client.ready()
    with pytest.raises(RetrievalNotReady) as caught:
        await client.search("anyone?", ALL, 1)

    assert caught.value.retry_after > 0
    await client.close()


async def test_a_socket_nobody_listens_on_counts_as_not_ready(tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "stale.sock"))
    left.close()
    client = RetrievalClient(tmp_path / "stale.sock")

    assert not await client.ready()
    await client.close()
