"""The words around a number that say what it is."""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import combining, normalize

BEFORE = 60
AFTER = 30
INTRODUCTION = 15


def near(text: str, start: int, end: int, words: str) -> bool:
    """True if one of the words (a pattern) stands shortly before the span or close behind it."""
    pattern = _pattern(words)
    return bool(
        pattern.search(_plain(text[max(0, start - BEFORE) : start])) or pattern.search(_plain(text[end : end + AFTER]))
    )


def just_before(text: str, start: int, words: str) -> bool:
    """True if one of the words introduces the span."""
    return _pattern(words).search(_plain(text[max(0, start - INTRODUCTION) : start])) is not None


@lru_cache(maxsize=64)
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z])(?:{words})(?![a-z])")


def _plain(text: str) -> str:
    """Lower case without accents."""
    return "".join(character for character in normalize("NFD", text.casefold()) if not combining(character))
