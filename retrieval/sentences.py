"""Cuts a passage into its sentences, and tells those that may be quoted from titles."""

from __future__ import annotations

import re

# A line this much shorter than the longest ends its paragraph; a longer one was wrapped and goes on below.
_FULL_LINE = 0.7
_SHORTEST_WRAP = 60
_ITEM = re.compile(r"\s*(?:[-*•]|\d{1,3}[.)])\s")
_ROW = "|"
_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-ZÀ-Þ0-9])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:sr|sra|srs|dr|dra|drs|prof|profa|art|arts|inc|n|nº|no|av|r|pág|págs|fls|tel|ex|obs|etc|mr|mrs|ms|st|vs|"
    r"ltda|cia|vol|cap|al|apto?|jr)|\b[A-ZÀ-Þ])\.\s*$",
    re.IGNORECASE,
)
_CLOSED = re.compile(r"[.!?…;][\"'”’)\]]*$")


def split(text: str) -> list[str]:
    """The sentences in order, each on one line, otherwise verbatim."""
    return [sentence for paragraph in _paragraphs(text) for sentence in _sentences(paragraph)]


def names(text: str) -> bool:
    """True for a line that names a thing and says nothing of it: a title, a table's header row.

    It ends as no sentence does, holds neither figure nor colon, and is no item of a list. Lines like "Owner: Ana" do
    say something.
    """
    return not (_CLOSED.search(text) or _ITEM.match(text) or ":" in text or any(map(str.isdigit, text)))


def _paragraphs(text: str) -> list[str]:
    lines = [line.strip() for line in text.split("\n")]
    longest = max(map(len, lines))
    paragraphs: list[str] = []
    goes_on = False
    for line in lines:
        if goes_on and line and not line.startswith(_ROW) and not _ITEM.match(line):
            paragraphs[-1] += " " + line
        elif line:
            paragraphs.append(line)
        goes_on = longest >= _SHORTEST_WRAP and len(line) >= _FULL_LINE * longest
    return paragraphs


def _sentences(paragraph: str) -> list[str]:
    found: list[str] = []
    for part in _END.split(paragraph):
        if found and _ABBREVIATION.search(found[-1]):
            found[-1] += " " + part
        else:
            found.append(part)
    return [sentence.strip() for sentence in found if any(char.isalnum() for char in sentence)]
