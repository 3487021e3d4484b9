"""The lock of a data directory: one `up`, or one command that opens the files itself, at a time."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class InUseError(Exception):
    """Another process works on this data directory."""

    def __init__(self, data: Path, holder: str) -> None:
        super().__init__(
            f"{data} is in use by process {holder or 'unknown'}: stop that one first (Ctrl-C where it runs), "
            "or choose another directory with --data"
        )


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Hold the lock, or raise `InUseError` at once; the kernel frees it however this process ends."""
    with path.open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise InUseError(path.parent, file.read().strip()) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
