"""Looks one request up in the response cache, and keeps its answer there, where the pack says for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.response_cache import Copy, Kept

if TYPE_CHECKING:
    from gateway.catalog.deployments import Deployment
    from gateway.chat.admit import Admission
    from gateway.ledger.attempt import Attempt
    from gateway.principals import Principal
    from gateway.response_cache import ResponseCache
    from retrieval.client import Passage


class Keeping:
    """The cache as one admitted request uses it; off unless the pack turns it on and the client does not decline."""

    def __init__(self, cache: ResponseCache, admission: Admission) -> None:
        self._cache = cache
        self._route = admission.route
        self._seconds = None if admission.call.declines_cache else admission.loaded.pack.budgets.cache_seconds
        self._key = b"" if self._seconds is None else cache.name(told(admission))
        self._copy = Copy()

    async def found(self) -> tuple[Deployment, Kept] | None:
        """The answer that was kept, with who gave it; None where that one could not be asked now."""
        if self._seconds is None:
            return None
        kept = await self._cache.get(self._key)
        if kept is None:
            return None
        giver = next((deployment for deployment in self._route if deployment.name == kept.deployment), None)
        return None if giver is None else (giver, kept)

    def see(self, data: bytes) -> None:
        """Take down what the client is sent of the answer."""
        if self._seconds is not None:
            self._copy.add(data)

    async def keep(self, record: Attempt) -> None:
        """Keep the answer, if all of it was given and the upstream said what it used."""
        body, usage = self._copy.body, record.charged
        if self._seconds is None or body is None or record.outcome != "ok" or usage.estimated:
            return
        name, cost = record.hold.deployment.name, record.cost_nano_usd
        await self._cache.put(self._key, Kept(body, name, usage, cost, record.answered_model), self._seconds)


def told(admission: Admission) -> tuple[object, ...]:
    """All that an answer depends on: only the very same request of the very same caller is answered from the cache."""
    call = admission.call
    return (
        _caller(call.principal),
        str(admission.label),
        call.request.collections,
        call.request.format.endpoint,
        call.request.body.raw,
        admission.loaded.pack.version,
        [_passage(passage) for passage in admission.passages],
    )


def _caller(principal: Principal) -> tuple[object, ...]:
    """Whose answer it is, with all that says what may be read: a key's name can come back with other rights."""
    return (
        principal.name,
        principal.person,
        principal.is_admin,
        sorted(principal.groups),
        sorted(principal.collections),
        str(principal.clearance),
        str(principal.default_label),
    )


def _passage(passage: Passage) -> tuple[object, ...]:
    return (
        passage.collection,
        passage.document,
        passage.chunk,
        passage.file,
        passage.anchor,
        str(passage.label),
        passage.text,
    )
