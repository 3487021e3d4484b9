"""`GET /v1/models`: the models that can be asked for, with where they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from gateway.api.auth import Caller, CurrentRuntime
from gateway.errors import ModelNotFound

if TYPE_CHECKING:
    from gateway.catalog.deployments import Deployment
    from gateway.runtime import Runtime

router = APIRouter(prefix="/v1", tags=["models"])


@router.get("/models")
async def list_models(_caller: Caller, runtime: CurrentRuntime) -> dict[str, Any]:
    """List the models; `soleira` holds what OpenAI's shape has no place for."""
    return {"object": "list", "data": [_model(*model) for model in _models(runtime).items()]}


@router.get("/models/{name:path}")
async def show_model(name: str, _caller: Caller, runtime: CurrentRuntime) -> dict[str, Any]:
    """Show one model."""
    deployments = _models(runtime).get(name)
    if deployments is None:
        raise ModelNotFound(f"the model {name!r} does not exist: GET /v1/models lists the ones you may use")
    return _model(name, deployments)


def _models(runtime: Runtime) -> dict[str, list[Deployment]]:
    catalog = runtime.packs.current.catalog
    return {"auto": [deployment for deployment in catalog.deployments if deployment.automatic], **catalog.models()}


def _model(name: str, deployments: list[Deployment]) -> dict[str, Any]:
    contexts = [deployment.context for deployment in deployments if deployment.context is not None]
    capabilities = frozenset[str]().union(*(deployment.capabilities or () for deployment in deployments))
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "soleira",
        "soleira": {
            "zones": sorted({deployment.zone.name for deployment in deployments}),
            "deployments": [deployment.name for deployment in deployments],
            "context": max(contexts, default=None),
            "capabilities": sorted(capabilities | {"chat"}),
        },
    }
