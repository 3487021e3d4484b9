"""Says an upstream's chat answer as OpenAI would, in place, and leaves alone what is right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateway.upstream.dialects.calls import Calls, Heard, as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_THOUGHTS = frozenset({"reasoning_content", "reasoning", "reasoning_details"})
"""Where upstreams put thoughts."""


@dataclass(slots=True)
class _Choice:
    """What was seen of one choice."""

    calls: Calls = field(default_factory=Calls)
    has_calls: bool = False
    thought_in_text: bool = False
    """Thoughts came as plain text, so that what stands in `reasoning_details` is said already."""


class Normaliser:
    """Normalises one answer, whole or chunk by chunk.

    Thoughts stand in `reasoning_content`, once. Tool calls have an index and an id of their own, a type, and arguments
    as text. `new_id("call")` gives an id to calls that have none; `tool_choice` is the request's.
    """

    def __init__(self, new_id: Callable[[str], str], tool_choice: object = None) -> None:
        self._new_id = new_id
        # A call that was forced by name ends with `stop`, at OpenAI and vLLM alike. Where the model chose to call, it
        # is `tool_calls`: agents go on only then (opencode 20719, OpenVINO model server 3927), and some engines and
        # gateways say `stop` there. Loops would run forever if forced calls ended with `tool_calls` too.
        self._mends_finish = not isinstance(tool_choice, dict)
        self._choices: dict[int, _Choice] = {}

    def whole(self, answer: dict[str, Any]) -> bool:
        """Normalise a whole answer; True if something changed."""
        return self._normalise(answer, "message", self._mend_whole_calls)

    def chunk(self, chunk: dict[str, Any]) -> bool:
        """Normalise the next chunk of a stream; True if something changed."""
        return self._normalise(chunk, "delta", self._mend_fragments)

    def _normalise(self, answer: dict[str, Any], member: str, mend: Callable[[_Choice, dict[str, Any]], bool]) -> bool:
        changed = False
        for number, choice in _choices(answer):
            if (seen := self._choices.get(number)) is None:
                seen = self._choices[number] = _Choice()
            part = choice.get(member)
            if isinstance(part, dict):
                changed |= _name_thoughts(seen, part)
                changed |= mend(seen, part)
            changed |= self._mend_finish(seen, choice)
        return changed

    def _mend_whole_calls(self, seen: _Choice, message: dict[str, Any]) -> bool:
        calls = _calls(message)
        seen.has_calls = bool(calls)
        indices = [call["index"] for call in calls if "index" in call]
        changed = False
        if indices and indices != list(range(len(calls))):
            for index, call in enumerate(calls):
                call["index"] = index
            changed = True
        for call in calls:
            changed |= self._begin(call)
            changed |= _write_arguments(call, always=True)
        return changed

    def _mend_fragments(self, seen: _Choice, delta: dict[str, Any]) -> bool:
        changed = False
        for fragment in _calls(delta):
            seen.has_calls = True
            heard = seen.calls.hear(fragment)
            if fragment.get("index") != heard.call.index:
                fragment["index"] = heard.call.index
                changed = True
            changed |= self._begin(fragment) if heard.begins else _go_on(fragment, heard)
            changed |= _write_arguments(fragment, always=False)
        return changed

    def _begin(self, call: dict[str, Any]) -> bool:
        """Give a call what it must begin with."""
        changed = False
        if not isinstance(call.get("id"), str) or not call["id"]:
            call["id"] = self._new_id("call")
            changed = True
        if isinstance(call.get("function"), dict) and not isinstance(call.get("type"), str):
            call["type"] = "function"
            changed = True
        return changed

    def _mend_finish(self, seen: _Choice, choice: dict[str, Any]) -> bool:
        if not (self._mends_finish and seen.has_calls and choice.get("finish_reason") == "stop"):
            return False
        choice["finish_reason"] = "tool_calls"
        return True


def _name_thoughts(seen: _Choice, part: dict[str, Any]) -> bool:
    """Put thoughts where clients look for them. Details without text are opaque (signatures) and stay."""
    if _THOUGHTS.isdisjoint(part):
        return False
    content, reasoning = _text(part.get("reasoning_content")), _text(part.get("reasoning"))
    detailed = _detailed(part.get("reasoning_details"))
    seen.thought_in_text = seen.thought_in_text or bool(content or reasoning)
    if not (reasoning or detailed):
        return False
    thought = content or reasoning or ("" if seen.thought_in_text else detailed)
    for name in ("reasoning", "reasoning_details"):
        part.pop(name, None)
    if thought:
        part["reasoning_content"] = thought
    return True


def _detailed(details: object) -> str:
    """The text of `reasoning_details`: pieces of thought or of its summary."""
    if not isinstance(details, list):
        return ""
    pieces = (_text(item.get("text")) or _text(item.get("summary")) for item in details if isinstance(item, dict))
    return "".join(pieces)


def _go_on(fragment: dict[str, Any], heard: Heard) -> bool:
    """Leave out id and name that were said: OpenAI's own client appends what comes to what it has."""
    changed = False
    if fragment.get("id"):
        del fragment["id"]
        changed = True
    if heard.repeats_name:
        del fragment["function"]["name"]
        changed = True
    return changed


def _write_arguments(call: dict[str, Any], *, always: bool) -> bool:
    """Make arguments text. `always`: also where there are none, as a whole call must have them."""
    function = call.get("function")
    if not isinstance(function, dict) or isinstance(function.get("arguments"), str):
        return False
    if not always and "arguments" not in function:
        return False
    function["arguments"] = as_text(function.get("arguments"))
    return True


def _choices(answer: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    choices = answer.get("choices")
    for position, choice in enumerate(choices if isinstance(choices, list) else ()):
        if isinstance(choice, dict):
            index = choice.get("index")
            yield index if isinstance(index, int) else position, choice


def _calls(part: dict[str, Any]) -> list[dict[str, Any]]:
    calls = part.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
