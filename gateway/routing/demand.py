"""What a request demands of a deployment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

_ANY_TIME = datetime(2026, 11, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Demand:
    """What a request needs of a deployment; token counts are bounds, not exact."""

    model: str
    """The name asked for, `auto` or a model, without collections."""
    prompt_tokens: int
    max_output: int | None
    needs: frozenset[str] = frozenset()
    endpoint: str = "chat"
    """The endpoint that the client asked."""
    native_only: str | None = None
    """What only a deployment can take that has this endpoint itself."""
    longest: int | None = None
    """The longest of several inputs, which each must fit a context; None: the whole prompt must."""
    affinity: bytes = b""
    """The same for all turns of one conversation: they find their prefix in the cache of the machine that had it."""
    has_chat: bool = True
    """False where the request cannot be put as a chat: embeddings, reranking."""
    has_collections: bool = False
    finds_nothing: bool = False
    """Documents are asked for and none speaks of it."""
    at: datetime = _ANY_TIME
    """When it is made: some prices depend on the hour."""

    @property
    def must_fit(self) -> int:
        """Tokens that must fit a context at once."""
        return self.prompt_tokens if self.longest is None else self.longest
