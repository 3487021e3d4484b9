"""Bounds the tokens of a Messages request without a tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.wire.messages.schema import CountTokensRequest, read
from gateway.wire.usage import PICTURE_TOKENS, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_COUNTED = ("system", "messages", "tools", "output_config")
_UNSEEN = frozenset({"cache_control", "signature"})
"""What no model reads."""


def count_tokens(tree: Mapping[str, Any]) -> int:
    """A bound from above on the prompt of a request to count, in the measure of `estimate_tokens`."""
    read(tree, CountTokensRequest)
    return bound(tree)


def bound(tree: Mapping[str, Any]) -> int:
    """The same of a request that was read before. The keys stand for what separates the messages of a prompt."""
    texts = list(_texts({name: tree[name] for name in _COUNTED if tree.get(name)}))
    pictures = texts.count(None)
    return estimate_tokens(sum(len(text.encode()) for text in texts if text)) + pictures * PICTURE_TOKENS


def _texts(value: object) -> Iterator[str | None]:
    """Every text, and None for each picture, whose base64 is not read as text."""
    if isinstance(value, dict):
        if value.get("type") == "image":
            yield None
            return
        for name, child in value.items():
            if name not in _UNSEEN:
                yield name
                yield from _texts(child)
    elif isinstance(value, list):
        for child in value:
            yield from _texts(child)
    elif value is not None:
        yield str(value)
