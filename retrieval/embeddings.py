"""What the embedding model is asked directly, with no document of the house involved: vectors, and nearness to a query.

The bundled e5 was taught with a prompt before each text: `query: ` before questions and where likeness is compared,
`passage: ` before what shall be found. Whoever asks says which (`kind`), or writes the prompt into the text, which then
gets no second one. Documents are ranked by the cosine between their vectors and the query's. For e5 that lies between
about 0.7 and 1 whatever the texts: only the order and the distances mean something.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from retrieval.background import dot
from retrieval.client import Embedded, Ranked, Refusal
from retrieval.verbatim import TextTooLong, Verbatim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval.client import EmbedRequest, RerankRequest, TextKind
    from retrieval.turns import Turns


class Refused(Exception):
    """The model cannot do what is asked."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


async def embed(turns: Turns, request: EmbedRequest) -> Embedded:
    """The vectors of the texts, of length 1; Refused if one is longer than the model reads."""
    vectors: list[list[float]] = []
    for index, text in enumerate(request.texts):
        vectors.append(await _vector(turns, request.kind, text, index))
        _check_dimensions(request.dimensions, vectors[0])
    return Embedded(vectors, await _tokens(turns, request.texts))


async def rerank(turns: Turns, request: RerankRequest) -> Ranked:
    """How near each document is to the query, in their order; Refused if one is longer than the model reads."""
    query = await _vector(turns, "query", request.query, None)
    scores = [dot(query, await _vector(turns, "document", text, index)) for index, text in enumerate(request.documents)]
    return Ranked(scores, await _tokens(turns, (request.query, *request.documents)))


async def _vector(turns: Turns, kind: TextKind, text: str, index: int | None) -> list[float]:
    """One text takes one turn, so that a question of the house waits for one text and never for a batch."""
    try:
        if kind == "query":
            return await turns.question(Verbatim(text))
        return (await turns.sentences([Verbatim(text)]))[0]
    except TextTooLong as error:
        raise Refused(Refusal("too_long", index, error.tokens, error.limit)) from None


def _check_dimensions(wanted: int | None, vector: Sequence[float]) -> None:
    """A vector may be cut only if its model was taught to put what matters first, which a folder does not say."""
    if wanted is not None and wanted != len(vector):
        raise Refused(Refusal("dimensions", None, wanted, len(vector)))


async def _tokens(turns: Turns, texts: Sequence[str]) -> int:
    """What was read of the caller's own words, by the model's tokenizer."""
    return await asyncio.to_thread(lambda: sum(map(turns.count, texts)))
