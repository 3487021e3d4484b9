"""The store on Qdrant Edge: the real engine, inside this process.

One process owns a shard at a time. `optimize` is never called: it holds Python's interpreter for its whole run, and
below some hundred thousand entries searching without its graph takes about a millisecond.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from qdrant_edge import (
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    FacetRequest,
    FieldCondition,
    Filter,
    IdfParams,
    IntegerIndexParams,
    KeywordIndexParams,
    MatchAny,
    MatchExcept,
    MatchValue,
    Modifier,
    Point,
    Query,
    QueryBatchRequest,
    QueryRequest,
    RangeFloat,
    SearchParams,
    SparseVector,
    UpdateOperation,
)

from retrieval.store import Entry, Hit, Legs, Reach, Words
from retrieval.store.bm25 import ENCODERS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from qdrant_edge import ScoredPoint
    from qdrant_edge.qdrant_edge import ConditionType

_DENSE, _PORTUGUESE, _ENGLISH = "dense", "bm25_pt", "bm25_en"
_ENCODERS = {_PORTUGUESE: ENCODERS["pt"], _ENGLISH: ENCODERS["en"]}
_MOST_VERSIONS = 1_000_000


class EdgeStore:
    """Vectors under `folder`, of `dimension` numbers each."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self._shard = _open(folder, dimension)

    def add(self, entries: Sequence[Entry]) -> None:
        self._shard.update(UpdateOperation.upsert_points([self._point(entry) for entry in entries]))

    def search(self, text: str, dense: Sequence[float], reach: Reach, depth: int) -> Legs:
        within = _filter(reach)
        # Word frequencies are those of what the caller may read: others' words must not show in the scores.
        rarity = SearchParams(idf=IdfParams(corpus=within))
        asked = {name: encoder.query(text) for name, encoder in _ENCODERS.items()}
        legs = [_leg(list(dense), _DENSE, within, depth, SearchParams())]
        legs += [_leg(words, name, within, depth, rarity) for name, words in asked.items()]
        meaning, *by_words = self._shard.query_batch(QueryBatchRequest(legs))
        words = [self._covered(name, asked[name], found) for name, found in zip(asked, by_words, strict=True)]
        return Legs(_hits(meaning), *words)

    def drop(self, version: str) -> None:
        self._shard.update(UpdateOperation.delete_points_by_filter(_version(version)))

    def versions(self) -> dict[str, int]:
        facets = self._shard.facet(FacetRequest("version", limit=_MOST_VERSIONS, exact=True))
        return {str(hit.value): hit.count for hit in facets.hits if hit.count}

    def flush(self) -> None:
        self._shard.flush()

    def close(self) -> None:
        self._shard.close()

    def _covered(self, name: str, asked: SparseVector, found: list[ScoredPoint]) -> Words:
        if not found:
            return Words([], 0.0)
        held = self._words_of(str(found[0].id), name)
        return Words(_hits(found), len(held & set(asked.indices)) / len(asked.indices))

    def _words_of(self, chunk: str, name: str) -> set[int]:
        for record in self._shard.retrieve([chunk], with_payload=False, with_vector=[name]):
            vector = record.vector[name] if isinstance(record.vector, dict) else None
            if isinstance(vector, SparseVector):
                return set(vector.indices)
        return set()

    def _point(self, entry: Entry) -> Point:
        words = {name: encoder.document(entry.text) for name, encoder in _ENCODERS.items()}
        payload = {
            "version": entry.version,
            "collection": entry.collection,
            "level": int(entry.label.level),
            "compartments": sorted(entry.label.compartments),
            "language": entry.language,
        }
        return Point(entry.chunk, {_DENSE: list(entry.dense), **words}, payload)


def _open(folder: Path, dimension: int) -> EdgeShard:
    """The shard in the folder, made anew if there is none or its making was cut short."""
    finished = folder / "complete"
    if finished.exists():
        return EdgeShard.load(str(folder))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shard = EdgeShard.create(str(folder), _config(dimension))
    for name, index in (
        ("version", KeywordIndexParams()),
        ("collection", KeywordIndexParams(is_tenant=True)),
        ("compartments", KeywordIndexParams()),
        ("level", IntegerIndexParams(lookup=True, range=True)),
    ):
        shard.update(UpdateOperation.create_field_index(name, index))
    shard.flush()
    finished.touch()
    return shard


def _config(dimension: int) -> EdgeConfig:
    by_words = EdgeSparseVectorParams(modifier=Modifier.Idf)
    return EdgeConfig(
        vectors={_DENSE: EdgeVectorParams(size=dimension, distance=Distance.Cosine)},
        sparse_vectors={_PORTUGUESE: by_words, _ENGLISH: by_words},
    )


def _leg(
    query: list[float] | SparseVector, using: str, within: Filter, depth: int, params: SearchParams
) -> QueryRequest:
    nearest = Query.Nearest(query, using=using)
    return QueryRequest(limit=depth, query=nearest, filter=within, params=params, with_payload=["language"])


def _filter(reach: Reach) -> Filter:
    must: list[ConditionType] = []
    must_not: list[ConditionType] = []
    if reach.collections is not None:
        must.append(FieldCondition("collection", match=MatchAny(list(reach.collections))))
    if reach.level is not None:
        must.append(FieldCondition("level", range=RangeFloat(lte=reach.level)))
        must_not.append(FieldCondition("compartments", match=MatchExcept(sorted(reach.compartments))))
    return Filter(must=must, must_not=must_not)


def _version(version: str) -> Filter:
    return Filter(must=[FieldCondition("version", match=MatchValue(version))])


def _hits(found: list[ScoredPoint]) -> list[Hit]:
    return [Hit(str(point.id), (point.payload or {}).get("language"), point.score) for point in found]
