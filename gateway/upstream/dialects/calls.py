"""Tells the tool calls of a stream apart, whatever its upstream does with their indices and ids."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(slots=True)
class Call:
    """One tool call as far as it has come."""

    index: int
    """Its place among the calls of its choice, from 0 in the order they began."""
    id: str | None
    """What the upstream calls it; None if it gave no id when the call began."""
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    @property
    def is_whole(self) -> bool:
        """True if its arguments are complete JSON, so that nothing can follow."""
        return _is_json(self.arguments)

    @property
    def is_cut(self) -> bool:
        """True if its arguments have begun and are not complete."""
        return bool(self.arguments) and not self.is_whole


@dataclass(frozen=True, slots=True)
class Heard:
    """A fragment's call; whether it begins there, and whether the fragment says its name again."""

    call: Call
    begins: bool
    repeats_name: bool


@dataclass(frozen=True, slots=True)
class _Said:
    """What a fragment says of the call it belongs to."""

    index: int | None
    id: str | None
    name: str | None


class Calls:
    """The tool calls of one choice.

    In a proper stream a call begins with `index`, `id` and name, and its other fragments have the `index` alone.
    Upstreams also give all calls index 0 or none (Ollama), no ids, or id and name with every fragment.
    """

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._at: dict[int, Call] = {}
        self._named: dict[str, Call] = {}

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    def hear(self, fragment: Mapping[str, Any]) -> Heard:
        """Say which call a fragment belongs to."""
        function = _object(fragment.get("function"))
        said = _Said(_index(fragment.get("index")), _text(fragment.get("id")), _text(function.get("name")))
        call = self._continued(said)
        begins = call is None
        if call is None:
            call = self._begun(said)
        repeats_name = bool(call.name) and said.name == call.name
        call.name = call.name or said.name or ""
        if said.index is not None:
            self._at[said.index] = call
        call.pieces.append(as_text(function.get("arguments")))
        return Heard(call, begins, repeats_name)

    def _continued(self, said: _Said) -> Call | None:
        """The call that goes on, None if a new one begins: with a new id, or a name where there is one already."""
        call = self._candidate(said)
        if call is None:
            return None
        if said.name is None or not call.name:
            return call
        # Some upstreams repeat the name with every fragment; after whole arguments it begins a second call of the tool.
        is_repeated = said.name == call.name and not (said.id is None and call.is_whole)
        return call if is_repeated else None

    def _candidate(self, said: _Said) -> Call | None:
        there = self._at.get(said.index) if said.index is not None else self._last()
        if said.id is not None and (there is None or there.id != said.id):
            return self._by_id(said.id, said, there)
        if there is None and said.name is None:
            return self._last()
        return there

    def _by_id(self, id_: str, said: _Said, there: Call | None) -> Call | None:
        known = self._named.get(id_)
        if known is not None:
            # The same id at a new index, with a name: two calls that were given one id.
            return None if there is None and said.name is not None and said.index is not None else known
        if there is None or said.name is not None:
            return None
        # A new id without a name: it comes late, or is drawn anew for every fragment.
        return there if there.id is None or there.is_cut else None

    def _begun(self, said: _Said) -> Call:
        call = Call(len(self._calls), said.id)
        self._calls.append(call)
        if said.index is None:
            self._at[call.index] = call
        if said.id is not None:
            self._named[said.id] = call
        return call

    def _last(self) -> Call | None:
        return self._calls[-1] if self._calls else None


def as_text(arguments: object) -> str:
    """Arguments as the text they should be: nothing is repaired, and nothing is no empty object."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _index(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
