"""Finds the files that a request to take in means."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from retrieval.registry.documents import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retrieval.client import IngestRequest


def sources(request: IngestRequest) -> list[Source]:
    """The file, or every file under the folder; hidden ones and symbolic links inside a folder are left out.

    Each is shown under its name relative to the folder; a file alone, under its own.
    """
    path = Path(request.path)
    files = sorted(_under(path)) if path.is_dir() else [path]
    folder = path if path.is_dir() else path.parent
    return [Source(request.collection, str(file), file.relative_to(folder).as_posix(), request.label) for file in files]


def _under(folder: Path) -> Iterator[Path]:
    for directory, names, files in os.walk(folder):
        names[:] = [name for name in names if not name.startswith(".")]
        found = (Path(directory, name) for name in files if not name.startswith("."))
        yield from (path for path in found if path.is_file() and not path.is_symlink())
