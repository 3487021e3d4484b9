"""The registry is the truth about documents, and their queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from policies.labels import Label
from retrieval.client import Anchor
from retrieval.registry import chunks, documents, tombstones
from retrieval.registry.chunks import Chunk
from retrieval.registry.documents import Lease, Source, Version
from retrieval.registry.engine import migrated, open_engine, writing
from retrieval.registry.tables import metadata

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection, Engine

PRIVATE = Label.parse("private")


def source(name: str = "a.txt") -> Source:
    return Source("papers", f"/papers/{name}", name, PRIVATE)


def lease(now: int = 100, owner: str = "me") -> Lease:
    return Lease(owner, now, now + 50)


def version(document: str, name: str, *texts: str) -> Version:
    passages = [
        Chunk(f"{name}-{number}", document, name, words, "", Anchor(None, number, None), PRIVATE, "pt")
        for number, words in enumerate(texts)
    ]
    return Version(name, f"digest of {name}", PRIVATE, passages)


def take_in(connection: Connection, name: str, *texts: str) -> str:
    document = documents.enqueue(connection, source(), 1)
    job = documents.claim(connection, lease())
    assert job is not None
    assert documents.flip(connection, job, lease(), version(document, name, *texts))
    return document


def test_migrations_make_the_tables_that_the_code_knows(registry: Engine) -> None:
    with registry.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_a_database_without_the_tables_is_told_from_one_with_them(registry: Engine, tmp_path: Path) -> None:
    empty = open_engine(tmp_path / "empty.db")

    assert migrated(registry)
    assert not migrated(empty)
    empty.dispose()


def test_deleted_text_is_overwritten_and_commits_are_durable(registry: Engine) -> None:
    with registry.connect() as connection:
        pragmas = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar() for name in ("secure_delete", "synchronous")
        }

    assert pragmas == {"secure_delete": 1, "synchronous": 2}


def test_a_document_is_claimed_once_while_the_lease_lasts(registry: Engine) -> None:
    with writing(registry).begin() as connection:
        document = documents.enqueue(connection, source(), 1)

        first = documents.claim(connection, lease(now=100))
        second = documents.claim(connection, lease(now=149, owner="other"))
        later = documents.claim(connection, lease(now=151, owner="other"))

    assert first is not None
    assert second is None
    assert later is not None
    assert (later.document, later.attempts) == (document, 2)


def test_the_oldest_is_claimed_first(registry: Engine) -> None:
    with writing(registry).begin() as connection:
        documents.enqueue(connection, source("late.txt"), 20)
        documents.enqueue(connection, source("early.txt"), 10)

        job = documents.claim(connection, lease())

    assert job is not None
    assert job.source.file == "early.txt"


def test_the_same_path_is_one_document_for_each_collection(registry: Engine) -> None:
    with writing(registry).begin() as connection:
        first = documents.enqueue(connection, source(), 1)
        again = documents.enqueue(connection, source(), 2)
        other = documents.enqueue(connection, Source("other", "/papers/a.txt", "a.txt", None), 3)

    assert first == again != other


def test_a_new_version_answers_in_place_of_the_old_one(registry: Engine) -> None:
    with writing(registry).begin() as connection:
        document = take_in(connection, "v1", "old words", "more old words")
        assert take_in(connection, "v2", "new words") == document

        found = chunks.answering(connection, ["v1-0", "v1-1", "v2-0"], None)

        assert {key: one.chunk.text for key, one in found.items()} == {"v2-0": "new words"}
        assert documents.versions(connection) == {"v2": 1}
        assert tombstones.waiting(connection) == ["v1"]


def test_while_a_file_is_taken_in_again_its_old_version_answers(registry: Engine) -> None:
    with writing(registry).begin() as connection:
        take_in(connection, "v1", "old words")
        documents.enqueue(connection, source(), 5)
        documents.claim(connection, lease())

        assert list(chunks.answering(connection, ["v1-0"], None)) == ["v1-0"]


def test_a_job_that_was_lost_changes_nothing(registry: Engine) -> None:
    with writing(registry).begin() as connection:
        document = documents.enqueue(connection, source(), 1)
        job = documents.claim(connection, lease(owner="first"))
        documents.enqueue(connection, source(), 2)
        assert job is not None

        assert not documents.advance(connection, job, lease(owner="first"), "embedding")
        assert not documents.flip(connection, job, lease(owner="first"), version(document, "v1", "words"))
        assert documents.versions(connection) == {}


def test_what_failed_answers_no_more_and_says_why(registry: Engine) -> None:
    with writing(registry).begin() as connection:
        document = take_in(connection, "v1", "words")
        documents.enqueue(connection, source(), 5)
        job = documents.claim(connection, lease())
        assert job is not None
        documents.fail(connection, job, lease(), "encrypted: a password is needed")

        info = documents.get(connection, document)

        assert info is not None
        assert (info.state, info.reason, info.chunks) == ("failed", "encrypted: a password is needed", 0)
        assert chunks.answering(connection, ["v1-0"], None) == {}
        assert tombstones.waiting(connection) == ["v1"]


def test_a_deleted_document_leaves_no_text_and_a_tombstone_for_its_vectors(registry: Engine) -> None:
    with writing(registry).begin() as connection:
        document = take_in(connection, "v1", "words")

        assert documents.remove(connection, document)

        assert chunks.of(connection, "v1") == []
        assert documents.get(connection, document) is None
        assert tombstones.waiting(connection) == ["v1"]
        assert not documents.remove(connection, document)


def test_collections_bound_what_answers(registry: Engine) -> None:
    with writing(registry).begin() as connection:
        take_in(connection, "v1", "words")

        assert chunks.answering(connection, ["v1-0"], ["elsewhere"]) == {}
        assert chunks.answering(connection, ["v1-0"], []) == {}
        assert list(chunks.answering(connection, ["v1-0"], ["papers"])) == ["v1-0"]


def test_what_was_interrupted_is_queued_again_at_start(registry: Engine) -> None:
    with writing(registry).begin() as connection:
        documents.enqueue(connection, source(), 1)
        documents.claim(connection, lease(owner="killed"))

        documents.release(connection)

        job = documents.claim(connection, lease(now=101, owner="next"))
        assert job is not None
        assert job.attempts == 2


def test_a_chunk_of_another_version_than_the_document_answers_with_is_silent(registry: Engine) -> None:
    with writing(registry).begin() as connection:
        document = take_in(connection, "v2", "new words")
        chunks.write(connection, version(document, "v1", "old words").chunks)

        assert list(chunks.answering(connection, ["v1-0", "v2-0"], None)) == ["v2-0"]
