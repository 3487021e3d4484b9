"""Bytes that a model takes beside its weights: what its layers keep for each token and for each request.

Layers differ: attention with one latent for all heads (MLA) keeps the same on every rank, attention with grouped heads
is divided among ranks until each has one head, sliding windows stop growing, and linear attention (KDA) keeps a state
of fixed size for each request. One formula over all layers and heads would be wrong by two orders of magnitude.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

ANY_LENGTH = 2**62
"""What `most_tokens` says where tokens take nothing: only the model's own limit counts."""

_CONVOLUTION_BYTES = 2
"""Of one value: engines keep the short convolution of linear attention in BF16, whatever the state is in."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What layers keep, in bytes."""

    per_token: int
    """For each token of context, of all layers, on one rank where nothing is divided."""
    divided_per_token: int = 0
    """Of it, what tensor parallelism divides among the ranks (heads); the rest is repeated on each."""
    per_request: int = 0
    """States of fixed size, of all layers; divided among ranks."""
    windowed: tuple[tuple[int, int], ...] = ()
    """Bytes a token of layers with a sliding window, and how many tokens it keeps; not in `per_token`.

    They are divided as `divided_per_token` is.
    """
    kv_heads: int | None = None
    """Of divided layers: ranks beyond them hold one head each, repeated; None: as many as there are ranks."""

    def __post_init__(self) -> None:
        if not 0 <= self.divided_per_token <= self.per_token:
            raise ValueError("what is divided is a part of what a token takes")
        if self.per_request < 0 or any(size < 0 or tokens < 0 for size, tokens in self.windowed):
            raise ValueError("layers keep no less than nothing")
        if self.kv_heads is not None and self.kv_heads < 1:
            raise ValueError("divided layers have at least one key-value head")


@dataclass(frozen=True, slots=True)
class Division:
    """How a replica divides its work."""

    tensor: int = 1
    context: int = 1
    """Ranks that share the tokens of MLA layers (DCP)."""
    pipeline: int = 1
    """Stages, each with its part of the layers, as if they could be divided evenly."""
    state_slots: int = 5
    """State slots that an engine keeps for one request: SGLang five, with drafts eight more."""

    def __post_init__(self) -> None:
        if min(self.tensor, self.context, self.pipeline) < 1:
            raise ValueError("a division has at least one rank of each kind")
        if self.state_slots < 0:
            raise ValueError("state slots are not below 0")


def attention_bytes(layers: int, values_per_token: int, value_bytes: Fraction | int) -> int:
    """Of one token in so many layers alike: `values_per_token` is rank + rope, or 2 · key-value heads · head size."""
    return ceil(layers * values_per_token * value_bytes)


def recurrent_bytes(layers: int, state_values: int, convolution_values: int, value_bytes: Fraction | int) -> int:
    """Of one request's state in so many layers alike, with the short convolution before it."""
    return ceil(layers * (state_values * value_bytes + convolution_values * _CONVOLUTION_BYTES))


def cache_bytes(kept: Kept, tokens: int, division: Division) -> Fraction:
    """Of one request with so many tokens, on one rank."""
    windows = sum(size * min(tokens, most) for size, most in kept.windowed)
    return tokens * _per_token(kept, division) + windows * _heads_share(kept, division)


def state_bytes(kept: Kept, division: Division) -> Fraction:
    """Of one request, on one rank, in all slots that the engine keeps for it."""
    return Fraction(kept.per_request * division.state_slots, division.tensor * division.pipeline)


def most_requests(free_bytes: int, kept: Kept, tokens: int, division: Division) -> int:
    """How many requests of that length one rank's free bytes hold at once."""
    each = cache_bytes(kept, tokens, division) + state_bytes(kept, division)
    if not each:
        raise ValueError("a request that keeps nothing has no bound: state what the layers keep")
    return max(floor(free_bytes / each), 0)


def most_tokens(free_bytes: int, kept: Kept, requests: int, division: Division) -> int:
    """How long so many requests at once may be, before the model's own limit."""
    if requests < 1:
        raise ValueError("there is at least one request")
    left = Fraction(free_bytes, requests) - state_bytes(kept, division)
    if left <= 0:
        return 0
    share = _heads_share(kept, division)
    begun, growing = 0, _per_token(kept, division) + share * sum(size for size, _ in kept.windowed)
    for size, full in sorted(kept.windowed, key=lambda window: window[1]):
        if (full - begun) * growing > left:
            break
        left -= (full - begun) * growing
        begun, growing = full, growing - share * size
    return begun + floor(left / growing) if growing else ANY_LENGTH


def _per_token(kept: Kept, division: Division) -> Fraction:
    """What each further token takes on one rank, beside sliding windows."""
    repeated = Fraction(kept.per_token - kept.divided_per_token, division.context * division.pipeline)
    return repeated + kept.divided_per_token * _heads_share(kept, division)


def _heads_share(kept: Kept, division: Division) -> Fraction:
    """Of layers with heads, what lies on one rank: whole heads, of which each rank has at least one."""
    heads = kept.kv_heads or division.tensor
    return Fraction(ceil(Fraction(heads, division.tensor)), heads * division.pipeline)
