"""The lanes of chats, folded into those that hosts price and machines carry.

Pictures and sounds that go in are computed as input is; thoughts, and what else comes out, as output is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, get_args

from gateway.db.tables import MEASURES
from gateway.economics.scenario import Mix
from policies.budgets import MEASURING
from policies.pack import QUOTES

if TYPE_CHECKING:
    from gateway.db.rollups import Summed

Lane = Literal["fresh", "cached", "cache_write_5m", "cache_write_1h", "output"]
LANES: tuple[Lane, ...] = get_args(Lane)

FOLDED: Mapping[str, Lane] = {
    "fresh": "fresh",
    "cached": "cached",
    "cache_write_5m": "cache_write_5m",
    "cache_write_1h": "cache_write_1h",
    "image_input": "fresh",
    "audio_input": "fresh",
    "output": "output",
    "reasoning": "output",
    "image_output": "output",
    "audio_output": "output",
}
"""Each lane of the ledger that a chat fills, and where it belongs."""
OTHERS = ("embedding", "rerank")
"""Lanes of tokens that are no chat's; `searches` are no tokens."""
NOBODY_S = {"model": QUOTES, "tag": MEASURING}
"""What is no work for a model that somebody wants: quotes of passages, and measuring."""

Measures = Mapping[str, int]
"""As the ledger sums them, by lane and more."""


def asked(groups: Iterable[Summed]) -> list[Summed]:
    """The groups that somebody wanted of a model; they name their model and tag."""
    return [group for group in groups if all(group.names[name] != value for name, value in NOBODY_S.items())]


def summed(groups: Iterable[Summed]) -> dict[str, int]:
    """All measures of the groups together."""
    total = dict.fromkeys(MEASURES, 0)
    for group in groups:
        for name, amount in group.measures.items():
            total[name] += amount
    return total


def tokens(measures: Measures) -> int:
    """All of a chat's."""
    return sum(measures[lane] for lane in FOLDED)


def folded(measures: Measures) -> dict[Lane, int]:
    """Tokens by lane."""
    counts = dict.fromkeys(LANES, 0)
    for lane, into in FOLDED.items():
        counts[into] += measures[lane]
    return counts


def mix(measures: Measures) -> Mix | None:
    """Which part lies in which lane; None for nothing."""
    whole = tokens(measures)
    return Mix(**{lane: Fraction(count, whole) for lane, count in folded(measures).items()}) if whole else None
