"""Measures a deployment of the running house, on the admin socket; its progress comes as lines of JSON."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import structlog
from anyio import CancelScope
from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from gateway.api.auth import CurrentRuntime
from gateway.errors import Conflict, GatewayError
from gateway.owning.measuring import measure
from gateway.owning.measuring.bench import Bench
from gateway.owning.measuring.measure import Known, Ready, Wish
from gateway.owning.profiles import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from gateway.runtime import Runtime

router = APIRouter(prefix="/measure")

log = structlog.get_logger()

_END_SECONDS = 5.0

Count = Annotated[int, Field(ge=1)]


class Asked(BaseModel):
    """A measurement that the owner asks for."""

    model_config = ConfigDict(extra="forbid")

    deployment: str
    contexts: tuple[Count, ...] = ()
    concurrency: tuple[Count, ...] = ()
    output_tokens: Count | None = None
    requests: Count = measure.REQUESTS
    seconds: Annotated[float, Field(gt=0, le=measure.MOST_SECONDS)] = measure.SECONDS
    gpu: Annotated[str, Field(min_length=1, max_length=120)] = UNKNOWN
    gpus: Count = 1
    quant: Annotated[str, Field(max_length=120)] = ""

    def wish(self) -> Wish:
        """The same as the measurement takes it."""
        return Wish(**self.model_dump())


@dataclass
class UnderWay:
    """The measurement that is under way; one at a time, for two would slow each other down."""

    deployment: str
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    events: asyncio.Queue[dict[str, Any] | None] = field(default_factory=asyncio.Queue)
    """None: that was all."""


@router.post("/plan")
async def plan(asked: Asked, runtime: CurrentRuntime) -> dict[str, Any]:
    """What would be asked, and about how much that is; nothing is sent."""
    return _ready(runtime, asked).as_dict()


@router.post("")
async def start(asked: Asked, request: Request, runtime: CurrentRuntime) -> StreamingResponse:
    """Measure. Whoever hangs up has it stopped; what was measured by then is kept."""
    ready = _ready(runtime, asked)
    before: UnderWay | None = getattr(request.app.state, "measuring", None)
    if before is not None:
        raise Conflict(f"deployment {before.deployment!r} is being measured: wait for that, or stop it with Ctrl-C")
    under_way = request.app.state.measuring = UnderWay(ready.deployment.name)
    bench = Bench(runtime.upstreams, runtime.writer, runtime.now, runtime.new_id)
    task = asyncio.create_task(_measure(bench, ready, runtime.settings.data, under_way))
    task.add_done_callback(lambda _: setattr(request.app.state, "measuring", None))
    return StreamingResponse(_lines(under_way, task), media_type="application/x-ndjson")


@router.post("/stop")
async def stop(request: Request) -> dict[str, str | None]:
    """Have the measurement under way end; null if there is none."""
    under_way: UnderWay | None = getattr(request.app.state, "measuring", None)
    if under_way is None:
        return {"deployment": None}
    under_way.stop.set()
    return {"deployment": under_way.deployment}


def _ready(runtime: Runtime, asked: Asked) -> Ready:
    loaded, wish = runtime.packs.current, asked.wish()
    deployment = measure.named(wish.deployment, loaded.catalog.deployments)
    seen = runtime.prober.observed.of(deployment.name)
    upstreams = runtime.upstreams
    known = Known(upstreams.context(deployment), upstreams.slots(deployment), seen.version if seen else None)
    return measure.ready(wish, loaded.pack, loaded.catalog.deployments, known)


async def _measure(bench: Bench, ready: Ready, data: Path, under_way: UnderWay) -> None:
    try:
        async for event in measure.run(bench, ready, data, under_way.stop):
            under_way.events.put_nowait(event)
    except GatewayError as error:
        under_way.events.put_nowait({"event": "failed", "error": error.inner()})
    except Exception as failure:  # the border of a task: whoever waits must hear of it
        log.error("measurement_failed", deployment=ready.deployment.name, failure=failure)
        said = GatewayError("the measurement failed; the gateway's log names the place")
        under_way.events.put_nowait({"event": "failed", "error": said.inner()})
    finally:
        under_way.events.put_nowait(None)


async def _lines(under_way: UnderWay, task: asyncio.Task[None]) -> AsyncIterator[bytes]:
    """The events as they come. Where nobody reads on, the measurement is ended before the house may be."""
    try:
        while (event := await under_way.events.get()) is not None:
            yield json.dumps(event, ensure_ascii=False).encode() + b"\n"
    finally:
        under_way.stop.set()
        with CancelScope(shield=True):
            await asyncio.wait({task}, timeout=_END_SECONDS)
