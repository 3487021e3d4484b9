"""`/healthz`, `/readyz`, `/metrics`: is the gateway up, is the whole house, and what has it done."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Response
from prometheus_client import CONTENT_TYPE_LATEST

from gateway.api.auth import CurrentRuntime, may_read_metrics

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """200 as soon as the gateway answers."""
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(runtime: CurrentRuntime, response: Response) -> dict[str, Any]:
    """200 when chat and retrieval answer; until then 503 with what is waited for."""
    packs = runtime.packs
    state = {
        "retrieval": await runtime.retrieval.ready(),
        "policy": packs.current.pack.version,
        "policy_error": packs.last_error is not None,
    }
    if not state["retrieval"]:
        response.status_code = 503
        response.headers["retry-after"] = "2"
    return {"status": "ready" if state["retrieval"] else "starting", **state}


@router.get("/metrics", dependencies=[Depends(may_read_metrics)])
async def metrics(runtime: CurrentRuntime) -> Response:
    """Counters in Prometheus' text format."""
    return Response(runtime.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)
