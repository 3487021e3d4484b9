"""Counts the tokens of a request exactly, by the deployment that would be asked first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from gateway.chat.admit import Refused, admit
from gateway.chat.answer import headers_of
from gateway.chat.outgoing import prepared
from gateway.errors import ModelNotFound
from gateway.upstream import counting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.chat.admit import Call
    from gateway.runtime import Runtime

_ENDPOINT = "count_tokens"
_NO_SALT = "count"
"""Nothing is cached of a prompt that is only counted."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a deployment counted, and what the decision says of itself."""

    tokens: int
    headers: Mapping[str, str]


async def count(runtime: Runtime, call: Call) -> Counted | None:
    """The exact count; None if the request may go nowhere, or the deployment it would go to does not count.

    ModelNotFound for a model that nobody serves.

    The text leaves for that deployment, so label, policy and clearance hold as for an answer, and the decision is on
    record before. There is no attempt: nothing is answered, and nothing is paid.
    """
    try:
        admission = await admit(runtime, call)
    except Refused as refused:
        if isinstance(refused.error, ModelNotFound):
            raise refused.error from None
        return None
    deployment = admission.route[0]
    outgoing = prepared(admission, deployment, _NO_SALT).outgoing
    if not counting.counts(deployment, outgoing):
        return None
    zone, name = deployment.zone.name, deployment.name
    record = replace(admission.record, endpoint=_ENDPOINT, status=HTTPStatus.OK, zone=zone, deployment=name)
    await runtime.writer.record(record)
    tokens = await counting.count(runtime.upstreams.guard, deployment, outgoing)
    if tokens is None:
        return None
    return Counted(tokens, headers_of(record))
