"""The admin application: served on the data directory's socket only, so whoever reaches it owns the house."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, FastAPI, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict

from gateway.api import energy, errors, measuring
from gateway.api.auth import CurrentRuntime
from gateway.api.usage import Asked
from gateway.catalog import overview
from gateway.catalog.packs import REFUSALS
from gateway.db import keys
from gateway.db.keys import Allowance, KeySpec, Role
from gateway.errors import BadRequest, NotFound
from gateway.ledger import spend
from gateway.runtime import Runtime
from policies.labels import Label, Level, Sensitivity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateway.catalog.deployments import Deployment

router = APIRouter()


def _sensitivity(text: object) -> Sensitivity:
    return Sensitivity.parse(str(text))


def _label(text: object) -> Label | None:
    return None if text is None else Label(_sensitivity(text))


class KeyCreate(BaseModel):
    """A key to create; labels are written as in a pack."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    name: str
    groups: tuple[str, ...] = ()
    clearance: Annotated[Sensitivity, BeforeValidator(_sensitivity)] = Sensitivity(Level.PRIVATE)
    label: Annotated[Label | None, BeforeValidator(_label)] = None
    collections: tuple[str, ...] = ()
    person: str | None = None
    role: Role = "caller"
    budget_usd: str | None = None
    budget_tokens: str | None = None
    requests: str | None = None
    tokens: str | None = None
    concurrency: int | None = None

    def spec(self) -> KeySpec:
        """The key as it is to be kept."""
        return KeySpec(
            name=self.name,
            groups=self.groups,
            clearance=self.clearance,
            default_label=self.label,
            collections=self.collections,
            person=self.person,
            role=self.role,
            allowance=Allowance(self.budget_usd, self.budget_tokens, self.requests, self.tokens, self.concurrency),
        )


@router.post("/keys")
async def create_key(wish: KeyCreate, runtime: CurrentRuntime) -> dict[str, Any]:
    """Create a key; its text is in this answer and nowhere else."""
    spec = wish.spec()
    key = await keys.create(runtime.engine, spec)
    return {"key": key, **spec.as_dict()}


@router.get("/keys")
async def list_keys(runtime: CurrentRuntime) -> list[dict[str, Any]]:
    """List the keys, revoked ones too, without their texts."""
    return [row.as_dict() for row in await keys.list_keys(runtime.engine)]


@router.delete("/keys/{name}")
async def revoke_key(name: str, runtime: CurrentRuntime) -> dict[str, str]:
    """Revoke a key: it is refused from the moment this returns."""
    digest = await keys.revoke(runtime.engine, name)
    if digest is None:
        raise NotFound(f"there is no valid key named {name!r}")
    await runtime.revocations.announce(digest)
    return {"name": name, "state": "revoked"}


@router.get("/spend")
async def read_spend(asked: Annotated[Asked, Query()], runtime: CurrentRuntime) -> dict[str, Any]:
    """What was spent within a span, by model, zone, deployment and principal, and by what it is grouped by."""
    question, zone = asked.question(), runtime.packs.current.pack.budgets.zone
    found = await spend.spend(runtime.engine, question.span(zone), question.grouping, question.where)
    return found.as_dict()


class Probed(BaseModel):
    """What to look at: one deployment by its name, or all of them."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = None


@router.get("/models")
async def list_models(runtime: CurrentRuntime) -> list[dict[str, Any]]:
    """List the deployments with what is known of them; nobody is asked."""
    return _rows(runtime, runtime.packs.current.catalog.deployments)


@router.post("/models/probe")
async def probe_models(wish: Probed, runtime: CurrentRuntime) -> list[dict[str, Any]]:
    """Ask deployments how they are, hosted ones too: this is the command that they are asked by."""
    deployments = [d for d in runtime.packs.current.catalog.deployments if d.base_url and wish.name in (None, d.name)]
    if not deployments and wish.name is not None:
        raise NotFound(f"there is no deployment {wish.name!r}: 'soleira models list' shows them")
    await asyncio.gather(*(runtime.prober.probe(deployment) for deployment in deployments))
    return _rows(runtime, deployments)


def _rows(runtime: Runtime, deployments: Sequence[Deployment]) -> list[dict[str, Any]]:
    specs = runtime.packs.current.pack.deployments
    shown = overview.rows(deployments, specs, runtime.prober.observed, runtime.now().date())
    return [{**row, "state": _state(runtime, row)} for row in shown]


def _state(runtime: Runtime, row: Mapping[str, Any]) -> str:
    """One that rests after failures was up when it was last looked at, if ever; requests know more."""
    rests = row["state"] in ("up", "unknown") and runtime.fleet.cooldown.state(row["name"]) == "open"
    return "resting" if rests else str(row["state"])


@router.get("/policy")
async def show_policy(runtime: CurrentRuntime) -> dict[str, str | None]:
    """The version in force, and why what the folder holds now is not; null if it is."""
    return {"version": runtime.packs.current.pack.version, "refused": runtime.packs.last_error}


@router.post("/reload")
async def reload(runtime: CurrentRuntime) -> dict[str, str]:
    """Put the pack's present files in force; a bad pack changes nothing."""
    try:
        loaded = await runtime.packs.reload()
    except REFUSALS as error:
        raise BadRequest(str(error)) from error
    return {"policy": loaded.pack.version}


def create_admin(runtime: Runtime) -> FastAPI:
    """Build the application for the admin socket."""
    app = FastAPI(title="Soleira, admin socket", openapi_url=None)
    app.state.runtime = runtime
    errors.register(app)
    app.include_router(router)
    app.include_router(energy.router)
    app.include_router(measuring.router)
    return app
