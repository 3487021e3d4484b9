"""Admits a chat request: retrieves, labels, decides and plans, before anything leaves."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from gateway import errors
from gateway.chat.retrieve import passages_for, readable
from gateway.db.decisions import DecisionRecord
from gateway.ledger.entries import Account
from gateway.privacy import outreach
from gateway.privacy.label import Content, Source, label_of
from gateway.routing import plan as planning
from gateway.routing.demand import Demand
from gateway.wire.usage import estimate_tokens
from policies.decide import decide
from policies.language import detect
from policies.pack import AUTO
from policies.signals import Signals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gateway.catalog.deployments import Deployment
    from gateway.catalog.packs import Loaded
    from gateway.chat.request import Request
    from gateway.principals import Principal
    from gateway.privacy.label import Labelled
    from gateway.runtime import Runtime
    from policies.decide import Decision
    from policies.labels import Label
    from policies.load import Pack
    from retrieval.client import Passage


@dataclass(frozen=True, slots=True)
class Call:
    """Who asks what: the request with what HTTP said beside it."""

    principal: Principal
    request: Request
    request_id: str
    asked_label: Label | None = None
    """The `soleira-label` header: it may only raise."""
    tag: str | None = None
    """The `soleira-tag` header: what the request is made for."""
    declines_cache: bool = False
    """`Cache-Control: no-cache` or `no-store`: neither answered from the response cache nor kept there."""

    @property
    def account(self) -> Account:
        """On whose account the request is made; its label is not known yet."""
        principal = self.principal
        return Account(principal.name, principal.person, principal.groups, self.tag, self.request.collections)


@dataclass(frozen=True, slots=True)
class Admission:
    """A request that may go out, with its route."""

    call: Call
    loaded: Loaded
    record: DecisionRecord
    label: Label
    prompt_tokens: int
    """A bound from above, passages included."""
    route: tuple[Deployment, ...]
    withheld: tuple[Deployment, ...]
    """Those that would answer as well, and that the label keeps it from."""
    passages: tuple[Passage, ...]
    language: str

    @property
    def account(self) -> Account:
        """On whose account the request is made."""
        return replace(self.call.account, label=self.record.label)


class Refused(Exception):
    """A request that may not go out: the refusal with its decision's record."""

    def __init__(self, error: errors.GatewayError, record: DecisionRecord) -> None:
        super().__init__(str(error))
        self.error = error
        self.record = record


async def admit(runtime: Runtime, call: Call) -> Admission:
    """Return the admission; Refused where retrieval, the policy, the clearance or the catalog says no."""
    loaded, request = runtime.packs.current, call.request
    record = _opened(runtime, call, loaded)
    try:
        _check_tag(loaded.pack, call.tag)
        passages = await passages_for(runtime, call.principal, request)
        labelled = await label_of(
            loaded.pack, _content(runtime, request, passages), await _given(runtime, call, passages)
        )
        record = _labelled(record, request, labelled, passages)
        language = detect(request.question) or _language_in(passages) or "en"
        signals = _signals(runtime, call, labelled, language, passages)
        decision = decide(loaded.pack, signals)
        record = replace(record, rule=decision.rule, action=decision.action, zones=decision.zones)
        if decision.code is not None:
            raise _refusal(decision)
        _stay_inside(loaded.pack, request, labelled.label, decision)
        demand = _demand(request, signals, passages, _conversation(runtime, request), runtime.now())
        route = planning.plan(loaded.catalog.deployments, decision, demand, runtime.fleet)
        withheld = planning.withheld(loaded.catalog.deployments, decision, demand, runtime.fleet)
    except errors.GatewayError as error:
        raise Refused(_explained(runtime, error), replace(record, status=error.status, code=error.code)) from error
    return Admission(call, loaded, record, labelled.label, signals.size, route, withheld, passages, language)


def limited_account(pack: Pack, call: Call) -> Account:
    """On whose account a request counts before it is admitted.

    Limits keep what they count by in the store, so only names count that the house knows and the caller may use: others
    could be content, or use up what is somebody else's.
    """
    known = readable(pack, call.principal)
    account = call.account
    return replace(
        account,
        tag=account.tag if account.tag in pack.budgets.tags else None,
        collections=tuple(name for name in account.collections if name in known),
    )


def _check_tag(pack: Pack, tag: str | None) -> None:
    """BadRequest for a tag that the pack does not name: anything else could be content, and the ledger keeps none."""
    if tag is not None and tag not in pack.budgets.tags:
        known = ", ".join(pack.budgets.tags) or "none yet: name them under `tags` in budgets.yaml"
        raise errors.BadRequest(f"the header soleira-tag names no tag of this house ({known})", param="soleira-tag")


def _explained(runtime: Runtime, error: errors.GatewayError) -> errors.GatewayError:
    """The error; where a deployment is missing and an edit of the pack was refused, that is probably why."""
    if runtime.packs.last_error is None or not isinstance(error, errors.NoDeployment | errors.ModelNotFound):
        return error
    return type(error)(f"{error}. {_EDIT_REFUSED}", param=error.param)


