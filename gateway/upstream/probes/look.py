"""Looks at one deployment in the way of its engine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from gateway.catalog.observed import Observation
from gateway.errors import NotLocal, UpstreamUnavailable
from gateway.upstream.probes import llama_server, models, ollama, sglang, vllm
from gateway.upstream.probes.server import Server

if TYPE_CHECKING:
    from datetime import datetime

    from gateway.catalog.deployments import Deployment
    from gateway.upstream.guard import Guard

_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Engine:
    """How a kind of server is asked."""

    health: str | None = None
    """None: it has no such page, its list of models tells."""
    look: Callable[[Server], Awaitable[Observation]] = models.look
    load: Callable[[Server, Observation], Awaitable[Observation]] | None = None
    """None: it does not say how busy it is."""


_ENGINES = {
    "vllm": Engine("/health", vllm.look, vllm.load),
    "sglang": Engine("/health", sglang.look, sglang.load),
    "llama_server": Engine("/health", llama_server.look, llama_server.load),
    "ollama": Engine("/api/version", ollama.look),
    "tokenspeed": Engine(models.PATH),
}
_ANY = Engine()


async def look(guard: Guard, deployment: Deployment, at: datetime) -> Observation:
    """All that a deployment says of itself; one that does not answer is an observation too."""
    server, engine = Server(guard, deployment, at), _engine(deployment)
    try:
        async with asyncio.timeout(_SECONDS):
            if engine.health is not None and (reason := await _unwell(server)) is not None:
                return Observation(at, up=False, note=reason)
            seen = await engine.look(server)
            return await engine.load(server, seen) if engine.load and seen.up else seen
    except NotLocal as error:
        return Observation(at, up=False, local=False, note=str(error))
    except (UpstreamUnavailable, TimeoutError):
        return Observation(at, up=False, note=_away(deployment))


async def load(guard: Guard, deployment: Deployment, seen: Observation, at: datetime) -> Observation:
    """The same deployment with its present load; an engine that does not say it stays as it was seen."""
    engine = _engine(deployment)
    if engine.load is None:
        return seen
    try:
        async with asyncio.timeout(_SECONDS):
            return await engine.load(Server(guard, deployment, at), replace(seen, at=at))
    except (UpstreamUnavailable, NotLocal, TimeoutError):
        return seen  # whether it is down is for a whole look to say


async def answers(guard: Guard, deployment: Deployment, at: datetime) -> bool:
    """True if a deployment is ready for requests. NotLocal if it is not where its zone is."""
    try:
        return await _unwell(Server(guard, deployment, at)) is None
    except UpstreamUnavailable:
        return False


async def _unwell(server: Server) -> str | None:
    """Why it would not answer a request; None if it would. A proxy may pass on nothing but the API."""
    health = _engine(server.deployment).health
    if health is None:
        seen = await models.look(server)
        return None if seen.up else seen.note
    status = (await server.get(health)).status
    if status == HTTPStatus.NOT_FOUND:
        status = (await server.get(models.PATH)).status
    return None if status == HTTPStatus.OK else _meaning(status, server.deployment.engine)


def _engine(deployment: Deployment) -> Engine:
    return _ENGINES.get(deployment.engine, _ANY)


def _meaning(status: int, engine: str) -> str:
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return "it is loading its model, or is overloaded (status 503)"
    if status in models.REFUSED:
        return models.KEY_REFUSED
    return f"it answers with status {status}, as no {engine} in good health does"


def _away(deployment: Deployment) -> str:
    return "it is asleep: the first request wakes it" if deployment.wake else "it does not answer: is it running?"
