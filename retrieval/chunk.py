"""Cuts a parsed file into passages of about 400 tokens that end where its structure ends."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from retrieval.client import Anchor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from retrieval.parse.blocks import Block, Parsed

# e5 reads 512 tokens: its prefix, the context and the passage share them.
MOST_TOKENS = 400
_MOST_CONTEXT = 200
_PARTS = (re.compile(r"(?<=\n)"), re.compile(r"(?<=[.!?…;])\s+"), re.compile(r"(?<=\s)"))


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage; `context` names what it stands under, is embedded and indexed with it, and is not shown."""

    text: str
    context: str
    anchor: Anchor

    @property
    def indexed(self) -> str:
        return f"{self.context}\n{self.text}" if self.context else self.text


def split(parsed: Parsed, count: Callable[[str], int]) -> list[Piece]:
    """The file's passages in order; none reaches over a heading or a page. `count` counts a text's tokens."""
    pieces = []
    for (headings, page), blocks in groupby(parsed.blocks, key=lambda block: (block.headings, block.page)):
        context = _context(parsed.title, headings)
        heading = headings[-1] if headings else None
        for text, line in _pack(blocks, count):
            pieces.append(Piece(text, context, Anchor(page, line, heading)))
    return pieces


def _context(title: str | None, headings: tuple[str, ...]) -> str:
    names = list(headings)
    if title and not any(title in name for name in names):
        names.insert(0, title)
    return " > ".join(names)[:_MOST_CONTEXT]


def _pack(blocks: Iterable[Block], count: Callable[[str], int]) -> Iterator[tuple[str, int | None]]:
    """Texts filled with whole blocks as far as they go, each with the line it begins on."""
    held: list[Block] = []
    tokens = 0
    for block in (part for whole in blocks for part in _parts(whole, count)):
        size = count(block.text)
        if held and tokens + size > MOST_TOKENS:
            yield _joined(held)
            held, tokens = [], 0
        held.append(block)
        tokens += size
    if held:
        yield _joined(held)


def _joined(blocks: list[Block]) -> tuple[str, int | None]:
    return "\n\n".join(block.text for block in blocks), blocks[0].line


def _parts(block: Block, count: Callable[[str], int], depth: int = 0) -> Iterator[Block]:
    """The block, cut at its lines, else its sentences, else its words, if it is too long for one passage."""
    if count(block.text) <= MOST_TOKENS:
        yield block
        return
    if depth == len(_PARTS):
        yield from _slices(block)
        return
    line = block.line
    for text in _runs(_PARTS[depth].split(block.text), count):
        yield from _parts(replace(block, text=text.strip("\n"), line=line), count, depth + 1)
        line = None if line is None else line + text.count("\n")


def _runs(parts: list[str], count: Callable[[str], int]) -> Iterator[str]:
    """Neighbouring parts joined again while they fit."""
    held, tokens = "", 0
    for part in parts:
        size = count(part)
        if held and tokens + size > MOST_TOKENS:
            yield held
            held, tokens = "", 0
        held += part if not held or held[-1].isspace() else " " + part
        tokens += size
    if held.strip():
        yield held


def _slices(block: Block) -> Iterator[Block]:
    """A text without a single space, cut by length: a token is at least one character."""
    for start in range(0, len(block.text), MOST_TOKENS):
        yield replace(block, text=block.text[start : start + MOST_TOKENS])
