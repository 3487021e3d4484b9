"""Translates the tools of a response, and the choice among them, to those of a chat completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.errors import BadRequest
from gateway.wire.responses import members

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.wire.responses.schema import ResponsesRequest

_FUNCTION = ("name", "description", "parameters", "strict")
_MODES = ("none", "auto", "required")
_NATIVE_TOOLS = frozenset(
    """
    apply_patch code_interpreter computer computer_use_preview custom file_search image_generation local_shell mcp
    namespace programmatic_tool_calling shell tool_search web_search web_search_2025_08_26 web_search_preview
    web_search_preview_2025_03_11
    """.split()
)
"""Types of tools that only an endpoint `/responses` has."""
_NATIVE_OPTIONS = frozenset(("allowed_callers", "async", "defer_loading", "output_schema"))


def tools_of(fields: ResponsesRequest, beyond: list[str]) -> dict[str, Any]:
    """The members `tools`, `tool_choice` and `parallel_tool_calls`.

    Without tools the other two say nothing, and chat endpoints refuse them.
    """
    tools = [tool for index, said in enumerate(fields.tools or ()) if (tool := _tool(said, f"tools[{index}]", beyond))]
    chosen = _chosen(fields, tools, beyond)
    if not tools:
        return {}
    if fields.parallel_tool_calls is not None:
        chosen["parallel_tool_calls"] = fields.parallel_tool_calls
    return {"tools": tools, **chosen}


def _tool(said: Mapping[str, Any], place: str, beyond: list[str]) -> dict[str, Any] | None:
    if said.get("type") != "function":
        beyond.append(members.shown(place, said.get("type"), _NATIVE_TOOLS))
        return None
    members.name(said, "name", place)
    for key, value in said.items():
        if key not in ("type", *_FUNCTION) and value not in (None, False):
            beyond.append(f"{place}.{key}" if key in _NATIVE_OPTIONS else place)
    function = {key: said[key] for key in _FUNCTION if said.get(key) is not None}
    return {"type": "function", "function": function}


def _chosen(fields: ResponsesRequest, tools: list[dict[str, Any]], beyond: list[str]) -> dict[str, Any]:
    """`tool_choice`; `allowed_tools` also cuts the tools, which binds every upstream as the specification demands."""
    choice = fields.tool_choice
    if choice is None:
        return {}
    if isinstance(choice, str):
        return {"tool_choice": _mode(choice, "tool_choice")}
    kind = choice.get("type")
    if kind == "function":
        return {"tool_choice": _function(members.name(choice, "name", "tool_choice"), tools)}
    if kind != "allowed_tools":
        beyond.append(members.shown("tool_choice", kind, _NATIVE_TOOLS))
        return {}
    allowed = _allowed(choice, beyond)
    for name in allowed:
        _function(name, tools)
    tools[:] = [tool for tool in tools if tool["function"]["name"] in allowed]
    return {"tool_choice": _mode(choice.get("mode", "auto"), "tool_choice.mode")}


def _mode(said: object, place: str) -> str:
    if isinstance(said, str) and said in _MODES:
        return said
    raise BadRequest(f"{place} must be one of {', '.join(_MODES)}", param=place)


def _function(name: str, tools: list[dict[str, Any]]) -> dict[str, Any]:
    if all(tool["function"]["name"] != name for tool in tools):
        raise BadRequest("tool_choice names a function that is not among the tools", param="tool_choice")
    return {"type": "function", "function": {"name": name}}


def _allowed(choice: Mapping[str, Any], beyond: list[str]) -> list[str]:
    names = []
    for index, tool in enumerate(members.objects(choice.get("tools"), "tool_choice.tools")):
        place = f"tool_choice.tools[{index}]"
        if tool.get("type") == "function":
            names.append(members.name(tool, "name", place))
        else:
            beyond.append(members.shown(place, tool.get("type"), _NATIVE_TOOLS))
    return names
