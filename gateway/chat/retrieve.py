"""Finds the passages that a request asks for, within what its caller may read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.errors import BadRequest, CollectionNotFound, RetrievalUnavailable
from retrieval.client import RetrievalError, RetrievalNotReady, Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.chat.request import Request
    from gateway.principals import Principal
    from gateway.runtime import Runtime
    from policies.pack import Pack
    from retrieval.client import CollectionInfo, Passage

_PASSAGES = 6
"""Passages put into a prompt: six of some 400 tokens fit the smallest contexts beside a question."""


async def passages_for(runtime: Runtime, principal: Principal, request: Request) -> tuple[Passage, ...]:
    """The passages nearest to the last question; none where no collection is asked for."""
    if not request.collections:
        return ()
    if not request.question.strip():
        raise BadRequest("a model with a collection needs a message of the user to search for", param="messages")
    scope = await _readable(runtime, principal, request.collections)
    try:
        return tuple(await runtime.retrieval.search(request.question, scope, _PASSAGES))
    except RetrievalError as error:
        raise _unavailable(error) from error


async def _readable(runtime: Runtime, principal: Principal, names: Sequence[str]) -> Scope:
    """The scope of a search; CollectionNotFound alike for what is not there and for what may not be read."""
    known = readable(runtime.packs.current.pack, principal)
    if principal.is_admin:
        _check(names, known | {info.name for info in await _collections(runtime)})
        return Scope(tuple(names), None)
    _check(names, known)
    return Scope(tuple(names), principal.clearance)


def readable(pack: Pack, principal: Principal) -> frozenset[str]:
    """The collections that the caller may read by the pack and its key; the admin reads what is in no pack, too."""
    declared = pack.collections
    if principal.is_admin:
        return frozenset(declared)
    by_group = {name for name, spec in declared.items() if spec.readers & principal.groups}
    return principal.collections | by_group


async def _collections(runtime: Runtime) -> Sequence[CollectionInfo]:
    try:
        return await runtime.retrieval.collections(Scope.owner())
    except RetrievalError as error:
        raise _unavailable(error) from error


def _check(names: Sequence[str], known: frozenset[str]) -> None:
    for name in names:
        if name not in known:
            raise CollectionNotFound(f"there is no collection {name!r} that this key may read", param="model")


def _unavailable(error: RetrievalError) -> RetrievalUnavailable:
    seconds = error.retry_after if isinstance(error, RetrievalNotReady) else 2
    return RetrievalUnavailable(str(error), retry_after=str(seconds))
