"""The typed blocks that messages consist of, as parts of a chat message."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateway.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

Part = dict[str, Any]

_PICTURE = re.compile(r"image/[a-z0-9.+-]+")
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True)
class Block:
    """A typed object of a request and where it stands: `messages[2].content[0]`."""

    place: str
    fields: Mapping[str, Any]
    reminder: bool = False
    """True if it was a system message in the middle of a conversation."""

    @property
    def kind(self) -> str:
        return str(self.fields["type"])

    @property
    def named(self) -> str:
        """How a client is told of it; a type that does not look like one is not repeated."""
        return f"{self.place}: {self.kind!r}" if _WORD.fullmatch(self.kind) else f"{self.place}: an unknown type"

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise BadRequest(f"{self.place}.{name} must be a string", param=f"{self.place}.{name}")
        return value

    def optional_text(self, name: str) -> str:
        return "" if self.fields.get(name) is None else self.text(name)

    def inner(self, name: str) -> Block:
        """The typed object that a field holds."""
        return block_of(self.fields.get(name), f"{self.place}.{name}")


def block_of(value: object, place: str) -> Block:
    """A typed object; BadRequest if it is none."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise BadRequest(f"{place} must be an object with a 'type'", param=place)
    return Block(place, value)


def blocks_of(content: object, place: str) -> list[Block]:
    """The blocks of a `content`; a string is one block of text."""
    if isinstance(content, str):
        return [Block(place, {"type": "text", "text": content})]
    if not isinstance(content, list):
        raise BadRequest(f"{place} must be a string or an array of blocks", param=place)
    return [block_of(block, f"{place}[{index}]") for index, block in enumerate(content)]


def parts_of(block: Block, gaps: list[str]) -> list[Part]:
    """A block as parts of a chat message; what has no counterpart there is named in `gaps`.

    `cache_control` is left out: chat upstreams cache prefixes by themselves.
    """
    match block.kind:
        case "text":
            return [text_part(text)] if (text := block.text("text")) else []
        case "image":
            return _picture(block, gaps)
        case "document":
            return _document(block, gaps)
        case "search_result":
            return _search_result(block, gaps)
    gaps.append(block.named)
    return []


def text_part(text: str) -> Part:
    return {"type": "text", "text": text}


def _picture(block: Block, gaps: list[str]) -> list[Part]:
    source = block.inner("source")
    if block.fields.get("transformations"):
        gaps.append(f"{block.place}.transformations")
    if source.kind == "url":
        return [{"type": "image_url", "image_url": {"url": source.text("url")}}]
    if source.kind != "base64":
        gaps.append(source.named)
        return []
    media = source.text("media_type")
    if not _PICTURE.fullmatch(media):
        raise BadRequest(f"{source.place}.media_type must name a picture", param=f"{source.place}.media_type")
    return [{"type": "image_url", "image_url": {"url": f"data:{media};base64,{source.text('data')}"}}]


def _document(block: Block, gaps: list[str]) -> list[Part]:
    """Text is said as text, its title before it. A PDF would have to be read, which is the deployment's business."""
    _note_citations(block, gaps)
    source = block.inner("source")
    head = [text for name in ("title", "context") if (text := block.optional_text(name))]
    parts = [text_part("\n".join(head))] if head else []
    if source.kind == "text":
        return [*parts, text_part(source.text("data"))]
    if source.kind == "content":
        inner = blocks_of(source.fields.get("content"), f"{source.place}.content")
        return [*parts, *(part for child in inner for part in parts_of(child, gaps))]
    gaps.append(source.named)
    return parts


def _search_result(block: Block, gaps: list[str]) -> list[Part]:
    _note_citations(block, gaps)
    inner = blocks_of(block.fields.get("content"), f"{block.place}.content")
    return [text_part("\n".join([block.text("title"), block.text("source"), *(child.text("text") for child in inner)]))]


def _note_citations(block: Block, gaps: list[str]) -> None:
    citations = block.fields.get("citations")
    if isinstance(citations, dict) and citations.get("enabled"):
        gaps.append(f"{block.place}.citations")
