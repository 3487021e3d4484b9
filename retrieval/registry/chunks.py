"""Chunks: the text that may answer, read again at every search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, insert, select

from policies.labels import Label
from retrieval.client import Anchor
from retrieval.registry.tables import chunks, documents

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import RowMapping


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of one version of a document."""

    id: str
    document: str
    version: str
    text: str
    context: str
    anchor: Anchor
    label: Label
    language: str | None

    @property
    def indexed(self) -> str:
        """What is embedded and counted: the passage with what it stands under."""
        return f"{self.context}\n{self.text}" if self.context else self.text


@dataclass(frozen=True, slots=True)
class Answering:
    """A chunk of the version that answers, with its document's name and place."""

    chunk: Chunk
    file: str
    collection: str


def write(connection: Connection, new: Sequence[Chunk]) -> None:
    """Write a version's chunks."""
    connection.execute(insert(chunks), [_row(ordinal, chunk) for ordinal, chunk in enumerate(new)])


def erase(connection: Connection, version: str) -> None:
    """Forget a version's text."""
    connection.execute(delete(chunks).where(chunks.c.version == version))


def answering(connection: Connection, ids: Collection[str], collections: Sequence[str] | None) -> dict[str, Answering]:
    """Those of the ids that may answer now: of a document that is there, of its present version, in a collection."""
    current = (documents.c.id == chunks.c.document) & (documents.c.version == chunks.c.version)
    statement = select(*chunks.c, documents.c.file, documents.c.collection).join(documents, current)
    statement = statement.where(chunks.c.id.in_(ids))
    if collections is not None:
        statement = statement.where(documents.c.collection.in_(collections))
    rows = connection.execute(statement).mappings()
    return {row["id"]: Answering(_chunk(row), row["file"], row["collection"]) for row in rows}


def of(connection: Connection, version: str) -> list[Answering]:
    """A version's chunks in order, if it is the one that answers."""
    statement = select(*chunks.c, documents.c.file, documents.c.collection)
    statement = statement.join(documents, documents.c.version == chunks.c.version)
    statement = statement.where(chunks.c.version == version).order_by(chunks.c.ordinal)
    return [Answering(_chunk(row), row["file"], row["collection"]) for row in connection.execute(statement).mappings()]


def _row(ordinal: int, chunk: Chunk) -> dict[str, object]:
    return {
        "id": chunk.id,
        "document": chunk.document,
        "version": chunk.version,
        "ordinal": ordinal,
        "text": chunk.text,
        "context": chunk.context,
        "page": chunk.anchor.page,
        "line": chunk.anchor.line,
        "heading": chunk.anchor.heading,
        "label": str(chunk.label),
        "language": chunk.language,
    }


def _chunk(row: RowMapping) -> Chunk:
    anchor = Anchor(row["page"], row["line"], row["heading"])
    label = Label.parse(row["label"])
    return Chunk(
        row["id"], row["document"], row["version"], row["text"], row["context"], anchor, label, row["language"]
    )
