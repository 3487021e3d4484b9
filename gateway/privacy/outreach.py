"""Finds what would have a deployment reach out by itself: tools that it runs, and addresses that it would fetch.

A deployment in the house that searches the web, calls an MCP server or fetches a picture takes words of a conversation
outside, past the guard.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_SAID = ("messages", "input", "system")
_FETCHED = frozenset({"image_url", "file_url", "video_url", "audio_url", "source"})
"""Members that hold an address, or an object with one in `url`."""
_ADDRESS = re.compile(r"\s*(?:https?|ftp|file|s3|gs):", re.IGNORECASE)
_RUN_BY_CLIENTS = re.compile(
    r"(?:function|custom|namespace|local_shell|shell|apply_patch|computer\w*|bash_\d+|text_editor_\d+|memory_\d+)\Z"
)
"""Tools whose calls go back to the client."""
_MEMBERS = ("mcp_servers", "web_search_options")


def found_in(tree: Mapping[str, Any]) -> str | None:
    """The place of the first such thing in a request's body; None if there is none."""
    return next(_places(tree), None)


def _places(tree: Mapping[str, Any]) -> Iterator[str]:
    yield from (name for name in _MEMBERS if tree.get(name))
    tools = tree.get("tools")
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        kind = tool.get("type") if isinstance(tool, dict) else None
        if isinstance(kind, str) and not _RUN_BY_CLIENTS.match(kind):
            yield f"tools[{index}]"
    for name in _SAID:
        said = tree.get(name)
        for index, message in enumerate(said if isinstance(said, list) else ()):
            if _fetches(message):
                yield f"{name}[{index}]"


def _fetches(value: object) -> bool:
    """True if an address stands in it where a deployment would fetch it."""
    if isinstance(value, list):
        return any(map(_fetches, value))
    if not isinstance(value, dict):
        return False
    return any(_is_address(value[name]) for name in _FETCHED & value.keys()) or any(map(_fetches, value.values()))


def _is_address(held: object) -> bool:
    address = held.get("url") if isinstance(held, dict) else held
    return isinstance(address, str) and bool(_ADDRESS.match(address))
