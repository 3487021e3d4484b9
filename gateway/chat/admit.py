"""Admits a chat request: retrieves, labels, decides and plans, before anything leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway import errors
from gateway.db.decisions import DecisionRecord
from gateway.privacy.label import Source, label_of
from gateway.routing import plan as planning
from gateway.routing.demand import Demand
from policies.decide import decide
from policies.language import detect
from policies.signals import Signals
from retrieval.client import RetrievalError, RetrievalNotReady, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateway.catalog.deployments import Deployment
    from gateway.catalog.packs import Loaded
    from gateway.chat.request import ChatRequest
    from gateway.principals import Principal
    from gateway.privacy.label import Labelled
    from gateway.runtime import Runtime
    from policies.decide import Decision
    from policies.labels import Label
    from policies.load import Pack
    from retrieval.client import CollectionInfo, Passage

_PASSAGES = 6
"""Passages put into a prompt: six of some 400 tokens fit the smallest contexts beside a question."""


@dataclass(frozen=True, slots=True)
class Call:
    """Who asks what: the request with what HTTP said beside it."""

    principal: Principal
    request: ChatRequest
    request_id: str
    asked_label: Label | None = None
    """The `soleira-label` header: it may only raise."""


@dataclass(frozen=True, slots=True)
class Admission:
    """A request that may go out, with its route."""

    call: Call
    loaded: Loaded
    record: DecisionRecord
    label: Label
    decision: Decision
    route: tuple[Deployment, ...]
    passages: tuple[Passage, ...]
    language: str


class Refused(Exception):
    """A request that may not go out: the refusal with its decision's record."""

    def __init__(self, error: errors.GatewayError, record: DecisionRecord) -> None:
        super().__init__(str(error))
        self.error = error
        self.record = record


async def admit(runtime: Runtime, call: Call) -> Admission:
    """Return the admission; Refused where the policy, the clearance or the catalog says no."""
    loaded = runtime.packs.current
    passages = await _retrieve(runtime, call)
    marks = await runtime.conversations.marks_of(call.principal.name, call.request.messages)
    given = [*_given(loaded, call, passages), *marks]
    labelled = await label_of(loaded.pack, call.request.body, given)
    language = detect(call.request.question) or _language_in(passages) or "en"
    signals = _signals(call, labelled, language, passages)
    decision = decide(loaded.pack, signals)
    record = _record(runtime, call, loaded, labelled, decision, len(passages))
    if decision.code is not None:
        raise Refused(_refusal(decision), record)
    try:
        route = planning.plan(loaded.catalog.deployments, decision, _demand(call.request, signals))
    except errors.GatewayError as error:
        raise Refused(error, record) from error
    return Admission(call, loaded, record, labelled.label, decision, route, passages, language)


async def _retrieve(runtime: Runtime, call: Call) -> tuple[Passage, ...]:
    request = call.request
    if not request.collections:
        return ()
    if not request.question.strip():
        raise errors.BadRequest("a model with a collection needs a message of the user to search for", param="messages")
    scope = await readable(runtime, call.principal, request.collections)
    try:
        return tuple(await runtime.retrieval.search(request.question, scope, _PASSAGES))
    except RetrievalNotReady as error:
        raise errors.RetrievalUnavailable(str(error), retry_after=str(error.retry_after)) from error
    except RetrievalError as error:
        raise errors.RetrievalUnavailable(str(error), retry_after="2") from error


async def readable(runtime: Runtime, principal: Principal, names: Sequence[str]) -> Scope:
    """The scope of a search; CollectionNotFound alike for what is not there and for what may not be read."""
    collections = runtime.packs.current.pack.collections
    for name in names:
        spec = collections.get(name)
        by_group = spec is not None and bool(spec.readers & principal.groups)
        if not (principal.is_admin or name in principal.collections or by_group):
            raise _no_collection(name)
    if principal.is_admin:
        known = {info.name for info in await _collections(runtime)} | set(collections)
        for name in names:
            if name not in known:
                raise _no_collection(name)
        return Scope(tuple(names), None)
    return Scope(tuple(names), principal.clearance)


async def _collections(runtime: Runtime) -> Sequence[CollectionInfo]:
    try:
        return await runtime.retrieval.collections(Scope.owner())
    except RetrievalError as error:
        raise errors.RetrievalUnavailable(str(error), retry_after="2") from error


def _no_collection(name: str) -> errors.CollectionNotFound:
    return errors.CollectionNotFound(f"there is no collection {name!r} that this key may read", param="model")


def _given(loaded: Loaded, call: Call, passages: Sequence[Passage]) -> list[Source]:
    """What is known of the request's label before its text is looked at."""
    sources = [Source("typed text", default_of(loaded.pack, call.principal))]
    if call.asked_label is not None:
        sources.append(Source("soleira-label header", call.asked_label))
    sources.extend(Source(f"passage {n} of {p.collection}", p.label) for n, p in enumerate(passages, 1))
    return sources


def default_of(pack: Pack, principal: Principal) -> Label:
    """What a text counts as that this caller types."""
    return pack.default_label if principal.default_label is None else principal.default_label


def _language_in(passages: Sequence[Passage]) -> str | None:
    return passages[0].language if passages else None


def _signals(call: Call, labelled: Labelled, language: str, passages: Sequence[Passage]) -> Signals:
    request = call.request
    injected = sum(len(passage.text) for passage in passages)
    return Signals(
        label=labelled.label,
        model=request.model,
        principal=call.principal.name,
        groups=call.principal.groups,
        collections=request.collections,
        language=language,
        size=request.prompt_tokens + injected // 3,
        needs=request.needs,
        findings=labelled.findings,
        stream=request.stream,
    )


def _demand(request: ChatRequest, signals: Signals) -> Demand:
    return Demand(request.model, signals.size, request.max_output, signals.needs, bool(request.collections))


_REFUSALS: Mapping[str, type[errors.GatewayError]] = {
    kind.code: kind
    for kind in (
        errors.LabelExceedsClearance,
        errors.DeniedByRule,
        errors.NoRule,
        errors.ApprovalRequired,
        errors.ModelNotFound,
        errors.NoDeployment,
    )
}


def _refusal(decision: Decision) -> errors.GatewayError:
    return _REFUSALS.get(decision.code or "", errors.Forbidden)(decision.reason)


def _record(
    runtime: Runtime, call: Call, loaded: Loaded, labelled: Labelled, decision: Decision, passages: int
) -> DecisionRecord:
    return DecisionRecord(
        id=runtime.new_id("dec"),
        at=runtime.now(),
        request_id=call.request_id,
        principal=call.principal.name,
        asked_model=call.request.model if decision.code != errors.ModelNotFound.code else "(unknown)",
        collections=call.request.collections,
        label=str(labelled.label),
        raised_by=labelled.raised_by(),
        rule=decision.rule,
        action=decision.action,
        zones=decision.zones,
        policy_version=loaded.pack.version,
        stream=call.request.stream,
        passages=passages,
        code=decision.code,
    )
