"""Finds the passages that answer a query, within what the caller may read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from policies.labels import may_read
from policies.language import detect
from retrieval.client import Passage
from retrieval.fusion import fuse
from retrieval.registry import chunks
from retrieval.store import Reach

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policies.labels import Label
    from retrieval.client import Scope, SearchRequest
    from retrieval.registry.chunks import Answering
    from retrieval.runtime import Runtime

DEPTH = 100
"""How far down each leg goes: deeper changes the first ten by less than a hundredth."""
_SPARE = 3
"""Candidates read for each passage wanted, for those that the registry turns away."""


async def search(runtime: Runtime, request: SearchRequest) -> list[Passage]:
    """The best passages, best first; every one was allowed by the registry after the store had found it."""
    query = request.query.strip()
    if not query or request.top < 1:
        return []
    vector = await runtime.turns.question(query)
    return await asyncio.to_thread(_find, runtime, request, vector)


def readable(scope: Scope, label: Label) -> bool:
    """True if the caller may read what has this label."""
    return scope.clearance is None or may_read(scope.clearance, label)


def _find(runtime: Runtime, request: SearchRequest, vector: Sequence[float]) -> list[Passage]:
    legs = runtime.store.search(request.query, vector, _reach(request.scope), DEPTH)
    ranked = fuse(legs, detect(request.query), runtime.background.near(vector))[: _SPARE * request.top]
    with runtime.engine.connect() as connection:
        answering = chunks.answering(connection, [chunk for chunk, _ in ranked], request.scope.collections)
    labelling = runtime.labelling.current
    passages = [
        _passage(found, labelling.now(found.collection, found.chunk.label), score)
        for chunk, score in ranked
        if (found := answering.get(chunk))
    ]
    return [passage for passage in passages if readable(request.scope, passage.label)][: request.top]


def _reach(scope: Scope) -> Reach:
    if scope.clearance is None:
        return Reach(scope.collections, None, frozenset())
    return Reach(scope.collections, int(scope.clearance.level), scope.clearance.compartments)


def _passage(found: Answering, label: Label, score: float) -> Passage:
    chunk = found.chunk
    return Passage(
        document=chunk.document,
        file=found.file,
        collection=found.collection,
        chunk=chunk.id,
        text=chunk.text,
        label=label,
        anchor=chunk.anchor,
        score=round(score, 4),
        language=chunk.language,
    )
