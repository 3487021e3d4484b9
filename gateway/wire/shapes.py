"""How endpoints differ on the wire: translation to a chat completion, rendering from one, an upstream's own shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateway.wire.lanes import Usage


class Shape(Protocol):
    """How one endpoint of an upstream answers, whole or event by event."""

    @property
    def path(self) -> str:
        """The endpoint below a base URL: `/chat/completions`."""
        ...

    def is_answer(self, payload: Mapping[str, Any]) -> bool:
        """True if a whole answer, given with status 200, can be one."""
        ...

    def error(self, payload: Mapping[str, Any]) -> object | None:
        """The error that stands inside a success; None if there is none."""
        ...

    def heard(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """The same as a chat completion or one of its chunks would say it, usage included; empty if it says nothing."""
        ...

    def rename(self, payload: dict[str, Any], model: str) -> bool:
        """Put the name that the client asked for where the upstream's stands; True if that changed something."""
        ...


@dataclass(frozen=True, slots=True)
class Translated:
    """A request of another endpoint as a chat completion."""

    chat: dict[str, Any]
    native_only: str | None = None
    """What a chat completion cannot carry, named for the client: `tools[0]: 'web_search'`. None: nothing."""
    dropped: tuple[str, ...] = ()
    """What the deployment is not sent, or not as a thing that binds it, named for the client."""


class Rendering(Protocol):
    """Says one chat answer in the form of another endpoint.

    The answer is normalised: thoughts stand in `reasoning_content`, tool calls have an `index` and an `id` of their own
    and arguments as text, and usage comes apart.
    """

    def whole(self, answer: Mapping[str, Any], usage: Usage) -> dict[str, Any]:
        """The answer to a request that asked for no stream."""
        ...

    def chunk(self, chunk: Mapping[str, Any]) -> bytes:
        """The events that one chunk becomes, possibly none."""
        ...

    def end(self, usage: Usage) -> bytes:
        """The events that close a complete answer."""
        ...

    def failed(self, error: Mapping[str, Any]) -> bytes:
        """The events that end an answer which cannot be completed; `error` has message, type, param and code."""
        ...


def strings_of(value: object) -> Iterator[str]:
    """All that a part of an answer says in words, wherever they stand in it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for child in value.values():
            yield from strings_of(child)
    elif isinstance(value, list):
        for child in value:
            yield from strings_of(child)


def object_of(data: bytes) -> dict[str, Any] | None:
    """The JSON object that these bytes are; None if they are none."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def choices_of(payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The choices of an answer or a chunk; none where there are none."""
    choices = payload.get("choices")
    return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []


class NamedAtTop:
    """An endpoint whose answers name their model beside all else that they say."""

    def rename(self, payload: dict[str, Any], model: str) -> bool:
        if payload.get("model") == model:
            return False
        payload["model"] = model
        return True


def error_in(shape: Shape, payload: Mapping[str, Any]) -> object | None:
    """The error inside a success: where the endpoint puts it, or flat in place of the answer; None if there is none.

    SGLang and older vLLM say it flat: `{"object": "error", "message": ...}`.
    """
    return shape.error(payload) or (payload if payload.get("object") == "error" else None)


class WithChoices(NamedAtTop):
    """An endpoint whose answers are choices."""

    def is_answer(self, payload: Mapping[str, Any]) -> bool:
        return isinstance(payload.get("choices"), list)

    def error(self, payload: Mapping[str, Any]) -> object | None:
        return None if payload.get("choices") else payload.get("error") or None


class ChatShape(WithChoices):
    """`/chat/completions`."""

    path = "/chat/completions"

    def heard(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        return payload


CHAT = ChatShape()
