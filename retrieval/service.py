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
from pathlib import Path

import structlog
import uvicorn

from policies.problems import PackError
from retrieval.endpoints import create_app
from retrieval.faults import describe
from retrieval.lifespan import Lifespan
from retrieval.opening import OpeningError
from retrieval.weights import WeightsError

log = structlog.get_logger()

REFUSED = 78
"""Exit status (EX_CONFIG of sysexits.h): starting again with this configuration would fail again."""
_CLOSING_SECONDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m retrieval.service", description="Soleira's retrieval process.")
    for name in ("--data", "--socket", "--pack"):
        parser.add_argument(name, type=Path, required=True)
    arguments = parser.parse_args()
    _log_to_standard_error()
    sys.exit(asyncio.run(_main(arguments)))


def _log_to_standard_error() -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    # Its tracebacks would show messages of errors; `endpoints` logs what may be logged.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)


async def _main(arguments: argparse.Namespace) -> int:
    lifespan = Lifespan(arguments.data, arguments.pack)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn takes over while it serves, and raises the signal again when it has stopped.
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(lifespan.stop.set))
    try:
        return await _serve(lifespan, arguments.socket)
    finally:
        if lifespan.opening:  # nothing is open that could be lost, and the thread that loads cannot be interrupted
            os._exit(_status(lifespan.failure))


async def _serve(lifespan: Lifespan, path: Path) -> int:
    """Serve until told to stop; the exit status."""
    config = uvicorn.Config(
        create_app(lifespan), log_config=None, access_log=False, timeout_graceful_shutdown=_CLOSING_SECONDS
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[_listen(path)]))
    failing = asyncio.create_task(lifespan.stop.wait())
    await asyncio.wait([serving, failing], return_when=asyncio.FIRST_COMPLETED)
    failing.cancel()
    server.should_exit = True
    await serving
    return _status(lifespan.failure)


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


if __name__ == "__main__":
    main()
