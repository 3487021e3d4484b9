"""What a request demands of a deployment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Demand:
    """What a request needs of a deployment; token counts are bounds, not exact."""

    model: str
    """The name asked for, `auto` or a model, without collections."""
    prompt_tokens: int
    max_output: int | None
    needs: frozenset[str] = frozenset()
    has_collections: bool = False
    finds_nothing: bool = False
    """Documents are asked for and none speaks of it."""
