"""`GET /v1/soleira/decisions/{id}`: why a request went where it went, told to whoever made it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter

from gateway.api.auth import Caller, CurrentRuntime
from gateway.db import decisions
from gateway.errors import NotFound

router = APIRouter(prefix="/v1/soleira", tags=["decisions"])


@router.get("/decisions/{decision_id}")
async def explain_decision(decision_id: str, caller: Caller, runtime: CurrentRuntime) -> dict[str, Any]:
    """Return a decision of the caller's own; the admin sees everybody's."""
    found = await decisions.find(runtime.engine, decision_id, None if caller.is_admin else caller.name)
    if found is None:
        raise NotFound(f"there is no decision {decision_id!r} of yours")
    return asdict(found)
