"""PDF: the text layer, page by page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pypdfium2

from retrieval.parse.blocks import Block, Parsed, ParseError
from retrieval.parse.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

_PASSWORD_NEEDED = 4  # FPDF_ERR_PASSWORD
# PDFium writes U+FFFE, or STX in older files, where a word is cut at the end of a line.
_CUT_WORD = re.compile("[\ufffe\x02]\\s*|(?<=[a-zà-ÿ])-\r?\n(?=[a-zà-ÿ])")
_PARAGRAPH = re.compile(r"\n[ \t]*\n+")


def parse(content: bytes) -> Parsed:
    """Each page's paragraphs; a document of pictures alone has no text to take in."""
    document = _open(content)
    blocks = tuple(block for index in range(len(document)) for block in _page(document, index))
    if not blocks:
        raise ParseError("no_text", "the PDF holds pictures only; text recognition is not built in yet")
    title = clean(document.get_metadata_value("Title")).strip()
    return Parsed(title or None, blocks)


def _open(content: bytes) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD_NEEDED:
            raise ParseError("encrypted", "the PDF asks for a password; save a copy without one") from None
        raise ParseError("corrupt", "the PDF is damaged and cannot be opened") from None


def _page(document: pypdfium2.PdfDocument, index: int) -> Iterator[Block]:
    try:
        text = document[index].get_textpage().get_text_bounded()
    except pypdfium2.PdfiumError:
        raise ParseError("corrupt", f"page {index + 1} of the PDF cannot be read") from None
    for paragraph in _PARAGRAPH.split(clean(_CUT_WORD.sub("", text))):
        if paragraph.strip():
            yield Block(paragraph.strip(), page=index + 1)
