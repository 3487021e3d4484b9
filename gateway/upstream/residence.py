"""Finds out whether an Ollama model runs at its address, or in a cloud behind it.

Ollama hands a cloud model's requests on to ollama.com, although its own address is this machine's. Its tag tells
(`:cloud`, `:120b-cloud`), and where somebody gave it another name, `/api/show` and `/api/tags` do: by `remote_host`,
`remote_model`, or a size of a few hundred bytes, which holds no weights.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import structlog

from gateway.errors import NotLocal, UpstreamUnavailable

if TYPE_CHECKING:
    from gateway.catalog.deployments import Deployment

log = structlog.get_logger()

Json = Mapping[str, Any]
Ask = Callable[["Deployment", str, bytes | None], Awaitable[Json | None]]
"""Asks a deployment at a path, by POST where there is a body. None: it has no such thing; UpstreamUnavailable: it does
not say."""

OLLAMA = "ollama"

_CLOUD = re.compile(r"[:-]cloud\Z", re.IGNORECASE)
_LEAST_WEIGHTS = 1 << 20
"""Bytes; what Ollama keeps of a cloud model is far smaller, any model of its own far larger."""
_PROOF_SECONDS = 60.0


class Residence:
    """Proofs that Ollama models run where their addresses say, each good for a minute."""

    def __init__(self, ask: Ask, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._until: dict[tuple[str, str], float] = {}

    async def check(self, deployment: Deployment) -> None:
        """NotLocal if the model runs elsewhere; asks only where the last proof is too old."""
        if self._until.get(_key(deployment), 0.0) < self._clock():
            await self.prove(deployment)

    async def prove(self, deployment: Deployment) -> None:
        """Ask anew. A model that Ollama does not have is no proof, and nothing to refuse: the call will be."""
        self._until.pop(_key(deployment), None)
        model = deployment.upstream_model
        if _CLOUD.search(model):
            raise _elsewhere(deployment)  # it is not even asked: Ollama would hand the question on
        shown = await self._ask(deployment, "/api/show", json.dumps({"model": model}).encode())
        if shown is None:
            return
        listed = entry(await self._ask(deployment, "/api/tags", None) or {}, model)
        if is_remote(shown) or (listed is not None and (is_remote(listed) or _is_hollow(listed))):
            raise _elsewhere(deployment)
        self._until[_key(deployment)] = self._clock() + _PROOF_SECONDS


def is_remote(entry: Json) -> bool:
    """True if Ollama says that it hands this model's requests on."""
    return bool(entry.get("remote_host") or entry.get("remote_model"))


def entry(tags: Json, model: str) -> Json | None:
    """The entry of a model in `/api/tags` or `/api/ps`; a name without a tag means `:latest`."""
    models = tags.get("models")
    names = {model, model if ":" in model.rpartition("/")[2] else f"{model}:latest"}
    for found in models if isinstance(models, list) else ():
        if isinstance(found, Mapping) and any(said in names for said in _texts(found.get("name"), found.get("model"))):
            return found
    return None


def _texts(*values: object) -> list[str]:
    return [value for value in values if isinstance(value, str)]


def _is_hollow(listed: Json) -> bool:
    size = listed.get("size")
    return isinstance(size, int) and size < _LEAST_WEIGHTS


def _key(deployment: Deployment) -> tuple[str, str]:
    return deployment.base_url, deployment.upstream_model


def _elsewhere(deployment: Deployment) -> NotLocal:
    log.warning("deployment_not_local", deployment=deployment.name, zone=deployment.zone.name, reason="ollama_cloud")
    return NotLocal(
        f"deployment {deployment.name!r}: Ollama has {deployment.upstream_model!r} run in a cloud, outside of the zone "
        f"{deployment.zone.name!r}: nothing was sent; choose a model that is on the machine, or move the deployment to "
        "a zone for hosted models"
    )


def unsaid(deployment: Deployment) -> UpstreamUnavailable:
    """Where a model runs is not known, so that nothing is sent to it."""
    return UpstreamUnavailable(f"deployment {deployment.name!r} does not say whether its model runs there")
