"""Reads the bytes of a file that is to be parsed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from retrieval.parse.blocks import ParseError

if TYPE_CHECKING:
    from pathlib import Path

_MOST_BYTES = 100 * 1024 * 1024


def read(path: Path) -> bytes:
    """The file's content; ParseError `unreadable` if it cannot be looked at, `too_large` above the bound."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ParseError("unreadable", f"the file cannot be read ({os.strerror(error.errno or 0)})") from None
    if len(content) > _MOST_BYTES:
        raise ParseError("too_large", f"the file is larger than {_MOST_BYTES // 2**20} MiB")
    return content
