"""The gateway process: opens the runtime, serves the public application and the admin socket, closes in order."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
import uvicorn
import uvloop
from redis.asyncio import Redis

from gateway.alerts.watch import Watch, watching
from gateway.api.admin import create_admin
from gateway.api.app import create_app
from gateway.catalog.deployments import TRANSLATED
from gateway.catalog.engines import Engines
from gateway.catalog.load import EMBEDDER_ENGINE
from gateway.catalog.observed import Observed
from gateway.catalog.packs import REFUSALS, Folder, Packs
from gateway.dashboard import pages
from gateway.db import marks
from gateway.db.engine import open_engine
from gateway.ledger import energy, overview, ratios
from gateway.ledger.limits import Limits
from gateway.ledger.owners import this_process
from gateway.ledger.recover import keep_recovering, recover
from gateway.ledger.writer import open_writer
from gateway.principals import Principals
from gateway.privacy.conversations import Conversations
from gateway.response_cache import ResponseCache
from gateway.revocations import Revocations
from gateway.runtime import Runtime, new_id, now
from gateway.settings import SettingError, Settings
from gateway.supervisor import parts
from gateway.telemetry import Metrics, configure_logging
from gateway.upstream.clients.embedder import EmbedderClient
from gateway.upstream.clients.http import HttpClient
from gateway.upstream.clients.litellm import LitellmClient
from gateway.upstream.clients.quotes import QuotesClient
from gateway.upstream.cooldown import Cooldown
from gateway.upstream.dispatch import Upstreams
from gateway.upstream.exit import Exit
from gateway.upstream.fleet import Fleet
from gateway.upstream.guard import Guard
from gateway.upstream.probes.prober import Prober
from gateway.upstream.queue import Queues
from gateway.upstream.tickets import Tickets
from gateway.upstream.waking import Waking
from policies.load import load_pack
from retrieval.client import RetrievalClient, RetrievalError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine

log = structlog.get_logger()

_DRAIN_SECONDS = 10
_END_SECONDS = 1.0
_TRIES_TO_END = 3


def main() -> int:
    """Run until SIGINT or SIGTERM; `os.EX_CONFIG` if the pack cannot be put in force: trying again is in vain."""
    options = _options()
    configure_logging()
    try:
        settings = Settings.from_environment(options.data, options.pack)
        uvloop.run(_serve(settings, options.host, options.port))
    except (*REFUSALS, SettingError) as error:
        sys.stderr.write(f"{error}\n")  # in plain lines: whoever started the house reads them
        return os.EX_CONFIG
    return 0


async def _serve(settings: Settings, host: str, port: int) -> None:
    retrieval = RetrievalClient(settings.retrieval_socket)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(retrieval.close)
        runtime = await stack.enter_async_context(open_runtime(settings, retrieval, loopback_only=_is_loopback(host)))
        settings.admin_socket.unlink(missing_ok=True)
        app = create_app(runtime)
        pages.add_to(app, runtime)
        public = _Server(_config(app, host=host, port=port))
        admin = _Server(_config(create_admin(runtime), uds=str(settings.admin_socket)))
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, _stop, public, admin)
        # The exit is served until answers under way, which may need it, are given.
        async with _running(_serve_exit(runtime)), asyncio.TaskGroup() as serving:
            serving.create_task(public.serve())
            serving.create_task(admin.serve())


async def _serve_exit(runtime: Runtime) -> None:
    """Serve the litellm process's way out, where the pack has such a process."""
    if not parts.translates(runtime.packs.current.pack):
        return
    socket = parts.exit_socket(runtime.settings)
    socket.unlink(missing_ok=True)
    try:
        await _Server(_config(runtime.exit, uds=str(socket))).serve()
    finally:
        socket.unlink(missing_ok=True)


