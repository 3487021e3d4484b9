"""Translates the tools of a response, and the choice among them, to those of a chat completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateway.errors import BadRequest
from gateway.wire.responses import members
from gateway.wire.responses.freetext import PARAMETER
from gateway.wire.responses.names import Tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateway.wire.responses.names import Kind, Names
    from gateway.wire.responses.schema import ResponsesRequest

_MODES = ("none", "auto", "required")
_NATIVE_TOOLS = frozenset(
    """
    apply_patch code_interpreter computer computer_use_preview custom file_search image_generation local_shell mcp
    namespace programmatic_tool_calling shell tool_search web_search web_search_2025_08_26 web_search_preview
    web_search_preview_2025_03_11
    """.split()
)
"""Types of tools that only an endpoint `/responses` has, at least where they are not expected."""
_NATIVE_OPTIONS = frozenset(("allowed_callers", "async", "defer_loading", "output_schema"))

_OPTIONS: Mapping[Kind, Sequence[str]] = {
    "function": ("name", "description", "parameters", "strict"),
    "custom": ("name", "description", "format"),
}
"""What is translated of each kind of tool."""

_FREE_TEXT = {
    "type": "object",
    "properties": {PARAMETER: {"type": "string"}},
    "required": [PARAMETER],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class _Offered:
    """A tool and the function that stands for it."""

    tool: Tool
    function: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Translation:
    """What the translation of all tools needs and gathers."""

    names: Names
    beyond: list[str]
    unbound: list[str]


def tools_of(fields: ResponsesRequest, names: Names, beyond: list[str], unbound: list[str]) -> dict[str, Any]:
    """The members `tools`, `tool_choice` and `parallel_tool_calls`; grammars are named in `unbound`.

    Without tools the other two say nothing, and chat endpoints refuse them.
    """
    translation = _Translation(names, beyond, unbound)
    offered = [
        tool for index, said in enumerate(fields.tools or ()) for tool in _tools(said, f"tools[{index}]", translation)
    ]
    chosen = _chosen(fields, offered, beyond)
    if not offered:
        return {}
    if fields.parallel_tool_calls is not None:
        chosen["parallel_tool_calls"] = fields.parallel_tool_calls
    return {"tools": [{"type": "function", "function": tool.function} for tool in offered], **chosen}


def _tools(said: Mapping[str, Any], place: str, translation: _Translation) -> Iterator[_Offered]:
    """A tool, or all of a namespace; each of those is told what the namespace is."""
    if said.get("type") != "namespace":
        yield from _tool(said, place, translation)
        return
    namespace = members.name(said, "name", place)
    about = _description(said, place)
    _check_options(said, ("name", "description", "tools"), place, translation.beyond)
    for index, inner in enumerate(members.objects(said.get("tools"), f"{place}.tools")):
        for offered in _tool(inner, f"{place}.tools[{index}]", translation, namespace):
            description = "\n\n".join(filter(None, (about, offered.function.get("description"))))
            yield _Offered(offered.tool, offered.function | ({"description": description} if description else {}))


def _tool(
    said: Mapping[str, Any], place: str, translation: _Translation, namespace: str | None = None
) -> Iterator[_Offered]:
    kind = _kind(said)
    if kind is None:
        translation.beyond.append(members.shown(place, said.get("type"), _NATIVE_TOOLS))
        return
    tool = Tool(kind, members.name(said, "name", place), namespace)
    function = _function(said, place) if kind == "function" else _free_text(said, place, translation)
    _check_options(said, _OPTIONS[kind], place, translation.beyond)
    yield _Offered(tool, {"name": translation.names.of(tool), **function})


def _function(said: Mapping[str, Any], place: str) -> dict[str, Any]:
    description = {"description": about} if (about := _description(said, place)) else {}
    return description | {key: said[key] for key in ("parameters", "strict") if said.get(key) is not None}


def _free_text(said: Mapping[str, Any], place: str, translation: _Translation) -> dict[str, Any]:
    """A function with a text for its only parameter. Nothing holds the model to a grammar: it is told of it."""
    told = [_description(said, place), f"Give the tool's text, unwrapped, in the parameter `{PARAMETER}`."]
    form = said.get("format") or {"type": "text"}
    kind = form.get("type") if isinstance(form, dict) else None
    if kind == "grammar":
        syntax, grammar = (members.name(form, key, f"{place}.format") for key in ("syntax", "definition"))
        told.append(f"That text must match this grammar ({syntax}):\n{grammar}")
        translation.unbound.append(f"{place}.format")
    elif kind != "text":
        translation.beyond.append(f"{place}.format")
    return {"description": "\n\n".join(filter(None, told)), "parameters": _FREE_TEXT}


def _description(said: Mapping[str, Any], place: str) -> str:
    return "" if said.get("description") is None else members.text(said, "description", place)


def _check_options(said: Mapping[str, Any], known: Sequence[str], place: str, beyond: list[str]) -> None:
    for key, value in said.items():
        if key not in ("type", *known) and value not in (None, False):
            beyond.append(f"{place}.{key}" if key in _NATIVE_OPTIONS else place)


def _chosen(fields: ResponsesRequest, offered: list[_Offered], beyond: list[str]) -> dict[str, Any]:
    """`tool_choice`; `allowed_tools` also cuts the tools, which binds every upstream as the specification demands."""
    choice = fields.tool_choice
    if choice is None:
        return {}
    if isinstance(choice, str):
        return {"tool_choice": _mode(choice, "tool_choice")}
    if (kind := _kind(choice)) is not None:
        function = _named(choice, kind, offered, "tool_choice").function
        return {"tool_choice": {"type": "function", "function": {"name": function["name"]}}}
    if choice.get("type") != "allowed_tools":
        beyond.append(members.shown("tool_choice", choice.get("type"), _NATIVE_TOOLS))
        return {}
    allowed = {tool.tool for tool in _allowed(choice, offered, beyond)}
    offered[:] = [tool for tool in offered if tool.tool in allowed]
    return {"tool_choice": _mode(choice.get("mode", "auto"), "tool_choice.mode")}


def _kind(said: Mapping[str, Any]) -> Kind | None:
    kind = said.get("type")
    return kind if kind in ("function", "custom") else None


def _mode(said: object, place: str) -> str:
    if isinstance(said, str) and said in _MODES:
        return said
    raise BadRequest(f"{place} must be one of {', '.join(_MODES)}", param=place)


def _named(said: Mapping[str, Any], kind: Kind, offered: Sequence[_Offered], place: str) -> _Offered:
    """The tool that is meant; without a namespace one that has none, else the only one of that name."""
    name, namespace = members.name(said, "name", place), said.get("namespace")
    found = [one for one in offered if one.tool.kind == kind and one.tool.name == name]
    exact = [one for one in found if one.tool.namespace == namespace]
    if exact or (namespace is None and len(found) == 1):
        return (exact or found)[0]
    several = found and namespace is None
    what = "names a tool of several namespaces: say its 'namespace'" if several else "names a tool that is not offered"
    raise BadRequest(f"{place} {what}", param="tool_choice")


def _allowed(choice: Mapping[str, Any], offered: Sequence[_Offered], beyond: list[str]) -> Iterator[_Offered]:
    for index, said in enumerate(members.objects(choice.get("tools"), "tool_choice.tools")):
        place = f"tool_choice.tools[{index}]"
        if (kind := _kind(said)) is not None:
            yield _named(said, kind, offered, place)
        elif said.get("type") == "namespace":
            yield from _within(members.name(said, "name", place), offered, place)
        else:
            beyond.append(members.shown(place, said.get("type"), _NATIVE_TOOLS))


def _within(namespace: str, offered: Sequence[_Offered], place: str) -> list[_Offered]:
    found = [one for one in offered if one.tool.namespace == namespace]
    if not found:
        raise BadRequest(f"{place} names a namespace that is not offered", param="tool_choice")
    return found
