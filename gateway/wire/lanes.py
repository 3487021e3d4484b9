"""Token lanes: the parts that an attempt's tokens divide into, each token in exactly one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one attempt by lane. `prompt` and `completion` are their inclusive sums."""

    fresh: int = 0
    """Input tokens that were computed."""
    cached: int = 0
    """Input tokens read from the upstream's prefix cache."""
    output: int = 0
    """Visible output tokens."""
    reasoning: int = 0
    """Thinking tokens."""
    estimated: bool = False
    """True if the upstream did not say: a flagged guess, never a silent zero."""

    @property
    def prompt(self) -> int:
        return self.fresh + self.cached

    @property
    def completion(self) -> int:
        return self.output + self.reasoning
