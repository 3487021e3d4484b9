"""Picks the sentences of passages that answer a question best, for answers that only quote."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from policies.language import detect
from retrieval import sentences
from retrieval.background import dot
from retrieval.client import Sentence
from retrieval.fusion import CLEAR_MARGIN
from retrieval.store.counting import COUNTERS, coverage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retrieval.client import Excerpt, SentencesRequest
    from retrieval.runtime import Runtime

FLOOR = 0.4
_NEAR_BEST = 0.7
"""A sentence this much weaker than the best one adds nothing to it."""
_MOST_CANDIDATES = 40
_FEWEST_WORDS = 3
_MEANING, _WORDS, _MEANING_ACROSS = 0.5, 0.5, 0.7
_FAR_BEHIND = 0.4
"""A passage this much weaker than the best one is not read."""
_PASSAGE = 0.8
"""How much of what its passage lacks to the best one a sentence lacks too."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    passage: int
    heading: str | None
    behind: float

    @property
    def read(self) -> str:
        """The sentence under its heading: alone, many a sentence does not say what it is about."""
        return f"{self.heading}: {self.text}" if self.heading else self.text


async def quote(runtime: Runtime, request: SentencesRequest) -> list[Sentence]:
    """The best sentences, verbatim, best first; none if none is near enough."""
    candidates = await asyncio.to_thread(_candidates, request.passages)
    if not candidates or not request.question.strip():
        return []
    question = await runtime.turns.question(request.question)
    vectors = await runtime.turns.sentences([candidate.read for candidate in candidates])
    unrelated = runtime.background.near(question)
    scored = [
        Sentence(
            candidate.text, candidate.passage, _score(request.question, candidate, dot(question, vector), unrelated)
        )
        for candidate, vector in zip(candidates, vectors, strict=True)
    ]
    return _best(scored, request.top)


def _candidates(passages: Sequence[Excerpt]) -> list[_Candidate]:
    """The sentences with their passages, each text once, from the first passages on."""
    best = max((passage.score for passage in passages), default=0.0)
    found: dict[str, _Candidate] = {}
    for index, passage in enumerate(passages):
        behind = best - passage.score
        for text in sentences.split(passage.text):
            if behind <= _FAR_BEHIND and len(text.split()) >= _FEWEST_WORDS:
                found.setdefault(text, _Candidate(text, index, passage.heading, behind))
    return list(found.values())[:_MOST_CANDIDATES]


def _score(question: str, candidate: _Candidate, cosine: float, unrelated: Mapping[str | None, float]) -> float:
    asked, written = detect(question), detect(candidate.read)
    meaning = (cosine - unrelated[written]) / CLEAR_MARGIN
    if asked is not None and written is not None and asked != written:
        score = _MEANING_ACROSS * meaning
    else:
        words = coverage(COUNTERS[asked or written or "pt"], question, candidate.read)
        score = _MEANING * meaning + _WORDS * words
    return round(score - _PASSAGE * candidate.behind, 4)


def _best(scored: list[Sentence], top: int) -> list[Sentence]:
    ranked = sorted(scored, key=lambda sentence: -sentence.score)
    least = max(FLOOR, ranked[0].score * _NEAR_BEST)
    return [sentence for sentence in ranked if sentence.score >= least][:top]
