"""Fuses what meaning and words found into one order with scores that mean the same for every question.

Ranks alone (RRF) let the best of bad hits count as much as the best of good ones: a Portuguese passage that shares one
word with the question beats the English one that answers it. Here each leg's own score counts. Measured as nDCG@10 with
the floor against RRF with weights by language: FaQuAD .931 (.907), SQuAD-pt sample .840 (.836), XQuAD-en .983 (.978),
across languages .756 (.516). What the floor costs, and how to measure it again, is in docs/decisions/0006.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retrieval.store import Legs, Words

CLEAR_MARGIN = 0.12
"""By how much an answering passage's cosine exceeds that of unrelated text, as a rule."""
FLOOR = 0.36
"""Below it the best hit is no nearer than those of questions about something else: 16 of the 20 unrelated sample
questions stay under it, and 98 of 100 questions that have an answer do not."""

_MEANING, _WORDS = 0.5, 0.5
# Across languages words only meet in names and numbers.
_MEANING_ACROSS, _WORDS_ACROSS = 0.8, 0.2


def fuse(legs: Legs, asked: str | None, unrelated: Mapping[str | None, float]) -> list[tuple[str, float]]:
    """Chunks with their scores, best first; nothing, if nothing reaches the floor."""
    ranked = rank(legs, asked, unrelated)
    return ranked if ranked and ranked[0][1] >= FLOOR else []


def rank(legs: Legs, asked: str | None, unrelated: Mapping[str | None, float]) -> list[tuple[str, float]]:
    """Chunks with their scores, best first; `unrelated` is the question's cosine to unrelated text by language.

    1 is a passage that is clearly about the question and has all of its words.
    """
    scores: dict[str, float] = {}
    for hit in legs.dense:
        weight = _MEANING if _same(asked, hit.language) else _MEANING_ACROSS
        scores[hit.chunk] = weight * (hit.score - unrelated[hit.language]) / CLEAR_MARGIN
    for chunk, earned in _by_words(legs, asked).items():
        scores[chunk] = scores.get(chunk, 0.0) + earned
    return sorted(scores.items(), key=lambda item: -item[1])


def _by_words(legs: Legs, asked: str | None) -> dict[str, float]:
    """What a passage's words earn, counted in the question's language, or in both where that is unknown."""
    counted = {"pt": [legs.portuguese], "en": [legs.english]}.get(asked or "", [legs.portuguese, legs.english])
    earned: dict[str, float] = {}
    for words in counted:
        for hit in words.hits:
            weight = _WORDS if _same(asked, hit.language) else _WORDS_ACROSS
            share = weight * words.coverage * hit.score / _best(words)
            earned[hit.chunk] = max(share, earned.get(hit.chunk, 0.0))
    return earned


def _best(words: Words) -> float:
    return words.hits[0].score or 1.0


def _same(asked: str | None, written: str | None) -> bool:
    return asked is None or written is None or asked == written
