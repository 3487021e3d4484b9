"""Text as detectors read it: compatibility forms folded, digits of all scripts as ASCII, invisible characters gone."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import category, decimal, normalize

_LOOKALIKES = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'),
}
# Seen by nobody without being format characters (category Cf).
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text that knows where its characters came from."""

    text: str
    _starts: tuple[int, ...]
    """Folded positions from which on the distance to the original changes."""
    _shifts: tuple[int, ...]
    """Original position less folded position, from each start on."""

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original that a span of the folded text stands for."""
        return self._position(start), self._position(end - 1) + 1

    def _position(self, folded: int) -> int:
        if not self._starts:
            return folded
        return folded + self._shifts[bisect_right(self._starts, folded) - 1]


def fold(text: str) -> Folded:
    """Fold a text; ASCII and what folds to itself is left as it is."""
    if text.isascii():
        return Folded(text, (), ())
    changed = {ord(character): new for character in set(text) if (new := _folded(character)) != character}
    if not changed:
        return Folded(text, (), ())
    resized = "".join(chr(code) for code, new in changed.items() if len(new) != 1)
    return Folded(text.translate(changed), *_shifts(text, resized))


def _shifts(text: str, resized: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where the distance between folded and original positions changes, and what it is from there on."""
    starts, shifts, shift = [0], [0], 0
    for match in re.finditer(f"[{re.escape(resized)}]", text) if resized else ():
        width = len(_folded(match.group()))
        position = match.start() - shift
        # All characters that one became stand for that one; what follows them is shifted.
        for inner in range(1, width):
            starts.append(position + inner)
            shifts.append(shift - inner)
        shift += 1 - width
        starts.append(position + width)
        shifts.append(shift)
    return tuple(starts), tuple(shifts)


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    if character < "\x80":
        return character
    if character in _LOOKALIKES:
        return _LOOKALIKES[character]
    if character in _INVISIBLE or _hides(character):
        return ""
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    return "".join(_digit(part) for part in normalize("NFKC", character))


def _hides(character: str) -> bool:
    """Format characters and variation selectors are not seen, and split what is."""
    return category(character) == "Cf" or "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _digit(character: str) -> str:
    return str(decimal(character)) if category(character) == "Nd" else character