@asynccontextmanager
async def open_runtime(
    settings: Settings, retrieval: RetrievalClient, *, loopback_only: bool
) -> AsyncGenerator[Runtime, None]:
    """Open every part the gateway is made of, lowest first, and close them in the opposite order."""
    metrics = Metrics()
    engine_socket = settings.engine_socket if parts.demonstrates(load_pack(settings.pack)) else None
    async with AsyncExitStack() as stack:
        engine = open_engine(settings.ledger_url)
        stack.push_async_callback(engine.dispose)
        boot = this_process(new_id("boot"), now())
        await recover(engine, boot)
        writer = await stack.enter_async_context(open_writer(settings.ledger_url, boot))
        guard = await stack.enter_async_context(Guard())
        packs = await Packs.open(Folder(settings.pack, os.environ, engine_socket, guard.prove, Engines.of(settings)))
        store = Redis.from_url(settings.redis)
        stack.push_async_callback(store.aclose)
        principals = Principals(engine, settings.admin_digest or "")
        revocations = Revocations(store, principals)
        await stack.enter_async_context(_running(revocations.listen()))
        await stack.enter_async_context(_running(packs.follow(partial(_tell, retrieval))))
        await stack.enter_async_context(_running(keep_recovering(engine, boot)))
        watch = Watch(engine, lambda: packs.current.pack, os.environ, now)
        await stack.enter_async_context(watching(watch))
        await stack.enter_async_context(_running(energy.follow(engine, lambda: packs.current.pack, now)))
        await stack.enter_async_context(_running(overview.warm(engine, packs.current.pack, now())))
        secret = settings.secret.read_bytes()
        limits, cache = Limits(store), ResponseCache(store, secret, now)
        await stack.enter_async_context(_running(limits.keep()))
        conversations = Conversations(engine, writer, secret, await marks.digests(engine))
        observed, queues, cooldown = Observed(now), Queues(), Cooldown(store, now)
        await stack.enter_async_context(_running(cooldown.listen()))
        waking = await stack.enter_async_context(Waking(guard, awake=cooldown.succeeded))
        prober = Prober(guard, observed, packs, busy=queues.was_busy)
        await stack.enter_async_context(_running(prober.run()))
        http, tickets = HttpClient(guard), Tickets()
        translating = LitellmClient(http, tickets, parts.litellm_socket(settings))
        yield Runtime(
            settings=settings,
            packs=packs,
            engine=engine,
            writer=writer,
            principals=principals,
            revocations=revocations,
            retrieval=retrieval,
            upstreams=Upstreams(
                guard,
                http,
                QuotesClient(retrieval),
                others={EMBEDDER_ENGINE: EmbedderClient(retrieval), **dict.fromkeys(TRANSLATED, translating)},
                cooldown=cooldown,
                queues=queues,
                waking=waking,
                slots=observed.slots,
                context=observed.context,
            ),
            fleet=Fleet(cooldown, queues, observed),
            prober=prober,
            exit=Exit(http, tickets),
            conversations=conversations,
            ratios=await ratios.seeded(engine, now()),
            limits=limits,
            cache=cache,
            metrics=metrics,
            loopback_only=loopback_only,
            secret=secret,
        )


async def _tell(retrieval: RetrievalClient) -> None:
    """Have the retrieval process read the pack's collections and detectors again; if it is away, it will anyway."""
    with suppress(RetrievalError):
        await retrieval.reload()


@asynccontextmanager
async def _running(work: Coroutine[None, None, None]) -> AsyncGenerator[None, None]:
    """Keep work running in the background for as long as the context is open, and see it end.

    What it asked of a database is answered before that one is closed. A connection that is being made may swallow a
    cancellation, so it is said again, and not waited for forever.
    """
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        for _ in range(_TRIES_TO_END):
            task.cancel()
            if (await asyncio.wait({task}, timeout=_END_SECONDS))[0]:
                break


class _Server(uvicorn.Server):
    """A server that leaves signals to the process: two of them share it."""

    def capture_signals(self):  # type: ignore[no-untyped-def]  # uvicorn's own return type is a private generator
        return nullcontext()


def _config(app: object, **where: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        lifespan="off",
        access_log=False,
        log_level="critical",  # its tracebacks carry messages of exceptions, which may quote a request
        server_header=False,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
        **where,  # type: ignore[arg-type]
    )


def _stop(*servers: _Server) -> None:
    for server in servers:
        server.should_exit = True


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=4141)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
