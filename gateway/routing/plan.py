"""Plans a route: of the deployments a decision allows, those that can answer, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.errors import BadRequest, ContextLengthExceeded, ModelNotFound, NoDeployment, UnsupportedParameter
from gateway.routing import rank
from policies.pack import AUTO, QUOTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.catalog.deployments import Deployment
    from gateway.errors import GatewayError
    from gateway.routing.demand import Demand
    from gateway.routing.rank import Fleet
    from policies.decide import Decision

_CONNECT_ONE = (
    "no model that 'auto' may use is connected: add a deployment to deployments.yaml in the pack "
    "(the file holds ready ones for Ollama, llama-server, vLLM, SGLang and hosted APIs); it is taken up within seconds"
)

_NO_DOCUMENTS = "'quotes' answers with sentences of documents: name a collection, as in 'quotes@papers'"
_NAME_ONE = (
    "'auto' embeds nothing, for vectors of different models cannot be compared: name a model, as 'e5-small', which is "
    "the house's own (GET /v1/models lists them)"
)

_SURELY_TOO_LONG = 2
"""The prompt's tokens are a bound from above, at 3 bytes each. Text beyond 6 bytes a token is rare in any language, so
twice the context cannot fit; in between the deployment itself decides."""


def plan(deployments: Sequence[Deployment], decision: Decision, demand: Demand, fleet: Fleet) -> tuple[Deployment, ...]:
    """Return the route, never empty; raises the error that names what is missing."""
    if demand.finds_nothing and (told := _tellers(deployments, decision)):
        return told
    if demand.model == QUOTES and not demand.has_collections:
        raise BadRequest(_NO_DOCUMENTS, param="model")
    if demand.endpoint == "embeddings" and demand.model == AUTO:
        raise UnsupportedParameter(_NAME_ONE, param="model")
    asked = [d for d in deployments if _is_asked(d, decision, demand)]
    allowed = [d for d in asked if d.zone.name in decision.zones]
    if not allowed:
        raise _nothing_allowed(asked, demand)
    able = [d for d in allowed if _lacking(d, demand, fleet) is None]
    if not able:
        raise _lacking(allowed[0], demand, fleet) or NoDeployment(_CONNECT_ONE)
    return tuple(rank.ordered(able, decision, demand, fleet))


def withheld(
    deployments: Sequence[Deployment], decision: Decision, demand: Demand, fleet: Fleet
) -> tuple[Deployment, ...]:
    """The deployments that would answer as well, and that the request's label keeps it from."""
    kept_from = [d for d in deployments if _is_asked(d, decision, demand) and d.zone.name not in decision.cleared]
    return tuple(d for d in kept_from if not d.builtin and _lacking(d, demand, fleet) is None)


def _tellers(deployments: Sequence[Deployment], decision: Decision) -> tuple[Deployment, ...]:
    """Who says that nothing was found: the house itself. No model is paid, or told the question, to say so."""
    return tuple(d for d in deployments if d.engine == QUOTES and d.zone.name in decision.zones)


def _no_endpoint(deployment: Deployment, demand: Demand) -> GatewayError | None:
    """Why it cannot be asked in this form: it has neither the endpoint itself nor, where that would do, a chat."""
    if deployment.offers(demand.endpoint) and (demand.endpoint == "chat" or not demand.has_collections):
        return None  # passages are put into chats only
    if not demand.has_chat:
        return UnsupportedParameter(
            f"{deployment.model!r} does not offer {demand.endpoint}: choose a model that does (GET /v1/models)",
            param="model",
        )
    if demand.native_only is not None:
        place, _, what = demand.native_only.partition(": ")
        return UnsupportedParameter(
            f"{place}: {what or 'this'} needs a deployment with a {demand.endpoint!r} endpoint of its own, and "
            f"{deployment.model!r} states none (capabilities in deployments.yaml)",
            param=place,
        )
    if not deployment.offers("chat"):
        return UnsupportedParameter(f"{deployment.model!r} does not offer a chat", param="model")
    return None


def _is_asked(deployment: Deployment, decision: Decision, demand: Demand) -> bool:
    if demand.model != AUTO:
        return deployment.serves(demand.model)
    if deployment.engine == QUOTES:
        return demand.has_collections
    if not demand.has_chat and deployment.builtin:
        return deployment.offers(demand.endpoint)  # the house's own embedder stands in where nothing else is connected
    if not deployment.automatic or deployment.grade < (decision.at_least or 0):
        return False
    return decision.models is None or any(deployment.serves(model) for model in decision.models)


def _nothing_allowed(asked: Sequence[Deployment], demand: Demand) -> GatewayError:
    if demand.model == AUTO:
        return NoDeployment(_CONNECT_ONE)
    if not asked:
        return ModelNotFound(f"the model {demand.model!r} does not exist: GET /v1/models lists the ones you may use")
    return NoDeployment(f"no deployment of {demand.model!r} is in a zone that this request may enter")


def _lacking(deployment: Deployment, demand: Demand, fleet: Fleet) -> GatewayError | None:
    """Why this deployment cannot answer, or None if it can. What nobody stated is not held against it."""
    if error := _no_endpoint(deployment, demand):
        return error
    if need := _unmet(deployment, demand, fleet):
        return UnsupportedParameter(f"{deployment.model!r} does not offer {need!r}", param=need)
    context = fleet.context(deployment)
    if context is not None and demand.must_fit > _SURELY_TOO_LONG * context:
        return ContextLengthExceeded(
            f"the request has about {demand.must_fit} tokens, {deployment.model!r} takes {context}: "
            "shorten it or choose a model with a longer context",
            param="messages",
        )
    return None


def _unmet(deployment: Deployment, demand: Demand, fleet: Fleet) -> str | None:
    """The first need that the deployment does not meet, by what the pack states and what it said itself."""
    if "vision" in demand.needs and fleet.is_blind(deployment):
        return "vision"
    if deployment.capabilities is None:
        return None
    return min(demand.needs - deployment.capabilities, default=None)
