"""Reaches the house's files: through a running `up`, or by opening them under the lock."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from gateway.supervisor import lock, prepare

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateway.settings import Settings

_PATIENCE_SECONDS = 15.0
_POLL_SECONDS = 0.2


@contextmanager
def files(settings: Settings, listening: Path) -> Iterator[bool]:
    """Yield True if the files are ours to open, False if a running house answers on the socket `listening`.

    A house that is only just starting is waited for; one that never answers is an `InUseError`.
    """
    prepare.directories(settings)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with ExitStack() as held:
        ours = False
        while not ours and not _answers(listening):
            ours = _take(held, settings.lock, last_try=time.monotonic() > deadline)
        if ours:
            prepare.files(settings)
        yield ours


def _take(held: ExitStack, path: Path, *, last_try: bool) -> bool:
    try:
        held.enter_context(lock.hold(path))
    except lock.InUseError:
        if last_try:
            raise
        time.sleep(_POLL_SECONDS)
        return False
    return True


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0
