"""Weighs words by BM25, in Portuguese and English, with and without accents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qdrant_edge import Bm25, Bm25Config, SparseVector

if TYPE_CHECKING:
    from collections.abc import Callable

# Typical length of a passage in words, stop words left out.
_AVERAGE_LENGTH = 64


class Bm25Encoder:
    """BM25 of one language, as sparse vectors.

    Folding accents before stemming tears Portuguese plurals apart (inundação, inundações), and not folding loses people
    who type without accents: so both spellings are counted.
    """

    def __init__(self, language: str) -> None:
        self._plain = Bm25(_config(language, folded=False))
        self._folded = Bm25(_config(language, folded=True))

    def document(self, text: str) -> SparseVector:
        return _union(self._plain.embed_document, self._folded.embed_document, text)

    def query(self, text: str) -> SparseVector:
        return _union(self._plain.embed_query, self._folded.embed_query, text)


def coverage(encoder: Bm25Encoder, question: str, text: str) -> float:
    """The part of the question's words, stop words left out, that the text has."""
    asked = set(encoder.query(question).indices)
    return len(asked & set(encoder.document(text).indices)) / len(asked) if asked else 0.0


def _config(language: str, *, folded: bool) -> Bm25Config:
    return Bm25Config(language=language, ascii_folding=folded, avg_len=_AVERAGE_LENGTH)


def _union(plain: Callable[[str], SparseVector], folded: Callable[[str], SparseVector], text: str) -> SparseVector:
    first, second = plain(text), folded(text)
    weights = dict(zip(first.indices, first.values, strict=True))
    for index, value in zip(second.indices, second.values, strict=True):
        weights[index] = max(value, weights.get(index, 0.0))
    return SparseVector(indices=list(weights), values=list(weights.values()))


ENCODERS = {"pt": Bm25Encoder("portuguese"), "en": Bm25Encoder("english")}
