"""The retrieval process: `python -m retrieval.service --data DIR --socket PATH --pack DIR`.

The socket answers at once; until the embedding model is loaded, what needs it gets 503 with `Retry-After`.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from policies.problems import PackError
from retrieval import reconcile
from retrieval.client import DeleteRequest, DocumentInfo, IngestRequest, Scope, SearchRequest, SentencesRequest
from retrieval.faults import describe
from retrieval.ingest import WORKERS, Ingest
from retrieval.opening import OpeningError, opened
from retrieval.quotes import quote
from retrieval.registry import documents
from retrieval.search import readable, search
from retrieval.weights import WeightsError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from starlette.requests import Request

    from retrieval.runtime import Runtime

T = TypeVar("T")
log = structlog.get_logger()

REFUSED = 78
"""Exit status (EX_CONFIG of sysexits.h): starting again with this configuration would fail again."""
_RETRY_AFTER = "2"
_CLOSING_SECONDS = 3


class _NotReadyError(Exception):
    """Asked before the process is ready."""


class Service:
    """The process's state: being opened, then open."""

    def __init__(self, data: Path, pack: Path) -> None:
        self._data, self._pack = data, pack
        self._runtime: Runtime | None = None
        self._ingest: Ingest | None = None
        self.failure: BaseException | None = None
        self.stop = asyncio.Event()

    @property
    def opening(self) -> bool:
        return self._runtime is None and self.failure is None

    @property
    def runtime(self) -> Runtime:
        if self._runtime is None:
            raise _NotReadyError
        return self._runtime

    @property
    def ingest(self) -> Ingest:
        if self._ingest is None:
            raise _NotReadyError
        return self._ingest

    async def run(self) -> None:
        """Open, work until cancelled, close; a failure is kept and ends the process."""
        with ExitStack() as stack:
            try:
                runtime = await asyncio.to_thread(stack.enter_context, opened(self._data, self._pack))
                self._runtime, self._ingest = runtime, Ingest(runtime)
                log.info("retrieval_ready")
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(reconcile.restore(runtime))
                    for _ in range(WORKERS):
                        tasks.create_task(self._ingest.work())
            except Exception as error:
                self.failure = error
                self.stop.set()


def create_app(service: Service) -> Starlette:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
        running = asyncio.create_task(service.run())
        yield
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    async def ready(_: Request) -> Response:
        service.runtime  # noqa: B018 raises until it is there
        return _json({"status": "ready"})

    async def find(request: Request) -> Response:
        return _json(await search(service.runtime, await _read(request, SearchRequest)))

    async def sentences(request: Request) -> Response:
        return _json(await quote(service.runtime, await _read(request, SentencesRequest)))

    async def ingest(request: Request) -> Response:
        asked = await _read(request, IngestRequest)
        return StreamingResponse(_outcomes(service.ingest, asked), media_type="application/x-ndjson")

    async def listed(request: Request) -> Response:
        scope = await _read(request, Scope)
        return _json(await asyncio.to_thread(_documents, service.runtime, scope))

    async def collections(request: Request) -> Response:
        scope = await _read(request, Scope)
        return _json(documents.totals(await asyncio.to_thread(_documents, service.runtime, scope)))

    async def delete(request: Request) -> Response:
        asked = await _read(request, DeleteRequest)
        within = await asyncio.to_thread(_documents, service.runtime, asked.scope)
        known = any(info.document == asked.document for info in within)
        return _json(known and await service.ingest.delete(asked.document))

    async def reload(_: Request) -> Response:
        await asyncio.to_thread(service.runtime.labelling.reload)
        return _json({"status": "reloaded"})

    routes = [
        Route("/ready", ready),
        Route("/search", find, methods=["POST"]),
        Route("/sentences", sentences, methods=["POST"]),
        Route("/ingest", ingest, methods=["POST"]),
        Route("/documents", listed, methods=["POST"]),
        Route("/collections", collections, methods=["POST"]),
        Route("/delete", delete, methods=["POST"]),
        Route("/reload", reload, methods=["POST"]),
    ]
    refusals = {
        _NotReadyError: _starting,
        msgspec.DecodeError: _malformed,
        PackError: _bad_pack,
        Exception: _failed,
    }
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=refusals)


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


async def _read(request: Request, kind: type[T]) -> T:
    return msgspec.json.decode(await request.body(), type=kind)


async def _outcomes(ingest: Ingest, request: IngestRequest) -> AsyncIterator[bytes]:
    async for status in ingest.submit(request):
        yield msgspec.json.encode(status) + b"\n"


def _documents(runtime: Runtime, scope: Scope) -> list[DocumentInfo]:
    with runtime.engine.connect() as connection:
        found = documents.listed(connection, scope.collections)
    labelling = runtime.labelling.current
    labelled = [replace(info, label=labelling.now(info.collection, info.label)) for info in found]
    return [info for info in labelled if readable(scope, info.label)]


async def _starting(_: Request, __: Exception) -> Response:
    message = "the retrieval process is starting: it loads the embedding model"
    return PlainTextResponse(message, HTTPStatus.SERVICE_UNAVAILABLE, headers={"Retry-After": _RETRY_AFTER})


async def _malformed(_: Request, error: Exception) -> Response:
    return PlainTextResponse(f"malformed request: {error}", HTTPStatus.BAD_REQUEST)


async def _bad_pack(_: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), HTTPStatus.UNPROCESSABLE_ENTITY)


async def _failed(request: Request, error: Exception) -> Response:
    log.error("request_failed", path=request.url.path, **describe(error))
    return PlainTextResponse("the retrieval process failed; see logs/retrieval.log", HTTPStatus.INTERNAL_SERVER_ERROR)


async def serve(service: Service, path: Path) -> int:
    """Serve until told to stop; the exit status."""
    config = uvicorn.Config(
        create_app(service), log_config=None, access_log=False, timeout_graceful_shutdown=_CLOSING_SECONDS
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[_listen(path)]))
    failing = asyncio.create_task(service.stop.wait())
    await asyncio.wait([serving, failing], return_when=asyncio.FIRST_COMPLETED)
    failing.cancel()
    server.should_exit = True
    await serving
    return _status(service.failure)


def _listen(path: Path) -> socket.socket:
    """A socket that only its owner may open, in place of one that a killed process left."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    return listener


def _status(failure: BaseException | None) -> int:
    if failure is None:
        return 0
    if isinstance(failure, (OpeningError, PackError, WeightsError)):
        sys.stderr.write(f"retrieval: {failure}\n")
        return REFUSED
    log.error("retrieval_failed", **describe(failure))
    return 1


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m retrieval.service", description="Soleira's retrieval process.")
    for name in ("--data", "--socket", "--pack"):
        parser.add_argument(name, type=Path, required=True)
    arguments = parser.parse_args()
    _log_to_standard_error()
    sys.exit(asyncio.run(_main(arguments)))


async def _main(arguments: argparse.Namespace) -> int:
    service = Service(arguments.data, arguments.pack)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn takes over while it serves, and raises the signal again when it has stopped.
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(service.stop.set))
    try:
        return await serve(service, arguments.socket)
    finally:
        if service.opening:  # nothing is open that could be lost, and the thread that loads cannot be interrupted
            os._exit(_status(service.failure))


def _log_to_standard_error() -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    # Its tracebacks would show messages of errors; `_failed` logs what may be logged.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)


if __name__ == "__main__":
    main()
