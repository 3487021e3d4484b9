"""Markdown: blocks by its own structure, with the lines they stand on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from retrieval.parse.blocks import Block, Outline, Parsed
from retrieval.parse.text import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

_MARKDOWN = MarkdownIt("commonmark", {"maxNesting": 40}).enable("table")


def parse(content: bytes) -> Parsed:
    """Paragraphs as they read, lists and tables as they are written."""
    text = decode(content)
    lines = text.split("\n")
    outline, blocks = Outline(), list[Block]()
    title: str | None = None
    for token, inline in _top_level(_MARKDOWN.parse(text)):
        if token.type == "heading_open":
            heading = _plain(inline)
            outline.enter(int(token.tag[1:]), heading)
            title = title or heading
        elif written := _written(token, inline, lines):
            blocks.append(Block(written, outline.path, line=_line(token)))
    return Parsed(title, tuple(blocks) or outline.alone())


def _top_level(tokens: list[Token]) -> Iterator[tuple[Token, Token | None]]:
    for index, token in enumerate(tokens):
        if token.level == 0 and token.nesting >= 0 and token.map:
            following = tokens[index + 1] if index + 1 < len(tokens) else None
            yield token, following if following is not None and following.type == "inline" else None


def _written(token: Token, inline: Token | None, lines: list[str]) -> str:
    if token.type == "paragraph_open":
        return _plain(inline)
    if token.type in {"fence", "code_block", "html_block"}:
        return token.content.strip("\n")
    if token.type == "hr" or token.map is None:
        return ""
    rows = lines[token.map[0] : token.map[1]]
    if token.type == "table_open":
        del rows[1:2]  # the rule under the header says nothing
    return "\n".join(row.rstrip() for row in rows if row.strip())


def _plain(inline: Token | None) -> str:
    pieces = {"softbreak": "\n", "hardbreak": "\n"}
    children = inline.children or [] if inline else []
    return "".join(pieces.get(child.type, child.content) for child in children).strip()


def _line(token: Token) -> int | None:
    return token.map[0] + 1 if token.map else None
