"""Fingerprints of a text: keyed digests by which its words are known again, whatever a front-end did to their form.

Words are compared without case, punctuation, markup and citation numbers. A text has the fingerprints of each of its
sentences, of the whole, and of runs of eight words chosen by winnowing (Schleimer, Wilkerson, Aiken: Winnowing, SIGMOD
2003): two texts that share eleven words in a row share at least one.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_RUN = 8
_WINDOW = 4
_SHORTEST_SENTENCE = 5
"""Shorter ones are said everywhere."""
_DIGEST_BYTES = 12
_WORD = re.compile(r"[^\W_]+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_SENTENCE_END = re.compile(r"(?:[.!?…:;]+(?=\s|$)|\n)")
_CITATION_DIGITS = 3


def words_of(text: str) -> list[str]:
    """The words of a text; numbers of up to three digits are left out, since citations come and go."""
    plain = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
    return [word for word in _WORD.findall(plain) if len(word) > _CITATION_DIGITS or not word.isdecimal()]


class Fingerprints:
    """Makes fingerprints with one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, text: str) -> set[str]:
        """All fingerprints of a text."""
        words = words_of(text)
        return {self.whole(words), *self.parts(text, words)} if words else set()

    def whole(self, words: Sequence[str]) -> str:
        """The fingerprint of these very words."""
        return blake2b(" ".join(words).encode(), key=self._key, digest_size=_DIGEST_BYTES).hexdigest()

    def parts(self, text: str, words: Sequence[str]) -> set[str]:
        """The fingerprints of the sentences of a text and of the runs of its words."""
        sentences = (words_of(sentence) for sentence in _SENTENCE_END.split(text))
        long_enough = {self.whole(sentence) for sentence in sentences if len(sentence) >= _SHORTEST_SENTENCE}
        return long_enough | set(self._runs(words))

    def _runs(self, words: Sequence[str]) -> Iterator[str]:
        """The least digest of every window of neighbouring runs."""
        digests = [self.whole(words[start : start + _RUN]) for start in range(len(words) - _RUN + 1)]
        for start in range(max(len(digests) - _WINDOW + 1, min(len(digests), 1))):
            yield min(digests[start : start + _WINDOW])


def last_sentence_end(text: str, start: int) -> int:
    """Where the last sentence that is complete ends, `start` if none ends after it."""
    end = start
    for match in _SENTENCE_END.finditer(text, start):
        if match.end() < len(text):
            end = match.end()
    return end
