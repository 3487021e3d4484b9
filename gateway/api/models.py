"""`GET /v1/models`: the models that the caller may use, with where they run and what they can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from gateway.api.auth import Caller, CurrentRuntime
from gateway.chat.admit import default_of
from gateway.errors import ModelNotFound
from policies.decide import decide
from policies.pack import AUTO
from policies.signals import Signals

if TYPE_CHECKING:
    from gateway.catalog.deployments import Deployment
    from gateway.principals import Principal
    from gateway.runtime import Runtime

router = APIRouter(prefix="/v1", tags=["models"])


@router.get("/models")
async def list_models(caller: Caller, runtime: CurrentRuntime) -> dict[str, Any]:
    """List the models, for clients of OpenAI's API and of Anthropic's; `soleira` holds what neither has a place for."""
    models = [_model(runtime, *model) for model in _usable(runtime, caller).items()]
    page = {"has_more": False, "first_id": models[0]["id"], "last_id": models[-1]["id"]}
    return {"object": "list", "data": models, **page}


@router.get("/models/{name:path}")
async def show_model(name: str, caller: Caller, runtime: CurrentRuntime) -> dict[str, Any]:
    """Show one model."""
    deployments = _usable(runtime, caller).get(name)
    if deployments is None:
        raise ModelNotFound(f"the model {name!r} does not exist: GET /v1/models lists the ones you may use")
    return _model(runtime, name, deployments)


def _usable(runtime: Runtime, caller: Principal) -> dict[str, list[Deployment]]:
    """The models with the deployments that this caller's ordinary text may reach by the pack's rules.

    `auto` is always there: what it may do depends on what is asked.
    """
    loaded = runtime.packs.current
    automatic = [deployment for deployment in loaded.catalog.deployments if deployment.automatic]
    usable = {AUTO: automatic}
    for name, deployments in loaded.catalog.models().items():
        allowed = _zones_for(runtime, caller, name)
        if within := [deployment for deployment in deployments if deployment.zone.name in allowed]:
            usable[name] = within
    return usable


def _zones_for(runtime: Runtime, caller: Principal, model: str) -> tuple[str, ...]:
    pack = runtime.packs.current.pack
    signals = Signals(
        label=default_of(pack, caller),
        model=model,
        principal=caller.name,
        groups=caller.groups,
        hour=runtime.now().astimezone().hour,
    )
    return decide(pack, signals).zones


def _model(runtime: Runtime, name: str, deployments: list[Deployment]) -> dict[str, Any]:
    contexts = [size for deployment in deployments if (size := runtime.fleet.context(deployment)) is not None]
    capabilities = frozenset[str]().union(*(deployment.capabilities or {"chat"} for deployment in deployments))
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "soleira",
        "type": "model",
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
        "soleira": {
            "zones": sorted({deployment.zone.name for deployment in deployments}),
            "deployments": [deployment.name for deployment in deployments],
            "context": max(contexts, default=None),
            "capabilities": sorted(capabilities),
        },
    }
