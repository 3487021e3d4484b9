"""Reads what a GGUF file says of itself, and whether all of it is there."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_ALIGNMENT = 32
_STRING, _ARRAY = 8, 9
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_FRACTIONS = frozenset({"<f", "<d"})
_LONGEST_TEXT = 200
"""Bytes of a text that are kept; templates and tokens are longer and of no use here."""

_BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 10: (256, 84),
    11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292), 16: (256, 66), 17: (256, 74),
    18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2),
    26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
}  # fmt: skip
"""By ggml's number of a kind of numbers: how many stand in one block, and its bytes. A kind that is too new for this
list is taken for a byte long: llama.cpp itself measures it when it loads the file."""

Value = int | str | None


class NotWholeError(ValueError):
    """The file is no GGUF, or not all of one; the message says which."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of the model in it."""

    architecture: str
    context: int | None
    """The tokens it was trained for."""
    parts: int = 1
    """The files that the model is divided into."""
    part: int = 0

    @property
    def is_projector(self) -> bool:
        """True if it only turns pictures or sound into what a model reads."""
        return self.architecture == "clip"


def read(path: Path) -> Header:
    """Read a file's header; NotWholeError if it is none or its end is missing, OSError if it cannot be read."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise NotWholeError("is no GGUF file")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            try:
                return _header(_Cursor(view, len(_MAGIC)))
            except (struct.error, OverflowError):
                raise NotWholeError("is cut short: its end is missing") from None


def _header(cursor: _Cursor) -> Header:
    version = cursor.number("<I")
    if version not in _VERSIONS:
        raise NotWholeError(f"is of the GGUF version {version}, of which llama.cpp reads 2 and 3 (little-endian)")
    tensors, pairs = cursor.number("<Q"), cursor.number("<Q")
    facts = {cursor.text(): cursor.value(cursor.number("<I")) for _ in range(pairs)}
    _check_end(cursor, tensors, _whole(facts, "general.alignment") or _ALIGNMENT)
    architecture = str(facts.get("general.architecture", ""))
    return Header(
        architecture,
        _whole(facts, f"{architecture}.context_length"),
        _whole(facts, "split.count") or 1,
        _whole(facts, "split.no") or 0,
    )


def _check_end(cursor: _Cursor, tensors: int, alignment: int) -> None:
    """The numbers begin behind the list of them, at a multiple of the alignment; the last one must be in the file."""
    end = max((cursor.tensor_end() for _ in range(tensors)), default=0)
    begin = -(-cursor.at // alignment) * alignment
    if begin + end > cursor.size:
        raise NotWholeError(f"is cut short: {begin + end - cursor.size} bytes are missing at its end")


def _whole(facts: Mapping[str, Value], key: str) -> int | None:
    value = facts.get(key)
    return value if isinstance(value, int) and value > 0 else None


class _Cursor:
    """A place in the file, moved on by what is read."""

    def __init__(self, view: mmap.mmap, at: int) -> None:
        self._view = view
        self.at = at
        self.size = len(view)

    def number(self, form: str) -> int:
        (number,) = struct.unpack_from(form, self._view, self.at)
        self.at += struct.calcsize(form)
        return int(number)

    def text(self) -> str:
        length = self.number("<Q")
        kept = self._view[self.at : self.at + min(length, _LONGEST_TEXT)]
        self._pass(length)
        return kept.decode("utf-8", errors="replace")

    def value(self, kind: int) -> Value:
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            self._pass_array()
            return None
        form = _form(kind)
        if form not in _FRACTIONS:
            return self.number(form)
        self._pass(struct.calcsize(form))  # no fraction is of use here
        return None

    def tensor_end(self) -> int:
        """Where a tensor ends, counted from where the first one begins."""
        self._pass(self.number("<Q"))  # its name
        count = 1
        for _ in range(self.number("<I")):
            count *= self.number("<Q")
        kind, offset = self.number("<I"), self.number("<Q")
        elements, size = _BLOCKS.get(kind, (max(count, 1), 1))
        return offset + count // elements * size

    def _pass_array(self) -> None:
        kind, count = self.number("<I"), self.number("<Q")
        if kind != _STRING:
            return self._pass(count * struct.calcsize(_form(kind)))
        for _ in range(count):
            self._pass(self.number("<Q"))

    def _pass(self, length: int) -> None:
        self.at += length
        if self.at > self.size:
            raise struct.error


def _form(kind: int) -> str:
    form = _SCALARS.get(kind)
    if form is None:
        raise NotWholeError("is damaged: it holds a kind of value that does not exist")
    return form
