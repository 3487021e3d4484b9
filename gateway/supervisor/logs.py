"""The logs of the children: begun anew at each start, and bounded while a child writes."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_BYTES = 16 << 20
_KEPT = 3


def rotate(log: Path) -> None:
    """Begin a new log; the last three are kept beside it as `NAME.log.1` to `NAME.log.3`."""
    if not log.exists() or log.stat().st_size == 0:
        return
    _make_room(log)
    log.replace(_older(log, 1))


def bound(log: Path, largest_bytes: int = LARGEST_BYTES) -> None:
    """Set a log that has grown too large aside, as `rotate` does, while its child has it open for appending.

    What the child writes between the copy and the cut is lost: a few lines once in a long while.
    """
    if not log.exists() or log.stat().st_size <= largest_bytes:
        return
    _make_room(log)
    try:
        shutil.copyfile(log, _older(log, 1))
    except OSError:  # the disk is full: rather lose an old log than the house
        _older(log, 1).unlink(missing_ok=True)
    os.truncate(log, 0)


def _make_room(log: Path) -> None:
    for number in range(_KEPT, 1, -1):
        if _older(log, number - 1).exists():
            _older(log, number - 1).replace(_older(log, number))


def _older(log: Path, number: int) -> Path:
    return log.with_name(f"{log.name}.{number}")
