"""The registry's tables.

`version` names the taking-in of a file that answers; its chunks, and only they, are found. A document without a version
is silent.
Times are integer microseconds since 1970, UTC.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, Table, Text, UniqueConstraint

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_name)s", "uq": "uq_%(table_name)s_%(column_0_name)s"}
)

documents = Table(
    "documents",
    metadata,
    Column("id", Text, primary_key=True),
    Column("collection", Text, nullable=False),
    Column("source", Text, nullable=False),  # the file's absolute path
    Column("file", Text, nullable=False),  # the name to show
    Column("declared", Text),  # the label it was given, if any
    Column("digest", Text),  # what was indexed: the bytes, the labels, the way of indexing
    Column("label", Text, nullable=False),
    Column("state", Text, nullable=False),  # queued, parsing, embedding, live, failed
    Column("reason", Text),  # of a failure: code and words
    Column("version", Text, unique=True),
    Column("attempts", Integer, nullable=False),  # starts since the file last reached a final state
    Column("leased_by", Text),
    Column("leased_until", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    UniqueConstraint("collection", "source"),
    Index(None, "state", "updated_at"),
)

chunks = Table(
    "chunks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("document", Text, ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
    Column("version", Text, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("context", Text, nullable=False),
    Column("page", Integer),
    Column("line", Integer),
    Column("heading", Text),
    Column("label", Text, nullable=False),
    Column("language", Text),
    Index(None, "version", "ordinal"),
    Index(None, "document"),
)

# Versions whose vectors must go; written in the transaction that ends the version.
tombstones = Table("tombstones", metadata, Column("version", Text, primary_key=True))
