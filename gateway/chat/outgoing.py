"""Puts together what one deployment is sent: the client's bytes but for the few members that must change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from gateway.chat import passages as injecting
from gateway.chat.usage_chunk import UsageChunk
from gateway.upstream.clients import Outgoing
from gateway.upstream.dialects import arguments, parameters
from gateway.upstream.dialects.known import checks_tool_arguments
from gateway.wire.shapes import CHAT

if TYPE_CHECKING:
    from gateway.catalog.deployments import Deployment
    from gateway.chat.admit import Admission
    from gateway.chat.request import Request
    from gateway.wire.shapes import Shape
    from gateway.wire.spans import Body

_USAGE_ON_REQUEST = frozenset({"/chat/completions", "/completions"})
"""Endpoints whose streams say their usage only where it is asked for."""

_CHAT_LIMIT = "max_completion_tokens"
"""What a chat's output is limited by; deployments that know it by another name have it renamed."""
_LIMITS = {"completions": "max_tokens", "responses": "max_output_tokens"}
"""The same at other endpoints; a message's limit is the client's duty."""

_SALTED = frozenset({"completions", "responses"})
"""Endpoints, beside the chat, at which vLLM takes `cache_salt`."""

_NOT_TEXT = frozenset({"vision", "audio", "video"})
"""Needs of a prompt whose tokens do not follow from its text."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What goes to a deployment, and the parameters of the client's that do not."""

    outgoing: Outgoing
    dropped: tuple[str, ...] = ()
    limit: int | None = None
    """The limit on output that the house set, since a budget counts on one and the client named none."""


def prepared(admission: Admission, deployment: Deployment, salt: str, limit: int | None = None) -> Prepared:
    """Put the request as this deployment takes it: natively where it has the endpoint itself, else as a chat.

    `limit` is the output that is asked for where the client set no limit of its own.
    """
    request = admission.call.request
    chat = request.chat
    if chat is None or is_native(request, deployment):
        return _native(admission, deployment, salt, limit)
    changes = _named(chat, deployment) | _metered(request, chat)
    messages = chat.items("messages")
    if request.collections:
        messages = injecting.inject(messages, request, admission)
        changes["messages"] = b"[" + b",".join(messages) + b"]"
    limited = {} if limit is None else {_CHAT_LIMIT: limit}
    fitted = parameters.prepare(deployment, {**chat.tree, **limited}, salt=salt, messages=messages)
    changes |= {name: str(value).encode() for name, value in limited.items() if name not in fitted.drop}
    changes |= fitted.changes
    body = chat.splice(changes, fitted.drop | request.format.echoed)
    dropped = [name for name in fitted.dropped if name not in limited]
    return Prepared(_outgoing(admission, body, deployment, CHAT), (*request.dropped, *dropped), limit)


def is_native(request: Request, deployment: Deployment) -> bool:
    """True if the deployment is asked at the client's own endpoint, which is another one than the chat's.

    Passages are put into chats only.
    """
    form = request.format
    return form.shape is not CHAT and not request.collections and deployment.offers(form.endpoint)


def usage_chunk(request: Request, shape_path: str) -> UsageChunk | None:
    """Where the usage of a stream of chunks goes; None where each chunk is to have its own (vLLM's extension)."""
    if shape_path not in _USAGE_ON_REQUEST:
        return None
    if request.wants_usage and request.body.tree["stream_options"].get("continuous_usage_stats"):
        return None
    return UsageChunk(shown=request.wants_usage)


def _outgoing(admission: Admission, body: bytes, deployment: Deployment, shape: Shape) -> Outgoing:
    request = admission.call.request
    tools = request.fields.tools or ()
    checks = bool(tools) and shape is CHAT and checks_tool_arguments(deployment)
    return Outgoing(
        body=body,
        label=admission.label,
        stream=request.stream,
        question=request.question,
        passages=admission.passages,
        language=admission.language,
        shape=shape,
        bound=None if request.needs & _NOT_TEXT else admission.prompt_tokens,
        unfit=partial(arguments.unfit, tools) if checks else None,
        watch=partial(arguments.Watch, tools) if checks else None,
    )


def _native(admission: Admission, deployment: Deployment, salt: str, limit: int | None) -> Prepared:
    """The request for the deployment's own endpoint. Dialects speak of chats; what the pack strips holds here too."""
    request = admission.call.request
    form, body = request.format, request.body
    changes = _named(body, deployment) | (form.changes(body.tree) if form.changes else {})
    if form.shape.path in _USAGE_ON_REQUEST:
        changes |= _metered(request, body)
    if limit is not None and form.endpoint in _LIMITS:
        changes[_LIMITS[form.endpoint]] = str(limit).encode()
    if deployment.cache_salt and form.endpoint in _SALTED:
        changes["cache_salt"] = msgspec.json.encode(parameters.salted(body.tree, salt))
    stripped = deployment.parameters.strip & body.tree.keys()
    sent = body.splice(changes, form.drop | stripped)
    return Prepared(_outgoing(admission, sent, deployment, form.shape), tuple(sorted(stripped)), limit)


def _named(body: Body, deployment: Deployment) -> dict[str, bytes]:
    if body.tree.get("model") == deployment.upstream_model:
        return {}
    return {"model": msgspec.json.encode(deployment.upstream_model)}


def _metered(request: Request, body: Body) -> dict[str, bytes]:
    """Have a stream say its usage, for the ledger."""
    asked = body.tree.get("stream_options")
    options = asked if isinstance(asked, dict) else {}
    if not request.stream or options.get("include_usage"):
        return {}
    return {"stream_options": msgspec.json.encode({**options, "include_usage": True})}