_EDIT_REFUSED = (
    "The pack was edited and its new state refused, so an earlier one is in force: the terminal of 'up' says why, and "
    "'soleira policy check'"
)


def _stay_inside(pack: Pack, request: Request, label: Label, decision: Decision) -> None:
    """LabelExceedsClearance where a deployment would take words outside that may not go there."""
    public = {name for name, zone in pack.zones.items() if zone.addresses.classes & {"public", "any"}}
    if public & set(decision.cleared) or (place := outreach.found_in(request.body.tree)) is None:
        return
    raise errors.LabelExceedsClearance(
        f"{place} would have the deployment itself reach out, and a request labelled {label} may not leave: send "
        "pictures and files inline, and leave out tools that the deployment runs",
        param=place,
    )


def _opened(runtime: Runtime, call: Call, loaded: Loaded) -> DecisionRecord:
    """What is on record of a request before it is labelled; names that the house does not know could be content."""
    model = call.request.model
    known = model == AUTO or bool(loaded.pack.zones_of(model))
    return DecisionRecord(
        id=runtime.new_id("dec"),
        at=runtime.now(),
        request_id=call.request_id,
        principal=call.principal.name,
        asked_model=model if known else "(unknown)",
        collections=(),
        label=str(default_of(loaded.pack, call.principal)),
        raised_by=(),
        rule=None,
        action="deny",
        zones=(),
        policy_version=loaded.pack.version,
        stream=call.request.stream,
        endpoint=call.request.format.endpoint,
    )


def _labelled(
    record: DecisionRecord, request: Request, labelled: Labelled, passages: Sequence[Passage]
) -> DecisionRecord:
    return replace(
        record,
        collections=request.collections,
        label=str(labelled.label),
        raised_by=labelled.raised_by(),
        passages=len(passages),
    )


def _content(runtime: Runtime, request: Request, passages: Sequence[Passage]) -> Content:
    """All that may go out: what the client wrote, and what is put beside it."""
    found = [(f"passage {number}", passage.text) for number, passage in enumerate(passages, 1)]
    bodies = [request.body.tree] if request.chat in (None, request.body) else [request.body.tree, request.chat.tree]
    return Content([*request.texts, *found], bodies, runtime.conversations.gave)


async def _given(runtime: Runtime, call: Call, passages: Sequence[Passage]) -> list[Source]:
    """What is known of the request's label before its text is looked at."""
    sources = [Source("typed text", default_of(runtime.packs.current.pack, call.principal))]
    if call.asked_label is not None:
        sources.append(Source("soleira-label header", call.asked_label))
    if call.request.unreadable is not None:
        sources.append(Source(f"unscannable {call.request.unreadable}", runtime.packs.current.pack.unscannable))
    sources.extend(Source(f"passage {n} of {p.collection}", p.label) for n, p in enumerate(passages, 1))
    sources.extend(await runtime.conversations.marks_of(call.request.messages))
    return sources


def default_of(pack: Pack, principal: Principal) -> Label:
    """What a text counts as that this caller types."""
    return pack.default_label if principal.default_label is None else principal.default_label


def is_ordinary(pack: Pack, principal: Principal, label: Label) -> bool:
    """True if a text with this label is above neither the caller's default nor the house's: marks hold for all keys."""
    return label <= default_of(pack, principal) and label <= pack.default_label


def _language_in(passages: Sequence[Passage]) -> str | None:
    return passages[0].language if passages else None


def _signals(runtime: Runtime, call: Call, labelled: Labelled, language: str, passages: Sequence[Passage]) -> Signals:
    request = call.request
    injected = sum(len(passage.text.encode()) for passage in passages)
    return Signals(
        label=labelled.label,
        model=request.model,
        principal=call.principal.name,
        groups=call.principal.groups,
        collections=request.collections,
        language=language,
        size=request.prompt_tokens + estimate_tokens(injected),
        needs=request.needs,
        findings=labelled.findings,
        stream=request.stream,
        hour=runtime.now().astimezone().hour,
    )


def _conversation(runtime: Runtime, request: Request) -> bytes:
    """A key over the messages up to the first of the user, which all turns of a conversation begin with.

    Keyed, for it decides by hash order where a prompt goes, and nobody shall choose that.
    """
    beginning = msgspec.json.encode(_beginning(request))
    return hmac.digest(runtime.secret, b"prefix affinity " + beginning, "sha256")


def _beginning(request: Request) -> Sequence[Mapping[str, Any]]:
    roles = [message.get("role") for message in request.messages]
    return request.messages[: roles.index("user") + 1 if "user" in roles else 2]


def _demand(
    request: Request, signals: Signals, passages: Sequence[Passage], conversation: bytes, at: datetime
) -> Demand:
    from_documents = bool(request.collections)
    return Demand(
        request.model,
        signals.size,
        request.max_output,
        signals.needs,
        request.format.endpoint,
        request.native_only,
        request.longest,
        conversation,
        has_chat=request.chat is not None,
        has_collections=from_documents,
        finds_nothing=from_documents and not passages,
        at=at,
    )


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
