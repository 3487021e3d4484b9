"""One pass over a text: a set of patterns says which kinds may be there, then only those are looked for."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import re2

from policies.detectors.folding import fold
from policies.detectors.kinds import KINDS, Candidate, Kind, Score
from policies.labels import Label, join

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from policies.detectors.folding import Folded

_K = TypeVar("_K")

# Candidates that are looked at before a text counts as flooded; each costs some microseconds.
MAX_CANDIDATES = 20_000


@dataclass(frozen=True, slots=True)
class Finding:
    """What stands at text[start:end]."""

    kind: str
    start: int
    end: int
    score: Score


@dataclass(frozen=True, slots=True)
class Findings:
    """All that was found, in the order of the text."""

    hits: tuple[Finding, ...] = ()
    """Where they overlap, the surer one alone."""
    kinds: frozenset[str] = frozenset()
    """The kinds that count: found with a medium or high score, overlapped or not, or suspected beyond what was read."""
    truncated: bool = False
    """There is more than was looked at."""
    suspected: frozenset[str] = frozenset()
    """If truncated: the kinds that the rest may hold."""


def find(text: str, *, limit: int = 200) -> Findings:
    """Find identifiers and keys; positions are those of the given text, whatever was folded before looking."""
    folded = fold(text)
    search = _Search(folded.text, limit)
    for kind in suspected_kinds(_pattern_set(), KINDS, search.data):
        search.look_for(kind)
    # A key inside an address is both: it counts as either, and is shown as one.
    kinds = search.unfinished | {hit.kind for hit in search.hits if hit.score != "low"}
    hits = tuple(_in_original(hit, folded) for hit in _without_overlaps(search.hits))
    return Findings(hits, kinds, bool(search.unfinished), search.unfinished)


def raised(findings: Findings, detectors: Mapping[str, Label]) -> Label:
    """The label that findings of medium and high score raise a text to; kinds that are not listed raise nothing."""
    return join(detectors[kind] for kind in findings.kinds if kind in detectors)


class _Search:
    """What was found so far, and how much may still be looked at."""

    def __init__(self, text: str, limit: int) -> None:
        self.hits: list[Finding] = []
        self.unfinished: frozenset[str] = frozenset()
        self.data = text.encode()
        self._text = text
        self._hits_left = limit
        self._candidates_left = MAX_CANDIDATES

    def look_for(self, kind: Kind) -> None:
        """Judge all candidates of a kind; after one that was none, the next may begin within it."""
        pattern = _compiled(kind.pattern)
        characters = _Characters(self.data, ascii_only=len(self.data) == len(self._text))
        position = 0
        while (match := pattern.search(self.data, position)) is not None:
            if self._hits_left <= 0 or self._candidates_left <= 0:
                self.unfinished |= {kind.name}
                return
            start, end = match.span(match.lastindex)
            found = self._judged(kind, characters.position(start), characters.position(end))
            position = end if found else start + 1

    def _judged(self, kind: Kind, start: int, end: int) -> bool:
        self._candidates_left -= 1
        score = kind.judge(Candidate(self._text, start, end))
        if score is None:
            return False
        self.hits.append(Finding(kind.name, start, end, score))
        self._hits_left -= score != "low"
        return True


class _Characters:
    """Counts the characters before a byte; positions are asked for in nearly rising order."""

    def __init__(self, data: bytes, *, ascii_only: bool) -> None:
        self._data = data
        self._ascii_only = ascii_only
        self._byte = 0
        self._character = 0

    def position(self, byte: int) -> int:
        if self._ascii_only:
            return byte
        if byte >= self._byte:
            self._character += _count(self._data[self._byte : byte])
        else:
            self._character -= _count(self._data[byte : self._byte])
        self._byte = byte
        return self._character


def _count(data: bytes) -> int:
    """Characters in UTF-8 that was cut between characters."""
    return len(data.decode())


def suspected_kinds(patterns: re2.Set, kinds: Sequence[_K], data: bytes) -> list[_K]:
    """The kinds that may be in the text, all of them if the set cannot tell.

    A set that runs out of memory matches nothing at all, so its last pattern is one that always matches.
    """
    matched = frozenset(patterns.Match(data))
    if len(kinds) not in matched:
        return list(kinds)
    return [kind for index, kind in enumerate(kinds) if index in matched]


@cache
def _pattern_set() -> re2.Set:
    patterns = re2.Set.SearchSet(_options())
    for kind in KINDS:
        patterns.Add(kind.pattern)
    patterns.Add("")  # the witness of `suspected_kinds`
    patterns.Compile()
    return patterns


@cache
def _compiled(pattern: str) -> re2._Regexp:
    return re2.compile(pattern, _options())


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    return options


_MEMORY = 16 << 20


def _without_overlaps(hits: list[Finding]) -> list[Finding]:
    """Of findings that overlap, keep the surer, then the longer, then the one whose kind comes first."""
    kept: list[Finding] = []
    for hit in sorted(hits, key=lambda hit: (_RANK[hit.score], hit.start - hit.end)):
        place = bisect(kept, hit.start, key=_start)
        after_the_last = place == 0 or kept[place - 1].end <= hit.start
        before_the_next = place == len(kept) or hit.end <= kept[place].start
        if after_the_last and before_the_next:
            kept.insert(place, hit)
    return kept


def _start(hit: Finding) -> int:
    return hit.start


_RANK = {"high": 0, "medium": 1, "low": 2}


def _in_original(hit: Finding, folded: Folded) -> Finding:
    start, end = folded.original(hit.start, hit.end)
    return Finding(hit.kind, start, end, hit.score)
