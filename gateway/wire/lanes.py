"""Token lanes: the parts that an attempt's tokens divide into, each token in exactly one."""

from __future__ import annotations

from dataclasses import dataclass

LANES = (
    "fresh",
    "cached",
    "cache_write_5m",
    "cache_write_1h",
    "output",
    "reasoning",
    "image_input",
    "image_output",
    "audio_input",
    "audio_output",
    "embedding",
    "rerank",
    "searches",
)
"""The lanes' names, in the order that tables and files show them. All count tokens, but for `searches`."""

_INPUT = ("fresh", "cached", "cache_write_5m", "cache_write_1h", "image_input", "audio_input", "embedding", "rerank")
_OUTPUT = ("output", "reasoning", "image_output", "audio_output")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one attempt by lane. `prompt` and `completion` are their inclusive sums."""

    fresh: int = 0
    """Text input that was computed."""
    cached: int = 0
    """Input read from the upstream's prefix cache."""
    output: int = 0
    """Visible output."""
    reasoning: int = 0
    """Thinking."""
    estimated: bool = False
    """True if the upstream did not say: a flagged guess, never a silent zero."""
    cache_write_5m: int = 0
    """Input computed and kept in the prefix cache for five minutes, or for a time that the upstream does not say."""
    cache_write_1h: int = 0
    """Input computed and kept in the prefix cache for an hour."""
    image_input: int = 0
    image_output: int = 0
    audio_input: int = 0
    audio_output: int = 0
    embedding: int = 0
    """Input of an embedding model."""
    rerank: int = 0
    """Input of a reranker that counts tokens."""
    searches: int = 0
    """Search units of a reranker that counts those (Cohere: one query over up to 100 documents); no tokens."""

    @property
    def prompt(self) -> int:
        return sum(getattr(self, lane) for lane in _INPUT)

    @property
    def completion(self) -> int:
        return sum(getattr(self, lane) for lane in _OUTPUT)

    @property
    def tokens(self) -> int:
        """All tokens: the inclusive total."""
        return self.prompt + self.completion

    @property
    def lanes(self) -> dict[str, int]:
        """Each lane's count, in the order of LANES."""
        return {lane: getattr(self, lane) for lane in LANES}
