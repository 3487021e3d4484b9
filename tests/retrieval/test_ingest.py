"""Files are taken in once, whole, under their label; and go when they are told to."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from policies.labels import Label
from retrieval import reconcile
from retrieval.client import FileStatus
from retrieval.registry.documents import MOST_ATTEMPTS
from retrieval.registry.engine import writing
from retrieval.registry.tables import documents as document_rows
from retrieval.store import Entry
from tests.retrieval.conftest import PACK, House, open_house, reader

if TYPE_CHECKING:
    from collections.abc import Sequence

LEASE = "# Lease\n\n## Rent\n\nThe rent of the cottage is due on the fifth.\n\n## Pets\n\nOne dog is allowed.\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def texts(house: House, query: str) -> list[str]:
    return [passage.text for passage in await house.find(query)]


async def test_a_file_is_found_with_its_place(house: House, tmp_path: Path) -> None:
    path = write(tmp_path, "in/lease.md", LEASE)

    (status,) = await house.take_in(path)
    best = (await house.find("When is the rent of the cottage due?"))[0]

    assert (status.status, status.chunks, status.reason) == ("live", 2, None)
    assert best.text == "The rent of the cottage is due on the fifth."
    assert (best.file, best.anchor.line, best.anchor.heading) == ("lease.md", 5, "Rent")
    assert (best.document, best.label) == (status.document, Label.parse("private"))


async def test_a_folder_is_taken_in_with_relative_names_and_without_hidden_files(house: House, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for name in ("a.txt", "deep/er/b.md", ".hidden.txt", ".git/c.txt"):
        write(folder, name, "Some words of text.")
    (folder / "link.txt").symlink_to(write(tmp_path, "outside.txt", "Other words."))

    statuses = await house.take_in(folder)

    assert sorted(status.path for status in statuses) == ["a.txt", "deep/er/b.md"]


async def test_an_unchanged_file_is_not_embedded_again(house: House, tmp_path: Path) -> None:
    path = write(tmp_path, "in/lease.md", LEASE)
    await house.take_in(path)
    house.embedder.embedded.clear()

    for _ in range(5):
        (status,) = await house.take_in(path)
        assert (status.status, status.chunks) == ("unchanged", 2)

    assert house.embedder.embedded == []


async def test_a_changed_file_answers_with_its_new_text_only(house: House, tmp_path: Path) -> None:
    path = write(tmp_path, "in/lease.md", LEASE)
    (before,) = await house.take_in(path)

    write(tmp_path, "in/lease.md", LEASE.replace("fifth", "ninth"))
    (after,) = await house.take_in(path)

    assert (after.document, after.status) == (before.document, "live")
    assert "due on the ninth." in (await texts(house, "rent of the cottage due"))[0]
    assert not any("fifth" in text for text in await texts(house, "rent of the cottage due on the fifth"))
    assert sum(house.runtime.store.versions().values()) == 2


async def test_a_file_that_became_unreadable_text_is_withdrawn(house: House, tmp_path: Path) -> None:
    path = write(tmp_path, "in/lease.md", LEASE)
    await house.take_in(path)

    path.write_bytes(bytes(range(256)) * 10)
    (status,) = await house.take_in(path)

    assert status.status == "failed"
    assert (status.reason or "").startswith("binary: ")
    assert await texts(house, "rent of the cottage") == []
    assert house.runtime.store.versions() == {}


async def test_a_file_that_vanished_keeps_its_last_version(house: House, tmp_path: Path) -> None:
    path = write(tmp_path, "in/lease.md", LEASE)
    await house.take_in(path)

    path.unlink()
    (status,) = await house.take_in(path)

    assert (status.reason or "").startswith("unreadable: ")
    assert (await texts(house, "rent of the cottage"))[0].startswith("The rent")


async def test_one_bad_file_does_not_stop_the_others(house: House, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write(folder, "good.txt", "The garden gate is green.")
    write(folder, "empty.txt", "")
    write(folder, "table.xlsx", "PK")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 broken")

    statuses = {status.path: status for status in await house.take_in(folder)}

    reasons = {name: (status.reason or "").split(":")[0] for name, status in statuses.items()}
    assert reasons == {"good.txt": "", "empty.txt": "empty", "table.xlsx": "unsupported", "broken.pdf": "corrupt"}


async def test_a_deleted_document_never_answers_again(house: House, tmp_path: Path) -> None:
    (status,) = await house.take_in(write(tmp_path, "in/lease.md", LEASE))

    assert await house.ingest.delete(status.document)

    assert await texts(house, "rent of the cottage") == []
    assert house.runtime.store.versions() == {}
    assert not await house.ingest.delete(status.document)


class StubbornStore:
    """A store that cannot forget, around a real one."""

    def __init__(self, house: House) -> None:
        self._real = house.runtime.store
        self.add, self.search = self._real.add, self._real.search
        self.versions, self.flush, self.close = self._real.versions, self._real.flush, self._real.close

    def drop(self, version: str) -> None:
        raise OSError("no space left on device")


async def test_a_deleted_document_is_silent_even_if_its_vectors_cannot_be_dropped(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with open_house(data) as house:
        async with house.at_work():
            (status,) = await house.take_in(write(tmp_path, "in/lease.md", LEASE))
        object.__setattr__(house.runtime, "store", StubbornStore(house))

        with pytest.raises(OSError, match="no space"):
            await house.ingest.delete(status.document)

        assert sum(house.runtime.store.versions().values()) == 2
        assert await texts(house, "rent of the cottage") == []

    with open_house(data) as reopened:
        assert reopened.runtime.store.versions() == {}


async def test_searches_and_deletions_side_by_side_never_bring_a_deleted_one_back(house: House, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for number in range(24):
        write(folder, f"{number}.txt", f"The garden gate number {number} is green.")
    alive = {status.document for status in await house.take_in(folder)}

    async def searching() -> None:
        while alive:
            expected = frozenset(alive)  # before the question: whatever is deleted later may still answer it
            found = {passage.document for passage in await house.find("Is the garden gate green?", top=30)}
            assert found <= expected

    async def deleting() -> None:
        for document in list(alive):
            await house.ingest.delete(document)
            alive.discard(document)
            found = {passage.document for passage in await house.find("Is the garden gate green?", top=30)}
            assert document not in found
            assert found == alive

    await asyncio.gather(searching(), deleting())


async def test_a_document_deleted_while_it_is_taken_in_stays_deleted(house: House, tmp_path: Path) -> None:
    path = write(tmp_path, "in/long.txt", "\n\n".join(f"Paragraph {n}: " + "green gate " * 150 for n in range(40)))
    outcome = asyncio.create_task(house.take_in(path))
    while not house.embedder.embedded:
        await asyncio.sleep(0.001)
    with house.runtime.engine.connect() as connection:
        document = connection.execute(document_rows.select()).one().id

    assert await house.ingest.delete(document)

    (status,) = await asyncio.wait_for(outcome, 5)
    assert (status.reason or "").startswith("deleted")
    (again,) = await house.take_in(write(tmp_path, "in/other.txt", "Another paper altogether."))
    assert await texts(house, "green gate") == []
    assert house.runtime.store.versions().keys() == {_version(house, again)}


def _version(house: House, status: FileStatus) -> str:
    with house.runtime.engine.connect() as connection:
        rows = connection.execute(document_rows.select().where(document_rows.c.id == status.document))
        return str(rows.one().version)


async def test_each_reader_finds_only_what_is_theirs(house: House, tmp_path: Path) -> None:
    text = "The garden gate is green."
    await house.take_in(write(tmp_path, "a/1.txt", text), "ana", Label.parse("private"))
    await house.take_in(write(tmp_path, "b/2.txt", text), "bruno", Label.parse("private"))
    await house.take_in(write(tmp_path, "c/3.txt", text), "ana", Label.parse("secret"))
    await house.take_in(write(tmp_path, "d/4.txt", text), "ana", Label.parse("private+health"))
    await house.take_in(write(tmp_path, "e/5.txt", text), "ana", Label.parse("public"))

    async def files(*collections: str, clearance: str) -> set[str]:
        return {passage.file for passage in await house.find("garden gate", reader(*collections, clearance=clearance))}

    assert await files("ana", clearance="private") == {"1.txt", "5.txt"}
    assert await files("bruno", clearance="secret") == {"2.txt"}
    assert await files("ana", clearance="private+health") == {"1.txt", "4.txt", "5.txt"}
    assert await files("ana", "bruno", clearance="secret+health") == {"1.txt", "2.txt", "3.txt", "4.txt", "5.txt"}
    assert await files("ana", clearance="internal") == {"5.txt"}
    assert await files(clearance="secret+health") == set()


async def test_a_finding_raises_its_passage_and_its_document(house: House, tmp_path: Path) -> None:
    text = (
        "# Notes\n\n## Garden\n\nThe garden gate is green.\n\n## Person\n\nThe CPF of the gardener is 529.982.247-25.\n"
    )
    await house.take_in(write(tmp_path, "in/notes.md", text), "papers", Label.parse("public"))

    labels = {
        passage.anchor.heading: str(passage.label) for passage in await house.find("garden gardener CPF gate green")
    }

    assert labels == {"Garden": "public", "Person": "private"}
    assert {p.anchor.heading for p in await house.find("gardener CPF", reader("papers", clearance="internal"))} <= {
        "Garden"
    }


async def test_another_label_takes_the_same_file_in_again(house: House, tmp_path: Path) -> None:
    path = write(tmp_path, "in/lease.md", LEASE)
    await house.take_in(path, "papers", Label.parse("public"))

    (status,) = await house.take_in(path, "papers", Label.parse("secret"))

    assert status.status == "live"
    assert {str(passage.label) for passage in await house.find("rent of the cottage")} == {"secret"}


async def test_a_collection_that_the_pack_raises_raises_what_it_holds(tmp_path: Path) -> None:
    data, pack = tmp_path / "data", tmp_path / "pack"
    data.mkdir()
    pack.mkdir()
    for path in PACK.glob("*.yaml"):
        (pack / path.name).write_bytes(path.read_bytes())
    (pack / "collections.yaml").write_text("collections:\n  papers: {label: public}\n")
    with open_house(data, pack) as house:
        async with house.at_work():
            await house.take_in(write(tmp_path, "in/lease.md", LEASE))
        public = reader("papers", clearance="public")
        assert await house.find("rent of the cottage", public) != []

        (pack / "collections.yaml").write_text("collections:\n  papers: {label: secret}\n")
        house.runtime.labelling.reload()

        assert await house.find("rent of the cottage", public) == []
        assert {str(passage.label) for passage in await house.find("rent of the cottage")} == {"secret"}


async def test_vectors_of_a_version_that_never_came_to_answer_are_dropped_at_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with open_house(data) as house:
        chunk = str(uuid.uuid4())
        vector = house.embedder.query("killed")
        house.runtime.store.add([Entry(chunk, "killed", "papers", Label(), None, "killed before it was done", vector)])
        assert house.runtime.store.versions() == {"killed": 1}

    with open_house(data) as house:
        assert house.runtime.store.versions() == {}


async def test_vectors_that_were_lost_are_made_again_from_the_registry(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    path = write(tmp_path, "in/lease.md", LEASE)
    with open_house(data) as house:
        async with house.at_work():
            await house.take_in(path)
    for kept in (data / "vectors").rglob("*"):
        if kept.is_file():
            kept.unlink()
    path.unlink()

    with open_house(data) as house:
        assert await texts(house, "rent of the cottage") == []
        await reconcile.restore(house.runtime)

        assert (await texts(house, "rent of the cottage"))[0].startswith("The rent")


async def test_a_file_that_stops_the_house_again_and_again_is_given_up(house: House, tmp_path: Path) -> None:
    path = write(tmp_path, "in/lease.md", LEASE)
    await house.take_in(path)
    with writing(house.runtime.engine).begin() as connection:
        connection.execute(update(document_rows).values(state="queued", attempts=MOST_ATTEMPTS))
    (document,) = (passage.document for passage in (await house.find("rent of the cottage"))[:1])
    await house.take_in(write(tmp_path, "in/other.txt", "Wakes the worker."))

    with house.runtime.engine.connect() as connection:
        row = connection.execute(document_rows.select().where(document_rows.c.id == document)).one()

    assert (row.state, row.reason.split(":")[0]) == ("failed", "interrupted")


class FailingEmbedder:
    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        raise RuntimeError(f"cannot embed {texts[0]!r}")


async def test_an_unexpected_failure_is_told_without_the_documents_words(
    house: House, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    house.embedder.passages = FailingEmbedder().passages  # type: ignore[method-assign]

    (status,) = await house.take_in(write(tmp_path, "in/lease.md", LEASE))

    assert status.reason == "internal: see logs/retrieval.log"
    output = capsys.readouterr()
    assert "ingest_failed" in output.out + output.err
    assert "cottage" not in output.out + output.err
