"""Carries the arguments of tool calls between the text of a chat completion and the object of a message."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from gateway.errors import BadRequest

_BROKEN = "INVALID_JSON"
"""The key under which Anthropic's guide to fine-grained tool streaming wraps arguments that are no JSON."""


def to_object(text: str) -> dict[str, Any]:
    """The arguments as an object. What is none (cut off, malformed) stays readable, unmended, under one key."""
    if text.strip() in ("", "null"):
        return {}
    value = _read(text)
    return value if isinstance(value, dict) else {_BROKEN: text}


def is_whole(text: str) -> bool:
    """True if the text is a complete object, after which no more can follow."""
    return text.rstrip().endswith("}") and isinstance(_read(text), dict)


def to_text(value: object, place: str) -> str:
    """The arguments as text, as the model wrote them if they were wrapped for being no JSON.

    Spaces are set as models and chat templates write them, so that a prefix cache may recognise the call.
    """
    if not isinstance(value, dict):
        raise BadRequest(f"{place} must be an object", param=place)
    if list(value) == [_BROKEN] and isinstance(value[_BROKEN], str):
        return str(value[_BROKEN])
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise BadRequest(f"{place} holds a number that JSON cannot say", param=place) from None


def _read(text: str) -> object:
    """What the text says; None if it is no JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
