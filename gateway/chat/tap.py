"""Watches an answer go by: what it says, whether it is complete, and what it used."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gateway.privacy.conversations import text_in
from gateway.wire.lanes import Usage
from gateway.wire.shapes import choices_of
from gateway.wire.usage import estimate_tokens, in_lane, joined, read_usage, service_tier, told_of_usage

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(slots=True)
class _Choice:
    """One choice of an answer as far as it has come."""

    text: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: dict[int, list[str]] = field(default_factory=dict)
    """For each tool call its name and the pieces of its arguments, in the order they came."""
    finished: bool = False


class Tap:
    """Sees a whole answer once, or a stream chunk by chunk."""

    def __init__(self, prompt_estimate: int, lane: str = "fresh") -> None:
        """`lane` is where the input belongs: `embedding` or `rerank` where nothing is written."""
        self._prompt_estimate = prompt_estimate
        self._lane = lane
        self._told: Mapping[str, Any] = {}
        self._said: Usage | None = None
        self._seen_when_said = 0
        self._visible_bytes = 0
        self._thinking_bytes = 0
        self._choices: dict[int, _Choice] = {}
        self.model: str | None = None
        """The model that says to have answered."""
        self.service_tier: str | None = None
        """What the upstream says it was served under."""
        self.last: Mapping[str, Any] = {}
        """The last event of a stream, as the upstream sent it."""

    def see(self, chunk: Mapping[str, Any], model: str | None = None) -> None:
        """Take note of one chunk, or of a whole answer, and of the model that it names."""
        self.model = model or self.model
        for choice in choices_of(chunk):
            index = _index(choice, 0)
            if (seen := self._choices.get(index)) is None:
                seen = self._choices[index] = _Choice()
            self._hear(seen, _object(choice.get("delta")) or _object(choice.get("message")))
            seen.finished = seen.finished or bool(choice.get("finish_reason"))
        if told := told_of_usage(chunk):
            self._listen(joined(self._told, told))
        self.service_tier = service_tier(chunk) or self.service_tier

    @property
    def finished(self) -> bool:
        """True once every choice that began has its `finish_reason`."""
        return bool(self._choices) and all(choice.finished for choice in self._choices.values())

    @property
    def usage(self) -> Usage:
        """What the upstream said, else a flagged estimate of what went by.

        What it said before its answer went on is believed for the prompt alone, unless it is more than what was seen.
        """
        seen = Usage(
            fresh=self._prompt_estimate,
            output=estimate_tokens(self._visible_bytes),
            reasoning=estimate_tokens(self._thinking_bytes),
            estimated=True,
        )
        said = self._said
        if said is None:
            return in_lane(seen, self._lane)
        if self._lane != "fresh":
            return in_lane(said, self._lane)
        if self._seen_when_said == self._seen_bytes or said.completion >= seen.completion:
            return said
        return replace(said, output=seen.output, reasoning=seen.reasoning, estimated=True)

    @property
    def _seen_bytes(self) -> int:
        return self._visible_bytes + self._thinking_bytes

    @property
    def text(self) -> str:
        """The visible text of the first choice."""
        return "".join(self._choices[0].text) if 0 in self._choices else ""

    @property
    def texts(self) -> list[str]:
        """What the answer says: the text, the thoughts and the tool calls of each choice."""
        texts = ([*choice.calls.values(), choice.text, choice.thoughts] for choice in self._choices.values())
        return ["".join(pieces) for pieces_of_choice in texts for pieces in pieces_of_choice]

    def _listen(self, told: Mapping[str, Any]) -> None:
        """Take what is told by now, unless the last word was nothing but zeros in place of more than that."""
        if told is self._told:
            return
        self._told, self._said, self._seen_when_said = told, read_usage(told), self._seen_bytes

    def _hear(self, seen: _Choice, part: Mapping[str, Any]) -> None:
        others = part.get("refusal"), _object(part.get("audio")).get("transcript")
        content = text_in(part.get("content")) + "".join(other for other in others if isinstance(other, str))
        seen.text.append(content)
        self._visible_bytes += len(content.encode())
        thoughts = (part.get(name) for name in ("reasoning_content", "reasoning"))
        thought = next((thought for thought in thoughts if isinstance(thought, str)), "")
        seen.thoughts.append(thought)
        self._thinking_bytes += len(thought.encode())
        calls = part.get("tool_calls")
        legacy = [{"function": part["function_call"]}] if "function_call" in part else []
        for position, call in enumerate([*(calls if isinstance(calls, list) else ()), *legacy]):
            self._hear_call(seen, position, _object(call))

    def _hear_call(self, seen: _Choice, position: int, call: Mapping[str, Any]) -> None:
        function = _object(call.get("function"))
        index = _index(call, position)
        for piece in (function.get("name"), function.get("arguments")):
            if isinstance(piece, str):
                seen.calls.setdefault(index, []).append(piece)
                self._visible_bytes += len(piece.encode())


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _index(holder: Mapping[str, Any], otherwise: int) -> int:
    index = holder.get("index")
    return index if isinstance(index, int) else otherwise
