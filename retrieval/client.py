"""The client of the retrieval process: what may be asked of it over its Unix socket, and what it answers.

The wire form is these dataclasses themselves, as msgspec writes them; streams are one JSON value a line.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Literal, TypeVar

import aiohttp
import msgspec

from policies.labels import Label, Sensitivity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

T = TypeVar("T")
TextKind = Literal["query", "document"]
"""What a text is embedded as: something asked or compared, or something to be found."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where in its file a passage begins; pages and lines count from 1."""

    page: int | None
    line: int | None
    heading: str | None


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that answers a query. `file` is the name to show, relative to the folder that was ingested."""

    document: str
    file: str
    collection: str
    chunk: str
    text: str
    label: Label
    anchor: Anchor
    score: float
    language: str | None


@dataclass(frozen=True, slots=True)
class Scope:
    """What the caller may read. The gateway builds it from the principal, never from the request alone.

    A document is readable if its collection is named here and its label, compartments included, is within `clearance`.
    """

    collections: tuple[str, ...] | None
    """None: every collection."""
    clearance: Sensitivity | None
    """None: every label."""

    @classmethod
    def owner(cls) -> Scope:
        """The whole house: for the owner's own commands on the owner's own machine."""
        return cls(None, None)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, verbatim, with the index of the passage it stands in."""

    text: str
    passage: int
    score: float


@dataclass(frozen=True, slots=True)
class FileStatus:
    """What became of one file. `reason` opens with a stable code: `encrypted: the PDF asks for a password`."""

    path: str
    document: str
    status: Literal["live", "unchanged", "failed"]
    reason: str | None
    chunks: int


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document as the owner sees it in a list."""

    document: str
    file: str
    collection: str
    label: Label
    state: str
    reason: str | None
    chunks: int


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection with what of it is readable."""

    name: str
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class SearchRequest:
    query: str
    scope: Scope
    top: int


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What of a passage matters for picking sentences."""

    text: str
    heading: str | None
    score: float


@dataclass(frozen=True, slots=True)
class SentencesRequest:
    question: str
    passages: tuple[Excerpt, ...]
    top: int


@dataclass(frozen=True, slots=True)
class IngestRequest:
    path: str
    collection: str
    label: Label | None


@dataclass(frozen=True, slots=True)
class DeleteRequest:
    document: str
    scope: Scope


@dataclass(frozen=True, slots=True)
class EmbedRequest:
    texts: tuple[str, ...]
    kind: TextKind
    dimensions: int | None


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of length 1 in the order of the texts, and how many tokens the texts had."""

    vectors: list[list[float]]
    tokens: int


@dataclass(frozen=True, slots=True)
class RerankRequest:
    query: str
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The cosine of each document with the query, in the order of the documents, and how many tokens all had."""

    scores: list[float]
    tokens: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the embedding model cannot do what was asked: `size` is what it would take, `limit` what it can."""

    reason: Literal["too_long", "dimensions"]
    index: int | None
    """Of the text or document that is too long; None: the query."""
    size: int
    limit: int


class RetrievalError(Exception):
    """The retrieval process refused, failed, or is not there."""


class RetrievalNotReady(RetrievalError):
    """The retrieval process is starting; ask again after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RetrievalRefused(RetrievalError):
    """The embedding model cannot do what was asked, now or later."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


