"""Finds the files that a request to take in means, and reads them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from retrieval.parse.blocks import ParseError
from retrieval.registry.documents import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retrieval.client import IngestRequest

_MOST_BYTES = 100 * 1024 * 1024


def sources(request: IngestRequest) -> list[Source]:
    """The file, or every file under the folder; hidden ones and symbolic links inside a folder are left out."""
    path = Path(request.path)
    root = Path(request.root) if request.root else (path if path.is_dir() else path.parent)
    files = _under(path) if path.is_dir() else [path]
    return [Source(request.collection, str(file), _shown(file, root), request.label) for file in files]


def read(path: Path) -> bytes:
    """The file's content; ParseError `unreadable` if it cannot be looked at."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ParseError("unreadable", f"the file cannot be read ({os.strerror(error.errno or 0)})") from None
    if len(content) > _MOST_BYTES:
        raise ParseError("too_large", f"the file is larger than {_MOST_BYTES // 2**20} MiB")
    return content


def _under(folder: Path) -> list[Path]:
    return sorted(_walk(folder))


def _walk(folder: Path) -> Iterator[Path]:
    for directory, names, files in os.walk(folder):
        names[:] = [name for name in names if not name.startswith(".")]
        found = (Path(directory, name) for name in files if not name.startswith("."))
        yield from (path for path in found if path.is_file() and not path.is_symlink())


def _shown(file: Path, root: Path) -> str:
    try:
        return file.relative_to(root).as_posix()
    except ValueError:
        return file.name
