"""Plans a route: of the deployments a decision allows, those that can answer, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.errors import ContextLengthExceeded, ModelNotFound, NoDeployment, UnsupportedParameter
from gateway.routing import rank
from policies.pack import AUTO, QUOTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateway.catalog.deployments import Deployment
    from gateway.errors import GatewayError
    from gateway.routing.demand import Demand
    from policies.decide import Decision

_CONNECT_ONE = (
    "no model that 'auto' may use is connected: add a deployment to deployments.yaml in the pack "
    "(the file holds ready ones for Ollama, llama-server, vLLM, SGLang and hosted APIs); it is taken up within seconds"
)

_SURELY_TOO_LONG = 2
"""The prompt's tokens are a bound from above, at 3 bytes each. Text beyond 6 bytes a token is rare in any language, so
twice the context cannot fit; in between the deployment itself decides."""


def plan(deployments: Sequence[Deployment], decision: Decision, demand: Demand) -> tuple[Deployment, ...]:
    """Return the route, never empty; raises the error that names what is missing."""
    if demand.finds_nothing and (told := _tellers(deployments, decision)):
        return told
    asked = [d for d in deployments if _is_asked(d, decision, demand)]
    allowed = [d for d in asked if d.zone.name in decision.zones]
    if not allowed:
        raise _nothing_allowed(asked, demand)
    able = [d for d in allowed if _lacking(d, demand) is None]
    if not able:
        raise _lacking(allowed[0], demand) or NoDeployment(_CONNECT_ONE)
    return tuple(rank.ordered(able, decision.prefer, demand))


def _tellers(deployments: Sequence[Deployment], decision: Decision) -> tuple[Deployment, ...]:
    """Who says that nothing was found: the house itself. No model is paid, or told the question, to say so."""
    return tuple(d for d in deployments if d.engine == QUOTES and d.zone.name in decision.zones)


def _is_asked(deployment: Deployment, decision: Decision, demand: Demand) -> bool:
    if demand.model != AUTO:
        return deployment.serves(demand.model)
    if deployment.engine == QUOTES:
        return demand.has_collections
    if not deployment.automatic or deployment.grade < (decision.at_least or 0):
        return False
    return decision.models is None or any(deployment.serves(model) for model in decision.models)


def _nothing_allowed(asked: Iterable[Deployment], demand: Demand) -> GatewayError:
    if demand.model == AUTO:
        return NoDeployment(_CONNECT_ONE)
    if not any(True for _ in asked):
        return ModelNotFound(f"the model {demand.model!r} does not exist: GET /v1/models lists the ones you may use")
    return NoDeployment(f"no deployment of {demand.model!r} is in a zone that this request may enter")


def _lacking(deployment: Deployment, demand: Demand) -> GatewayError | None:
    """Why this deployment cannot answer, or None if it can. What nobody stated is not held against it."""
    if deployment.capabilities is not None:
        for need in sorted(demand.needs - deployment.capabilities):
            return UnsupportedParameter(f"{deployment.model!r} does not offer {need!r}", param=need)
    if deployment.context is None:
        return None
    if demand.prompt_tokens > _SURELY_TOO_LONG * deployment.context:
        return ContextLengthExceeded(
            f"the request has about {demand.prompt_tokens} tokens, {deployment.model!r} takes {deployment.context}: "
            "shorten it or choose a model with a longer context",
            param="messages",
        )
    return None