class RetrievalClient:
    """Asks the retrieval process that listens on `socket`; one keep-alive session, opened at the first call."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._session: aiohttp.ClientSession | None = None

    async def ready(self) -> bool:
        """True once searches are answered; False while the process starts or is away."""
        try:
            await self._call("GET", "/ready", None, object)
        except RetrievalError:
            return False
        return True

    async def search(self, query: str, scope: Scope, top: int) -> list[Passage]:
        """The best passages within the scope, best first; empty if nothing is near enough."""
        return await self._call("POST", "/search", SearchRequest(query, scope, top), list[Passage])

    async def sentences(self, question: str, passages: Sequence[Passage], top: int) -> list[Sentence]:
        """The sentences of the passages that answer the question best; empty if none is near enough."""
        excerpts = tuple(Excerpt(passage.text, passage.anchor.heading, passage.score) for passage in passages)
        return await self._call("POST", "/sentences", SentencesRequest(question, excerpts, top), list[Sentence])

    async def embed(self, texts: Sequence[str], kind: TextKind, dimensions: int | None = None) -> Embedded:
        """The vectors of the texts; RetrievalRefused if one is too long, or if vectors cannot have those dimensions."""
        return await self._call("POST", "/embed", EmbedRequest(tuple(texts), kind, dimensions), Embedded)

    async def rerank(self, query: str, documents: Sequence[str]) -> Ranked:
        """How near each document is to the query; RetrievalRefused if one of them is too long."""
        return await self._call("POST", "/rerank", RerankRequest(query, tuple(documents)), Ranked)

    async def ingest(self, path: Path, collection: str, label: Label | None = None) -> AsyncIterator[FileStatus]:
        """Take in a file or a folder; each file's outcome comes as soon as it is searchable or has failed.

        Names are shown relative to the folder, or to the file's own.
        """
        async for line in self._lines("/ingest", _ingest_request(path, collection, label)):
            yield msgspec.json.decode(line, type=FileStatus)

    async def documents(self, scope: Scope) -> list[DocumentInfo]:
        """The documents within the scope, failed ones included."""
        return await self._call("POST", "/documents", scope, list[DocumentInfo])

    async def delete(self, document: str, scope: Scope) -> bool:
        """Delete a document; once this returns it never answers again. False if the scope holds no such document."""
        return await self._call("POST", "/delete", DeleteRequest(document, scope), bool)

    async def collections(self, scope: Scope) -> list[CollectionInfo]:
        """The collections within the scope."""
        return await self._call("POST", "/collections", scope, list[CollectionInfo])

    async def reload(self) -> None:
        """Have the pack's collection labels and detectors read again."""
        await self._call("POST", "/reload", None, object)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            connector = aiohttp.UnixConnector(path=str(self._socket), limit=64)
            timeout = aiohttp.ClientTimeout(total=None, connect=5)
            self._session = aiohttp.ClientSession("http://retrieval", connector=connector, timeout=timeout)
        return self._session

    async def _call(self, method: str, path: str, request: object, answer: type[T]) -> T:
        # As a file, a body of many megabytes goes out piece by piece.
        body = None if request is None else BytesIO(msgspec.json.encode(request))
        try:
            async with self._open().request(method, path, data=body) as response:
                content = await response.read()
                _check(response, content)
        except (aiohttp.ClientError, OSError) as error:
            raise _away(error) from error
        return msgspec.json.decode(content, type=answer)

    async def _lines(self, path: str, request: object) -> AsyncIterator[bytes]:
        try:
            async with self._open().post(path, data=msgspec.json.encode(request)) as response:
                if response.status != HTTPStatus.OK:
                    _check(response, await response.read())
                async for line in response.content:
                    yield line
        except (aiohttp.ClientError, OSError) as error:
            raise _away(error) from error


def _ingest_request(path: Path, collection: str, label: Label | None) -> IngestRequest:
    return IngestRequest(str(path.resolve()), collection, label)


def _check(response: aiohttp.ClientResponse, content: bytes) -> None:
    if response.status == HTTPStatus.OK:
        return
    if response.status == HTTPStatus.UNPROCESSABLE_ENTITY and response.content_type == "application/json":
        raise RetrievalRefused(msgspec.json.decode(content, type=Refusal))
    message = content.decode("utf-8", "replace")
    if response.status == HTTPStatus.SERVICE_UNAVAILABLE:
        raise RetrievalNotReady(message, int(response.headers.get("Retry-After", "2")))
    raise RetrievalError(message)


def _away(error: Exception) -> RetrievalError:
    if isinstance(error, (aiohttp.ClientConnectorError, FileNotFoundError, ConnectionRefusedError)):
        return RetrievalNotReady("the retrieval process is not there yet", 2)
    return RetrievalError(f"the retrieval process hung up ({type(error).__name__})")
