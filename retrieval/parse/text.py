"""Plain text: its decoding, its cleaning, and its paragraphs."""

from __future__ import annotations

import codecs
import re
import unicodedata

from retrieval.parse.blocks import Block, Outline, Parsed, ParseError

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_MAGICS = (b"%PDF-", b"PK\x03\x04", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"\x7fELF", b"\x1f\x8b", b"\xd0\xcf\x11\xe0")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe]")
_SAMPLE = 65536
_HEADING_LENGTH = 60


def parse(content: bytes) -> Parsed:
    """Paragraphs between empty lines; a short line that opens one, in capitals or alone, is its heading.

    A heading at the very top is the title.
    """
    outline, blocks = Outline(), list[Block]()
    title: str | None = None
    for line, paragraph in _paragraphs(decode(content)):
        heading, rest = _heading(paragraph)
        if heading:
            title = title if blocks else title or heading
            outline.enter(1 if heading == title else 2, heading)
        if rest:
            blocks.append(Block("\n".join(rest), outline.path, line=line + len(paragraph) - len(rest)))
    return Parsed(title, tuple(blocks) or outline.alone())


def decode(content: bytes) -> str:
    """The text of a file: by its byte order mark, else UTF-8, else Windows-1252; binary content is refused."""
    for bom, encoding in _BOMS:
        if content.startswith(bom):
            return clean(content.decode(encoding, "replace"))
    if content.startswith(_MAGICS) or b"\x00" in content[:_SAMPLE]:
        raise ParseError("binary", "this is no text file, whatever its name says")
    try:
        return clean(content.decode("utf-8"))
    except UnicodeDecodeError:
        return clean(_western(content))


def clean(text: str) -> str:
    """NFC, one kind of line end, nothing unprintable: NUL bytes and lone surrogates break what comes after."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x85", "\n")
    return unicodedata.normalize("NFC", _CONTROL.sub("", text))


def _western(content: bytes) -> str:
    text = content.decode("cp1252", "replace")
    odd = len(_CONTROL.findall(text)) + text.count("\ufffd")
    if odd > len(text) / 50:
        raise ParseError("binary", "this is no text file, whatever its name says")
    return text


def _paragraphs(text: str) -> list[tuple[int, list[str]]]:
    found: list[tuple[int, list[str]]] = []
    open_paragraph = False
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            open_paragraph = False
            continue
        if not open_paragraph:
            found.append((number, []))
            open_paragraph = True
        found[-1][1].append(line.rstrip())
    return found


def _heading(paragraph: list[str]) -> tuple[str | None, list[str]]:
    first = paragraph[0].strip()
    short = len(first) <= _HEADING_LENGTH and first[-1] not in ".,;:?!"
    if short and any(char.isalpha() for char in first) and (len(paragraph) == 1 or first.isupper()):
        return first, paragraph[1:]
    return None, paragraph
