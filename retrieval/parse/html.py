"""HTML: what a reader of the page would see, by its headings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml import etree, html

from retrieval.parse.blocks import Block, Outline, Parsed, ParseError
from retrieval.parse.text import clean, decode

if TYPE_CHECKING:
    from collections.abc import Iterator

_SKIPPED = {"script", "style", "template", "noscript", "head", "nav", "iframe", "object", "svg", "form"}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "div", "dl", "dt", "figure"),
    *("figcaption", "footer", "header", "hr", "html", "li", "main", "ol", "p", "pre", "section", "summary", "table"),
    *("tbody", "tfoot", "thead", "tr", "ul", "br", *_HEADINGS),
}
_CELLS = {"td", "th"}
_SPACE = re.compile(r"\s+")
_CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([A-Za-z0-9_-]+)", re.IGNORECASE)

# `huge_tree`: text below the 256th level (now the 2048th) is lost in silence; the child's memory is limited instead.
_PARSER = html.HTMLParser(remove_comments=True, no_network=True, huge_tree=True)


def parse(content: bytes) -> Parsed:
    """The page's text, a block for each element that stands on its own line."""
    tree = _tree(content)
    outline, blocks = Outline(), []
    title = _said(tree.findtext(".//title") or "") or None
    for element, text in _pieces(tree):
        level = _HEADINGS.get(str(element.tag))
        if level:
            outline.enter(level, text)
            title = title or text
        else:
            blocks.append(Block(text, outline.path, line=element.sourceline))
    return Parsed(title, tuple(blocks))


def _tree(content: bytes) -> html.HtmlElement:
    try:
        return html.document_fromstring(_decoded(content), parser=_PARSER)
    except etree.LxmlError:
        raise ParseError("corrupt", "no HTML could be read from it") from None


def _decoded(content: bytes) -> str:
    declared = _CHARSET.search(content[:2048])
    if declared:
        try:
            return clean(content.decode(declared[1].decode("ascii")))
        except (LookupError, UnicodeDecodeError):
            return decode(content)
    return decode(content)


def _pieces(root: html.HtmlElement) -> Iterator[tuple[html.HtmlElement, str]]:
    """Runs of text with the block element that holds them, walked without recursion: pages may nest without end."""
    owner, run = root, list[str]()
    walk: list[tuple[str, html.HtmlElement, html.HtmlElement]] = [("in", root, root)]
    while walk:
        step, element, block = walk.pop()
        breaks = step != "text" and element.tag in _BLOCKS
        if (breaks or block is not owner) and (text := _said("".join(run))):
            yield owner, text
        if breaks or block is not owner:
            owner, run = block, []
        if step == "in":
            run.append(_opening(element))
            walk.extend(_children(element, block))
        elif step == "out":
            run.append(element.tail or "")
    if text := _said("".join(run)):
        yield owner, text


def _opening(element: html.HtmlElement) -> str:
    mark = " | " if element.tag in _CELLS and element.getprevious() is not None else ""
    return mark + (element.text or "")


def _children(
    element: html.HtmlElement, block: html.HtmlElement
) -> list[tuple[str, html.HtmlElement, html.HtmlElement]]:
    steps = []
    for child in element:
        visible = isinstance(child.tag, str) and child.tag not in _SKIPPED and "hidden" not in child.attrib
        if visible:
            steps.append(("in", child, child if child.tag in _BLOCKS else block))
        steps.append(("out", child, block))
    return steps[::-1]


def _said(text: str) -> str:
    return _SPACE.sub(" ", text).strip(" |")
