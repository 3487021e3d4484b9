"""The form in which a dialect says how a deployment's parameters differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Rules:
    """What of a request changes on its way to a deployment; what no rule names passes untouched."""

    strip: frozenset[str] = frozenset()
    """Parameters that are refused."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that are refused with any other value than this one."""
    rename: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values for what the client left out."""
    effort: Mapping[str, str] = field(default_factory=dict)
    """What a `reasoning_effort` is called."""
    unthinking: str | None = None
    """The effort that stands for `thinking` switched off, where it cannot be switched off."""
    thoughts: frozenset[str] = frozenset()
    """The names under which thoughts of earlier turns must be there to be read."""
    check_tool_arguments: bool = False
