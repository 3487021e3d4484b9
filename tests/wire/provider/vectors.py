"""The provider's embeddings and reranking, by the letters of the texts."""

from __future__ import annotations

import math
import struct
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

_DIMENSIONS = 16


def embeddings(body: Mapping[str, Any]) -> dict[str, Any]:
    """A vector for each text, or for each list of token ids."""
    given = body["input"]
    inputs = [given] if isinstance(given, str) or (given and isinstance(given[0], int)) else given
    dimensions = body.get("dimensions") or _DIMENSIONS
    vectors = [_vector(text if isinstance(text, str) else bytes(token % 256 for token in text)) for text in inputs]
    cut = [vector[:dimensions] for vector in vectors]
    written = [_base64(vector) for vector in cut] if body.get("encoding_format") == "base64" else cut
    tokens = sum(len(text.split()) if isinstance(text, str) else len(text) for text in inputs)
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(written)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": body["model"], "data": data, "usage": usage}


def rerank(body: Mapping[str, Any]) -> dict[str, Any]:
    """The documents ordered by how near they are to the query."""
    query = _vector(body["query"])
    texts = [document if isinstance(document, str) else document["text"] for document in body["documents"]]
    scores = [(_cosine(query, _vector(text)), index) for index, text in enumerate(texts)]
    best = sorted(scores, key=lambda scored: (-scored[0], scored[1]))[: body.get("top_n") or len(texts)]
    results = [{"index": index, "relevance_score": score} for score, index in best]
    return {"id": "rerank-1", "results": results, "meta": {"billed_units": {"search_units": 1}}}


def _vector(text: str | bytes) -> list[float]:
    raw = text.encode() if isinstance(text, str) else text
    counts = [float(sum(byte % _DIMENSIONS == place for byte in raw)) for place in range(_DIMENSIONS)]
    length = math.sqrt(sum(count * count for count in counts)) or 1.0
    # As a single-precision number, so that base64 says the same.
    return [float(struct.unpack("<f", struct.pack("<f", count / length))[0]) for count in counts]


def _base64(vector: Sequence[float]) -> str:
    return b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
