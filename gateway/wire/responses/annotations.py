"""Says the citations and log probabilities of a chat answer in the form that a response has for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def annotation_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """An annotation: a chat answer keeps its members in a member named as its type, a response beside that type."""
    kind = str(said.get("type"))
    inner = said.get(kind)
    annotation = {"type": kind, **inner} if isinstance(inner, Mapping) else dict(said)
    if kind != "file_citation":
        return annotation
    named = {"filename": annotation.pop("file", "")} | annotation
    return {"file_id": "", "index": 0} | named


def logprobs_of(said: object) -> list[dict[str, Any]]:
    """The log probabilities of a choice's text; the bytes of a token are told also where the upstream left them out."""
    tokens = said.get("content") if isinstance(said, Mapping) else None
    if not isinstance(tokens, list):
        return []
    return [
        {**_token(token), "top_logprobs": [_token(top) for top in _objects(token.get("top_logprobs"))]}
        for token in _objects(tokens)
    ]


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _token(said: Mapping[str, Any]) -> dict[str, Any]:
    token, its_bytes = said.get("token", ""), said.get("bytes")
    return {
        "token": token,
        "logprob": said.get("logprob", 0.0),
        "bytes": list(str(token).encode()) if its_bytes is None else its_bytes,
    }
