"""Turns a pack's deployments into callable ones, and adds those that every house has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.catalog.deployments import Deployment, Limits, Parameters, Price, Queue, Replies, Wake
from gateway.catalog.price_lists import price_of, price_of_others
from policies.pack import QUOTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.catalog.engines import Engines
    from policies.fields import SecretSource
    from policies.load import Pack
    from policies.schema import DeploymentSpec, LimitsEntry, ParameterRules

DEMONSTRATION = "smollm2-135m"
EMBEDDER = "e5-small"
EMBEDDER_ENGINE = "embedder"
"""The engine of what the retrieval process answers itself; no pack can name it."""

_FREE = Price(Decimal(0), Decimal(0), source="this machine, already paid for", as_of=date(2026, 11, 30), origin="house")


_NO_CHAT = frozenset({"embeddings", "rerank"})
_SALTED = frozenset({"vllm"})
"""Engines whose prefix cache can be kept apart by caller (vLLM's `cache_salt`)."""


class CatalogError(Exception):
    """A deployment that cannot be used as it is written; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """All deployments of one pack version, in the pack's order, the built-in ones last."""

    deployments: tuple[Deployment, ...]

    def builtin_zones(self) -> dict[str, str]:
        """The models of this house that no pack declares, with their zones."""
        return {d.model: d.zone.name for d in self.deployments if d.builtin}

    def models(self) -> dict[str, list[Deployment]]:
        """The model names people may ask for, with the deployments behind each."""
        models: dict[str, list[Deployment]] = {}
        for deployment in self.deployments:
            for name in (deployment.model, *deployment.aliases):
                if deployment.listed:
                    models.setdefault(name, []).append(deployment)
        return models


def load(
    pack: Pack,
    environment: Mapping[str, str],
    engine_socket: Path | None,
    engines: Engines | None = None,
    today: date | None = None,
) -> Catalog:
    """Build the catalog; `engine_socket` is the demonstration engine's, None where it cannot run.

    `engines` is where those for GGUF files listen; None where nobody runs them. `today` is the day whose prices
    deployments show; what they cost on others they know as well.
    """
    _check_keys(pack, environment)
    day = today or datetime.now(UTC).date()
    deployments = [_own(_deployment(spec, pack, environment, day), spec, engines) for spec in pack.deployments]
    if engine_socket is not None:
        deployments.append(_demonstration(pack, engine_socket))
    deployments += [_embedder(pack), _quotes(pack)]
    return Catalog(tuple(deployments))


def _deployment(spec: DeploymentSpec, pack: Pack, environment: Mapping[str, str], today: date) -> Deployment:
    return Deployment(
        name=spec.name,
        model=spec.model,
        aliases=tuple(spec.aliases),
        engine=spec.engine,
        base_url=spec.base_url.rstrip("/"),
        upstream_model=spec.upstream_model or spec.model,
        zone=pack.zones[spec.zone],
        price=price_of(spec, pack, today),
        api_key=_secret(spec.name, spec.api_key, environment),
        grade=spec.grade,
        context=spec.context,
        max_output=spec.max_output,
        capabilities=_capabilities(spec),
        limits=_limits(spec.limits),
        dialect=spec.dialect,
        parameters=_parameters(spec.parameters),
        keeps_reasoning=_keeps_reasoning(spec),
        check_tool_arguments=spec.check_tool_arguments,
        cache_salt=spec.engine in _SALTED if spec.cache_salt is None else spec.cache_salt,
        replies=Replies(frozenset(spec.replies.accept), price_of_others(spec, pack, today)),
        queue=Queue(spec.slots, spec.queue, spec.queue_seconds),
        wake=Wake(spec.wake.command, spec.wake.url, spec.wake.seconds) if spec.wake else None,
    )


def _own(deployment: Deployment, spec: DeploymentSpec, engines: Engines | None) -> Deployment:
    """A deployment that the house runs has the address, the context and the slots that its engine is started with."""
    if spec.gguf is None:
        return deployment
    return replace(
        deployment,
        base_url="" if engines is None else f"unix:{engines.socket(spec)}:/v1",
        context=spec.gguf.context,
        queue=replace(deployment.queue, slots=spec.gguf.slots),
    )


def _capabilities(spec: DeploymentSpec) -> frozenset[str] | None:
    """What the pack states; a chat is assumed, unless all that is stated are endpoints of another kind."""
    if not spec.capabilities:
        return None
    stated = frozenset(spec.capabilities)
    return stated if stated <= _NO_CHAT else stated | {"chat"}


def _keeps_reasoning(spec: DeploymentSpec) -> bool:
    if spec.reasoning_history is not None:
        return spec.reasoning_history == "keep"
    return not spec.capabilities or "reasoning" in spec.capabilities


def _parameters(spec: ParameterRules) -> Parameters:
    return Parameters(frozenset(spec.strip), spec.rename, spec.defaults, spec.effort)


def _limits(spec: LimitsEntry) -> Limits:
    stated = {name: value for name, value in spec.model_dump().items() if value is not None}
    return replace(Limits(), **stated)


def _check_keys(pack: Pack, environment: Mapping[str, str]) -> None:
    """Name every key that is missing: who sets one and starts again should not be told of the next."""
    missing = [
        f"deployment {spec.name!r} needs its key in the environment variable {spec.api_key.env}"
        for spec in pack.deployments
        if spec.api_key is not None and spec.api_key.env is not None and not _variable(spec.api_key.env, environment)
    ]
    if missing:
        raise CatalogError("\n".join([*missing, "Set it, or take the deployment out of deployments.yaml."]))


def _variable(name: str, environment: Mapping[str, str]) -> str:
    return environment.get(name, "").strip()


def _secret(name: str, reference: SecretSource | None, environment: Mapping[str, str]) -> str | None:
    if reference is None:
        return None
    if reference.env is not None:
        return _variable(reference.env, environment)
    try:
        value = Path(str(reference.file)).expanduser().read_text(encoding="utf-8").strip()
    except OSError as error:
        raise CatalogError(f"deployment {name!r}: its key file cannot be read ({error.strerror})") from error
    if not value:
        raise CatalogError(f"deployment {name!r}: its key file is empty")
    return value


def _demonstration(pack: Pack, socket: Path) -> Deployment:
    return replace(
        _of_this_house(pack, DEMONSTRATION, "llama_server"),
        name="demonstration",
        base_url=f"unix:{socket}:/v1",
        grade=1,
        context=4096,
        max_output=1024,
        capabilities=frozenset({"chat", "json_schema"}),
    )


def _embedder(pack: Pack) -> Deployment:
    """The embedding model of the retrieval process. It has no context here: it counts exactly, and refuses itself."""
    return replace(_of_this_house(pack, EMBEDDER, EMBEDDER_ENGINE), capabilities=frozenset({"embeddings", "rerank"}))


def _quotes(pack: Pack) -> Deployment:
    return replace(_of_this_house(pack, QUOTES, QUOTES), grade=1, listed=False)


def _of_this_house(pack: Pack, model: str, engine: str) -> Deployment:
    """A model that no pack declares: on this machine, free, and never the choice of `auto`."""
    return Deployment(
        name=model,
        model=model,
        engine=engine,
        base_url="",
        upstream_model=model,
        zone=pack.loopback_zone,
        price=_FREE,
        builtin=True,
        automatic=False,
    )
