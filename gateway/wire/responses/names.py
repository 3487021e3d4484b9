"""The names that a response's tools have in a chat, which knows neither namespaces nor tools of free text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Literal

Kind = Literal["function", "custom"]

_LONGEST = 64
_FORBIDDEN = re.compile("[^A-Za-z0-9_-]")
_DIGEST = 8
_KINDS: Mapping[str, Kind] = {"function": "function", "custom": "custom"}
_CALLS: Mapping[str, Kind] = {
    "function_call": "function",
    "function_call_output": "function",
    "custom_tool_call": "custom",
    "custom_tool_call_output": "custom",
}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a response names it."""

    kind: Kind
    name: str
    namespace: str | None = None

    @property
    def is_plain(self) -> bool:
        """True of what a chat has too."""
        return self.kind == "function" and self.namespace is None


class Names:
    """One name for each tool; a chat's name leads back to its tool."""

    def __init__(self) -> None:
        self._names: dict[Tool, str] = {}
        self._tools: dict[str, Tool] = {}

    def of(self, tool: Tool) -> str:
        """The tool's name in a chat, the same whenever it is asked for."""
        if tool not in self._names:
            name = next(name for name in _proposed(tool) if name not in self._tools)
            self._names[tool], self._tools[name] = name, tool
        return self._names[tool]

    def tool(self, name: str) -> Tool:
        """The tool that a chat calls so; a name that was never given is a function's own."""
        return self._tools.get(name) or Tool("function", name)


def names_of(tree: Mapping[str, object]) -> Names:
    """The names of all tools that a request offers or speaks of, the same for each reading of the request.

    Functions keep the names that they have; a namespace's tool must not take one of them.
    """
    names = Names()
    for tool in sorted((*_offered(tree.get("tools")), *_named(tree.get("input"))), key=lambda tool: not tool.is_plain):
        names.of(tool)
    return names


def _proposed(tool: Tool) -> Iterator[str]:
    """The name that says where the tool belongs, then, if that cannot be or is taken, such with a digest at the end."""
    said = tool.name if tool.namespace is None else f"{tool.namespace}__{tool.name}"
    plain = _FORBIDDEN.sub("_", said)
    if tool.is_plain or (plain == said and len(said) <= _LONGEST):
        yield said
    for attempt in count():
        told = json.dumps([tool.kind, tool.namespace, tool.name, attempt])
        yield f"{plain[: _LONGEST - _DIGEST - 1]}_{sha256(told.encode()).hexdigest()[:_DIGEST]}"


def _offered(tools: object, namespace: str | None = None) -> Iterator[Tool]:
    for said in _objects(tools):
        name = said.get("name")
        if not isinstance(name, str):
            continue
        if said.get("type") == "namespace" and namespace is None:
            yield from _offered(said.get("tools"), name)
        elif kind := _KINDS.get(str(said.get("type"))):
            yield Tool(kind, name, namespace)


def _named(items: object) -> Iterator[Tool]:
    for item in _objects(items):
        kind, name, namespace = _CALLS.get(str(item.get("type"))), item.get("name"), item.get("namespace")
        if kind and isinstance(name, str) and (namespace is None or isinstance(namespace, str)):
            yield Tool(kind, name, namespace)


def _objects(value: object) -> Iterator[Mapping[str, object]]:
    yield from (item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()
