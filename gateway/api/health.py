"""`/healthz`, `/readyz`, `/metrics`: is the gateway up, is the whole house, and what has it done."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Response
from prometheus_client import CONTENT_TYPE_LATEST

from gateway.api.auth import CurrentRuntime, may_read_metrics
from gateway.runtime import Runtime

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz(runtime: CurrentRuntime) -> dict[str, Any]:
    """200 as soon as the gateway answers; the pack in force, and whether a later state of it was refused."""
    return {"status": "ok", **_policy(runtime)}


@router.get("/readyz")
async def readyz(runtime: CurrentRuntime, response: Response) -> dict[str, Any]:
    """200 when chat and retrieval answer; until then 503 with what is waited for."""
    state = {"retrieval": await runtime.retrieval.ready(), **_policy(runtime)}
    if not state["retrieval"]:
        response.status_code = 503
        response.headers["retry-after"] = "2"
    return {"status": "ready" if state["retrieval"] else "starting", **state}


@router.get("/metrics", dependencies=[Depends(may_read_metrics)])
async def metrics(runtime: CurrentRuntime) -> Response:
    """Counters in Prometheus' text format."""
    return Response(runtime.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)


def _policy(runtime: Runtime) -> dict[str, Any]:
    return {"policy": runtime.packs.current.pack.version, "policy_error": runtime.packs.last_error is not None}
