"""Holds the arguments of tool calls against the schemas of their tools."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from jsonschema import Draft202012Validator, SchemaError, validators
from jsonschema.exceptions import UnknownType
from referencing import Registry
from referencing.exceptions import Unresolvable

from gateway.upstream.dialects.calls import Calls, as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from jsonschema import ValidationError

    from gateway.upstream.clients import Verdict

BROKEN_OFF = ("length", "content_filter")
"""Why an answer may end amid its arguments: asking once more would end alike."""

_LONGEST = 256 * 1024
"""Longer arguments, files that are written for example, are only read as JSON."""
_MOST_PARTS = 500
"""A schema of more parts condemns nothing: to see whether it is one would hold up the gateway."""
_MOST_REFERENCES = 2_000
"""References followed in one check. A schema can double them at each step, and it comes from the client."""
_STUMBLES = (TypeError, AttributeError, KeyError, ValueError, ArithmeticError, UnknownType)
"""How a check ends on a schema that is none: `properties` that is a number, a `minimum` that is text."""


def unfit(tools: Sequence[Mapping[str, Any]], message: Mapping[str, Any]) -> str | None:
    """The name of the first tool whose arguments are no JSON or not what its schema wants; None if there is none.

    What cannot be judged fits: a tool that the request does not have, a schema that is none.
    """
    schemas = _schemas(tools)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            name = str(function.get("name"))
            if not _fits(as_text(function.get("arguments")), schemas.get(name)):
                return name
    return None


@dataclass(slots=True)
class _Choice:
    """The calls of one choice, and why it ended."""

    calls: Calls = field(default_factory=Calls)
    finish: str | None = None


class Watch:
    """Looks at a stream while nothing of it was passed on.

    It holds back tool calls until all are complete, and passes as soon as anything else is said: text and thoughts are
    not kept waiting, and what was begun is not taken back.
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        self._tools = tools
        self._choices: dict[int, _Choice] = {}
        self._verdict: Verdict = "hold"

    def see(self, payload: Mapping[str, Any]) -> Verdict:
        """What to do after this chunk of a chat completion."""
        if self._verdict == "hold":
            self._verdict = self._seen(payload)
        return self._verdict

    def _seen(self, payload: Mapping[str, Any]) -> Verdict:
        choices = payload.get("choices")
        for position, choice in enumerate(choices if isinstance(choices, list) else ()):
            if not isinstance(choice, dict):
                continue
            delta, index = choice.get("delta"), choice.get("index")
            if isinstance(delta, dict) and _speaks(delta):
                return "pass"
            self._hear(self._choices.setdefault(index if isinstance(index, int) else position, _Choice()), choice)
        if not self._choices or any(choice.finish is None for choice in self._choices.values()):
            return "hold"
        return "unfit" if any(map(self._is_unfit, self._choices.values())) else "pass"

    def _hear(self, seen: _Choice, choice: Mapping[str, Any]) -> None:
        delta = choice.get("delta")
        fragments = delta.get("tool_calls") if isinstance(delta, dict) else None
        for fragment in fragments if isinstance(fragments, list) else ():
            if isinstance(fragment, dict):
                seen.calls.hear(fragment)
        seen.finish = choice.get("finish_reason") or seen.finish

    def _is_unfit(self, seen: _Choice) -> bool:
        if seen.finish in BROKEN_OFF:
            return False
        calls = [{"function": {"name": call.name, "arguments": call.arguments}} for call in seen.calls if call.name]
        return unfit(self._tools, {"tool_calls": calls}) is not None


def _speaks(delta: Mapping[str, Any]) -> bool:
    """True if a delta says anything but a role and tool calls."""
    return any(value for name, value in delta.items() if name not in ("role", "tool_calls"))


def _schemas(tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The schemas of function tools by name."""
    functions = (tool.get("function") for tool in tools if isinstance(tool, dict))
    return {str(f.get("name")): f.get("parameters") for f in functions if isinstance(f, dict)}


def _fits(arguments: str, schema: object) -> bool:
    # A tool without parameters is often called with an empty text; it means no arguments.
    try:
        value = msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, RecursionError):
        return False
    if not isinstance(schema, dict) or len(arguments) > _LONGEST:
        return True
    return _is_valid(value, schema)


def _is_valid(value: object, schema: dict[str, Any]) -> bool:
    """True also where the schema cannot be followed: it is none, is too large, leads nowhere or round in circles."""
    followed = _FOLLOWED.set([0])
    try:
        # An empty registry of its own: by default, references to other hosts would be fetched.
        wrong = next(_Validator(schema, registry=Registry()).iter_errors(value), None)
        return wrong is None or not _is_schema(schema)
    except (Unresolvable, RecursionError, _Entangled, *_STUMBLES):
        return True
    finally:
        _FOLLOWED.reset(followed)


def _is_schema(schema: dict[str, Any]) -> bool:
    """True if it is one. Looked at only before arguments are called unfit: it takes 0.2 ms for each of its parts."""
    if _parts(schema) > _MOST_PARTS:
        return False
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return False
    return True


def _parts(schema: object) -> int:
    if isinstance(schema, dict):
        return 1 + sum(map(_parts, schema.values()))
    return sum(map(_parts, schema)) if isinstance(schema, list) else 0


class _Entangled(Exception):
    """A schema whose references lead on and on."""


_FOLLOWED: ContextVar[list[int]] = ContextVar("followed")
"""How many references the check under way has followed."""


def _counted(keyword: str) -> Callable[[Any, Any, Any, Any], Iterator[ValidationError]]:
    follow = Draft202012Validator.VALIDATORS[keyword]

    def reference(validator: Any, target: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        followed = _FOLLOWED.get()
        followed[0] += 1
        if followed[0] > _MOST_REFERENCES:
            raise _Entangled
        yield from follow(validator, target, instance, schema)

    return reference


def _additional(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """`additionalProperties`, unless patterns say which properties are not additional."""
    if "patternProperties" not in schema:
        yield from Draft202012Validator.VALIDATORS["additionalProperties"](validator, allowed, instance, schema)


def _unheld(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """A keyword that nothing is held against."""
    yield from ()


# Patterns come from the client and are matched by backtracking: one of them could hold up the whole gateway.
_Validator = validators.extend(  # type: ignore[no-untyped-call]  # the stubs leave its arguments untyped
    Draft202012Validator,
    {
        "$ref": _counted("$ref"),
        "$dynamicRef": _counted("$dynamicRef"),
        "additionalProperties": _additional,
        "pattern": _unheld,
        "patternProperties": _unheld,
        "unevaluatedItems": _unheld,
        "unevaluatedProperties": _unheld,
    },
)
