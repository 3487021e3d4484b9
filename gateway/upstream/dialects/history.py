"""Fits the thoughts of earlier turns to what a deployment reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.wire import spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.wire.spans import Body

_NAMES = ("reasoning_content", "reasoning", "reasoning_details")
_SAID = ("content", "tool_calls", "function_call", "refusal", "audio")


@dataclass(frozen=True, slots=True)
class Fitted:
    """The messages as they are to be sent, and the fields of thoughts that are no longer among them."""

    messages: list[bytes]
    dropped: tuple[str, ...]


def fit(messages: Sequence[bytes], names: frozenset[str] | None) -> Fitted | None:
    """Fit raw messages to a deployment; None if nothing changes.

    `names` are those under which it must find thoughts; None: it reads none, and they are left out. Messages without
    thoughts keep their bytes, and the others all but the fields of thoughts.
    """
    if names is not None and not names:
        return None
    fitted: list[bytes] = []
    dropped: set[str] = set()
    for raw in messages:
        body = _thoughtful(raw)
        if body is None:
            fitted.append(raw)
        elif names is None:
            dropped |= {name for name in _NAMES if body.tree.get(name)}
            fitted.append(_without(body))
        else:
            fitted.append(_under(body, names))
    if fitted == list(messages):
        return None
    return Fitted(fitted, tuple(sorted(dropped)))


def _thoughtful(raw: bytes) -> Body | None:
    """A message of the assistant that has a field of thoughts. A key may be written with escapes."""
    if b"reasoning" not in raw and b"\\u" not in raw:
        return None
    body = spans.read(raw)
    has_thoughts = body.tree.get("role") == "assistant" and any(name in body.tree for name in _NAMES)
    return body if has_thoughts else None


def _without(body: Body) -> bytes:
    """The message without thoughts. One that was nothing else says nothing: `content` must be there all the same."""
    is_left = any(body.tree.get(name) for name in _SAID)
    return body.splice({} if is_left else {"content": b'""'}, _NAMES)


def _under(body: Body, names: frozenset[str]) -> bytes:
    """The message with its thoughts under these names too, byte for byte as the client wrote them."""
    written = next((name for name in _NAMES[:2] if isinstance(body.tree.get(name), str) and body.tree[name]), None)
    if written is None:
        return body.raw
    return body.splice({name: body.members[written] for name in sorted(names) if not body.tree.get(name)})
