"""Translates a Messages request to a chat completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from gateway.errors import UnsupportedParameter
from gateway.wire.messages import options
from gateway.wire.messages.conversation import chat_messages
from gateway.wire.messages.schema import MessagesRequest, read
from gateway.wire.shapes import Translated

if TYPE_CHECKING:
    from collections.abc import Mapping

_READ = frozenset(field.name for field in msgspec.structs.fields(MessagesRequest))
_OWN = frozenset({"container", "diagnostics", "inference_geo", "mcp_servers", "user_profile_id", "workspace_id"})
"""What only Anthropic's own servers can do."""
_HARMLESS = frozenset({"cache_control"})
_KEEP_THOUGHTS = {"type": "clear_thinking_20251015", "keep": "all"}


def to_chat(tree: Mapping[str, Any]) -> Translated:
    """The request as a chat completion, with the first thing that one cannot carry.

    Fields that the Messages endpoint does not know go along under their own names, for upstreams that know them.
    """
    request = read(tree, MessagesRequest)
    gaps: list[str] = []
    chat = {"model": request.model, "messages": chat_messages(request, gaps), **options.parameters(request, gaps)}
    for name, value in tree.items():
        if name not in _READ and name not in _HARMLESS and value is not None:
            _add(chat, name, value, gaps)
    return Translated(chat, native_only=gaps[0] if gaps else None)


def _add(chat: dict[str, Any], name: str, value: object, gaps: list[str]) -> None:
    """Add a field beyond the published ones, or beyond what a chat completion can carry."""
    if name in _OWN:
        if value:
            gaps.append(name)
    elif name == "speed":
        if value != "standard":
            gaps.append(name)
    elif name == "context_management":
        if not _keeps_everything(value):
            gaps.append(name)
    elif name == "output_format":  # what output_config.format was called before
        chat.setdefault("response_format", options.response_format(value, name))
    elif name == "n" or name in chat:
        raise UnsupportedParameter(f"{name!r} is no parameter of messages", param=name)
    else:
        chat[name] = value


def _keeps_everything(management: object) -> bool:
    """True if nothing is to be cleared from the context, which is what Claude Code asks for."""
    edits = management.get("edits") if isinstance(management, dict) else None
    return isinstance(edits, list) and all(edit == _KEEP_THOUGHTS for edit in edits)
