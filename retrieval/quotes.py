"""Picks the sentences of passages that answer a question best, for answers that only quote.

The thresholds were chosen on the questions about the sample documents (`tests/retrieval/questions.py`: 25 within a
language, 9 across, 11 by name, 20 unrelated) by trying each value alone, so they are optimistic; what is said of each
is what the others did. `python -m benchmarks.retrieval` shows the outcome.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from policies.language import detect
from retrieval import sentences
from retrieval.background import dot
from retrieval.client import Sentence
from retrieval.fusion import CLEAR_MARGIN
from retrieval.store.bm25 import ENCODERS, coverage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from retrieval.client import Excerpt, SentencesRequest
    from retrieval.runtime import Runtime

FLOOR = 0.3
"""The highest that loses no answer: 0.35 loses one in each direction. Lower ones quote the same; what says "nothing
found" to unrelated questions is mostly the floor of the search."""
_MEANING, _WORDS = 0.5, 0.5
"""As in the search. 0.4 to 0.7 for meaning move one question up or down."""
_MEANING_ACROSS = 1.0
"""Across languages words do not meet, so meaning stands for both. With 0.7 four of nine are answered instead of seven;
above 1 English sentences take the place of Portuguese answers (20 of 25 instead of 22). The price: the answer comes
first for 19 of the 25 instead of 21."""
_NEAR_BEST = 0.7
"""A sentence this much weaker than the best one adds nothing to it. Up to 0.7 no answer is lost, from 0.8 on some."""
_FAR_BEHIND = 0.4
"""A passage this much weaker than the best one is not read. 0.2 to no bound at all quote the same: it saves time."""
_PASSAGE = 0.8
"""How much of what its passage lacks to the best one a sentence lacks too. From 0.8 on as many answers come first as
can be; without it 16 of 25 instead of 19."""
_OWN_LANGUAGE = 0.45
_FOREIGN = 0.6
"""Where a passage in the question's language scores `_OWN_LANGUAGE`, passages in others count this much of their score:
who asks in Portuguese what a Portuguese paper answers does not mean the English one. 0.4 to 0.5, with 0.6 to 0.8, let
the answer come first for 21 of the 25 instead of 19 and for 3 of 6 more instead of 1, and cost one of the nine."""
_MOST_CANDIDATES = 40
"""A bound on the time that reading takes: the sample questions have at most 27."""
_FEWEST_WORDS = 3
"""Less is a page number or the rest of a heading. 4 already loses names: "Landlord: Rosalind Whitcombe" has three."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    passage: int
    under: str
    behind: float

    @property
    def read(self) -> str:
        """The sentence under its headings: alone, many a sentence does not say what it is about."""
        return f"{self.under}: {self.text}" if self.under else self.text


async def quote(runtime: Runtime, request: SentencesRequest) -> list[Sentence]:
    """The best sentences, verbatim, best first; none if none is near enough."""
    return pick(await rank(runtime, request), request.top, FLOOR)


async def rank(runtime: Runtime, request: SentencesRequest) -> list[Sentence]:
    """The passages' sentences, each with its score, best first."""
    candidates = await asyncio.to_thread(_candidates, _preferred(request))
    if not candidates or not request.question.strip():
        return []
    question = await runtime.turns.question(request.question)
    vectors = await runtime.turns.sentences([candidate.read for candidate in candidates])
    unrelated = runtime.background.near(question)
    scored = [
        Sentence(one.text, one.passage, _score(request.question, one, dot(question, vector), unrelated))
        for one, vector in zip(candidates, vectors, strict=True)
    ]
    return sorted(scored, key=lambda sentence: -sentence.score)


def pick(ranked: Sequence[Sentence], top: int, floor: float) -> list[Sentence]:
    """The first `top` that reach the floor and are not far weaker than the best."""
    least = max(floor, ranked[0].score * _NEAR_BEST) if ranked else floor
    return [sentence for sentence in ranked if sentence.score >= least][:top]


def _preferred(request: SentencesRequest) -> list[Excerpt]:
    """The passages, those in another language than the question's weighed down where its own has something to say."""
    asked = detect(request.question)
    foreign = [asked is not None and detect(passage.text) not in (None, asked) for passage in request.passages]
    own = max((one.score for one, other in zip(request.passages, foreign, strict=True) if not other), default=0.0)
    if own < _OWN_LANGUAGE:
        return list(request.passages)
    return [
        replace(passage, score=passage.score * _FOREIGN) if other else passage
        for passage, other in zip(request.passages, foreign, strict=True)
    ]


def _candidates(passages: Sequence[Excerpt]) -> list[_Candidate]:
    """The sentences with their passages, each text once, from the first passages on."""
    best = max((passage.score for passage in passages), default=0.0)
    found: dict[str, _Candidate] = {}
    for index, passage in enumerate(passages):
        behind = best - passage.score
        for text, under in _said(passage):
            if behind <= _FAR_BEHIND and len(text.split()) >= _FEWEST_WORDS:
                found.setdefault(text, _Candidate(text, index, under, behind))
    return list(found.values())[:_MOST_CANDIDATES]


def _said(passage: Excerpt) -> Iterator[tuple[str, str]]:
    """The sentences with what they stand under: a line that only names is no answer, but tells what follows it."""
    named = None
    for text in sentences.split(passage.text):
        if sentences.names(text):
            named = text
        else:
            yield text, ": ".join(filter(None, (passage.heading, named)))


def _score(question: str, candidate: _Candidate, cosine: float, unrelated: Mapping[str | None, float]) -> float:
    asked, written = detect(question), detect(candidate.read)
    meaning = (cosine - unrelated[written]) / CLEAR_MARGIN
    if asked is not None and written is not None and asked != written:
        score = _MEANING_ACROSS * meaning
    else:
        words = coverage(ENCODERS[asked or written or "pt"], question, candidate.read)
        score = _MEANING * meaning + _WORDS * words
    return round(score - _PASSAGE * candidate.behind, 4)
