"""Counts failed sign-ins, so that keys cannot be tried out at speed."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TRIES = 10
SECONDS = 60
_KEPT_HOSTS = 10_000


class Throttle:
    """The sign-ins of each host within the last minute; a successful one clears its host."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tries: dict[str, deque[float]] = {}

    def admits(self, host: str) -> bool:
        """Count one try, before its key is looked at; False if the host has had its share."""
        since = self._clock() - SECONDS
        if host not in self._tries and len(self._tries) >= _KEPT_HOSTS:
            self._tries = {name: tries for name, tries in self._tries.items() if tries[-1] > since}
            if len(self._tries) >= _KEPT_HOSTS:
                return False
        tries = self._tries.setdefault(host, deque())
        while tries and tries[0] <= since:
            tries.popleft()
        if len(tries) >= TRIES:
            return False
        tries.append(self._clock())
        return True

    def forgive(self, host: str) -> None:
        """Forget the host's tries."""
        self._tries.pop(host, None)
