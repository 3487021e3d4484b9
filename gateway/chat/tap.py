"""Watches an answer go by: what it says, whether it is complete, and what it used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateway.privacy.conversations import Message
from gateway.wire.lanes import Usage
from gateway.wire.usage import estimate_tokens, read_usage

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(slots=True)
class _Choice:
    """One choice of an answer as far as it has come."""

    text: list[str] = field(default_factory=list)
    calls: dict[int, list[str]] = field(default_factory=dict)
    """For each tool call its name and the pieces of its arguments, in the order they came."""
    finished: bool = False


class Tap:
    """Sees a whole answer once, or a stream chunk by chunk."""

    def __init__(self, prompt_estimate: int) -> None:
        self._prompt_estimate = prompt_estimate
        self._said: Usage | None = None
        self._visible_bytes = 0
        self._thinking_bytes = 0
        self._choices: dict[int, _Choice] = {}

    def see(self, chunk: Mapping[str, Any]) -> None:
        """Take note of one chunk, or of a whole answer."""
        self._said = read_usage(chunk) or self._said
        for choice in choices_of(chunk):
            seen = self._choices.setdefault(_index(choice, 0), _Choice())
            self._hear(seen, _object(choice.get("delta")) or _object(choice.get("message")))
            seen.finished = seen.finished or bool(choice.get("finish_reason"))

    @property
    def finished(self) -> bool:
        """True once every choice that began has its `finish_reason`."""
        return bool(self._choices) and all(choice.finished for choice in self._choices.values())

    @property
    def usage(self) -> Usage:
        """What the upstream said, else a flagged estimate of what went by."""
        if self._said is not None:
            return self._said
        return Usage(
            fresh=self._prompt_estimate,
            output=estimate_tokens(self._visible_bytes),
            reasoning=estimate_tokens(self._thinking_bytes),
            estimated=True,
        )

    @property
    def text(self) -> str:
        """The visible text of the first choice."""
        return "".join(self._choices[0].text) if 0 in self._choices else ""

    @property
    def messages(self) -> list[Message]:
        """The answer as the messages that a client will send back."""
        return [Message("".join(choice.text), _joined(choice.calls)) for choice in self._choices.values()]

    def _hear(self, seen: _Choice, part: Mapping[str, Any]) -> None:
        content = part.get("content")
        if isinstance(content, str):
            seen.text.append(content)
            self._visible_bytes += len(content.encode())
        thoughts = (part.get(name) for name in ("reasoning_content", "reasoning"))
        thought = next((thought for thought in thoughts if isinstance(thought, str)), "")
        self._thinking_bytes += len(thought.encode())
        calls = part.get("tool_calls")
        for position, call in enumerate(calls if isinstance(calls, list) else ()):
            self._hear_call(seen, position, _object(call))

    def _hear_call(self, seen: _Choice, position: int, call: Mapping[str, Any]) -> None:
        function = _object(call.get("function"))
        index = _index(call, position)
        for piece in (function.get("name"), function.get("arguments")):
            if isinstance(piece, str):
                seen.calls.setdefault(index, []).append(piece)
                self._visible_bytes += len(piece.encode())


def choices_of(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The choices of an answer or a chunk; none where there are none."""
    choices = answer.get("choices")
    if not isinstance(choices, list):
        return []
    return [choice for choice in choices if isinstance(choice, dict)]


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _index(holder: Mapping[str, Any], otherwise: int) -> int:
    index = holder.get("index")
    return index if isinstance(index, int) else otherwise


def _joined(calls: Mapping[int, list[str]]) -> tuple[str, ...]:
    return tuple("".join(pieces) for pieces in calls.values())
