"""What the retrieval process answers over its socket."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import structlog
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from policies.problems import PackError
from retrieval.client import (
    DeleteRequest,
    EmbedRequest,
    IngestRequest,
    RerankRequest,
    Scope,
    SearchRequest,
    SentencesRequest,
)
from retrieval.embeddings import Refused, embed, rerank
from retrieval.faults import describe
from retrieval.lifespan import NotReadyError
from retrieval.quotes import quote
from retrieval.registry import documents
from retrieval.search import readable, search

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Coroutine

    from starlette.requests import Request

    from retrieval.client import DocumentInfo
    from retrieval.ingest import Ingest
    from retrieval.lifespan import Lifespan
    from retrieval.runtime import Runtime

T = TypeVar("T")
log = structlog.get_logger()

_RETRY_AFTER = "2"
_NOBODY = 499
"""Answered to a caller who is gone; it only ends the request."""


def create_app(lifespan: Lifespan) -> Starlette:
    """The application, which runs the lifespan for as long as it is served."""
    endpoints = Endpoints(lifespan)
    routes = [
        Route("/ready", endpoints.ready),
        Route("/search", endpoints.search, methods=["POST"]),
        Route("/sentences", endpoints.sentences, methods=["POST"]),
        Route("/embed", endpoints.embed, methods=["POST"]),
        Route("/rerank", endpoints.rerank, methods=["POST"]),
        Route("/ingest", endpoints.ingest, methods=["POST"]),
        Route("/documents", endpoints.documents, methods=["POST"]),
        Route("/collections", endpoints.collections, methods=["POST"]),
        Route("/delete", endpoints.delete, methods=["POST"]),
        Route("/reload", endpoints.reload, methods=["POST"]),
    ]
    refusals = {
        NotReadyError: _starting,
        msgspec.DecodeError: _malformed,
        Refused: _refused,
        PackError: _bad_pack,
        Exception: _failed,
    }

    @asynccontextmanager
    async def run(_: Starlette) -> AsyncGenerator[None, None]:
        running = asyncio.create_task(lifespan.run())
        yield
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    return Starlette(routes=routes, lifespan=run, exception_handlers=refusals)


class Endpoints:
    """Each reads its request, asks what is open, and writes the answer."""

    def __init__(self, lifespan: Lifespan) -> None:
        self._lifespan = lifespan

    async def ready(self, _: Request) -> Response:
        self._lifespan.runtime  # noqa: B018 raises until it is there
        return _json({"status": "ready"})

    async def search(self, request: Request) -> Response:
        return _json(await search(self._lifespan.runtime, await _read(request, SearchRequest)))

    async def sentences(self, request: Request) -> Response:
        return _json(await quote(self._lifespan.runtime, await _read(request, SentencesRequest)))

    async def embed(self, request: Request) -> Response:
        asked = await _read(request, EmbedRequest)
        return await _while_heard(request, embed(self._lifespan.runtime.turns, asked))

    async def rerank(self, request: Request) -> Response:
        asked = await _read(request, RerankRequest)
        return await _while_heard(request, rerank(self._lifespan.runtime.turns, asked))

    async def ingest(self, request: Request) -> Response:
        asked = await _read(request, IngestRequest)
        return StreamingResponse(_outcomes(self._lifespan.ingest, asked), media_type="application/x-ndjson")

    async def documents(self, request: Request) -> Response:
        scope = await _read(request, Scope)
        return _json(await asyncio.to_thread(_documents, self._lifespan.runtime, scope))

    async def collections(self, request: Request) -> Response:
        scope = await _read(request, Scope)
        return _json(documents.totals(await asyncio.to_thread(_documents, self._lifespan.runtime, scope)))

    async def delete(self, request: Request) -> Response:
        asked = await _read(request, DeleteRequest)
        known = await asyncio.to_thread(_within, self._lifespan.runtime, asked)
        return _json(known and await self._lifespan.ingest.delete(asked.document))

    async def reload(self, _: Request) -> Response:
        await asyncio.to_thread(self._lifespan.runtime.labelling.reload)
        return _json({"status": "reloaded"})


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


async def _read(request: Request, kind: type[T]) -> T:
    return msgspec.json.decode(await request.body(), type=kind)


async def _while_heard(request: Request, work: Coroutine[Any, Any, object]) -> Response:
    """The work's answer; the work is dropped as soon as the caller hangs up, for it can take minutes."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        return _json(await working) if working.done() else Response(status_code=_NOBODY)
    finally:
        working.cancel()
        leaving.cancel()


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _outcomes(ingest: Ingest, request: IngestRequest) -> AsyncIterator[bytes]:
    async for status in ingest.submit(request):
        yield msgspec.json.encode(status) + b"\n"


def _documents(runtime: Runtime, scope: Scope) -> list[DocumentInfo]:
    with runtime.engine.connect() as connection:
        found = documents.listed(connection, scope.collections)
    labelled = [_labelled_now(runtime, info) for info in found]
    return [info for info in labelled if readable(scope, info.label)]


def _within(runtime: Runtime, request: DeleteRequest) -> bool:
    """True if the scope holds the document."""
    scope = request.scope
    with runtime.engine.connect() as connection:
        info = documents.get(connection, request.document)
    if info is None or (scope.collections is not None and info.collection not in scope.collections):
        return False
    return readable(scope, _labelled_now(runtime, info).label)


def _labelled_now(runtime: Runtime, info: DocumentInfo) -> DocumentInfo:
    return replace(info, label=runtime.labelling.current.now(info.collection, info.label))


async def _starting(_: Request, __: Exception) -> Response:
    message = "the retrieval process is starting: it loads the embedding model"
    return PlainTextResponse(message, HTTPStatus.SERVICE_UNAVAILABLE, headers={"Retry-After": _RETRY_AFTER})


async def _malformed(_: Request, error: Exception) -> Response:
    return PlainTextResponse(f"malformed request: {error}", HTTPStatus.BAD_REQUEST)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)  # noqa: S101 - for the type checker: registered for this class
    return Response(msgspec.json.encode(error.refusal), HTTPStatus.UNPROCESSABLE_ENTITY, media_type="application/json")


async def _bad_pack(_: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), HTTPStatus.UNPROCESSABLE_ENTITY)


async def _failed(request: Request, error: Exception) -> Response:
    log.error("request_failed", path=request.url.path, **describe(error))
    return PlainTextResponse("the retrieval process failed; see logs/retrieval.log", HTTPStatus.INTERNAL_SERVER_ERROR)
