"""The response object without its answer: what it was asked with, every field of the specification in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_PASSED: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "prompt_cache_key": None,
    "safety_identifier": None,
    "user": None,
    "temperature": 1.0,
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "top_logprobs": 0,
    "truncation": "disabled",
    "tool_choice": "auto",
}
"""What is told as it was asked, with the specification's values where nothing was."""

_UNKEPT = {"background": False, "previous_response_id": None, "store": False}
"""Nothing is stored, whatever was asked: an answer that says so keeps clients from looking for it later."""


def echo(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a response that repeat its request."""
    said = {key: otherwise if tree.get(key) is None else tree[key] for key, otherwise in _PASSED.items()}
    if isinstance(said["tool_choice"], dict) and said["tool_choice"].get("type") == "allowed_tools":
        said["tool_choice"] = {"mode": "auto", **said["tool_choice"]}
    return {
        **said,
        **_UNKEPT,
        "reasoning": {"effort": (tree.get("reasoning") or {}).get("effort"), "summary": None},
        "service_tier": "default",
        "text": _text(tree.get("text") or {}),
        "tools": [_tool(tool) for tool in tree.get("tools") or ()],
    }


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    if tool.get("type") != "function":
        return dict(tool)
    return {"description": None, "parameters": None, "strict": None, **tool}


def _text(text: Mapping[str, Any]) -> dict[str, Any]:
    said = {"format": _format(text.get("format") or {"type": "text"})}
    return said if text.get("verbosity") is None else {**said, "verbosity": text["verbosity"]}


def _format(said: Mapping[str, Any]) -> dict[str, Any]:
    """The format that was asked for; a schema that was left out means any JSON object."""
    if said.get("type") != "json_schema":
        return dict(said)
    if said.get("schema") is None:
        return {"type": "json_object"}
    given = {key: value for key, value in said.items() if value is not None}
    return {"name": "response", "description": None, "strict": False, **given}
