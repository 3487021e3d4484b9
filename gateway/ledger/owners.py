"""Tells whether the process that holds an attempt still lives.

On its own machine the kernel knows: a process is its number together with its start, since numbers are used again.
From elsewhere only the heartbeat speaks.
"""

from __future__ import annotations

import os
import platform
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.db.boots import Boot

if TYPE_CHECKING:
    from datetime import datetime

    from gateway.db.boots import Owner

SILENCE = timedelta(seconds=30)
"""After which a process that only its heartbeat can vouch for counts as dead: six heartbeats."""

_PROC = Path("/proc")
_ENDED = ""
_OVER = frozenset("ZXx")
"""States of a process that has ended: a zombie, waiting for its parent to notice, or dead (proc_pid_stat(5))."""


def this_process(boot_id: str, started_at: datetime) -> Boot:
    """The running process, as it signs what it holds."""
    pid = os.getpid()
    return Boot(boot_id, _host(), pid, process_start(pid) or _ENDED, started_at)


def is_dead(owner: Owner, judge: Boot, now: datetime) -> bool:
    """True if the owner will not settle what it holds; never true of the judge itself."""
    if owner.boot.boot_id == judge.boot_id:
        return False
    if owner.boot.host == judge.host:
        start = process_start(owner.boot.pid)
        if start == _ENDED:
            return True
        if start and owner.boot.process_started_at:
            return start != owner.boot.process_started_at
    return now - owner.heartbeat_at > SILENCE


def process_start(pid: int, proc: Path = _PROC) -> str | None:
    """The start of a process on this machine, empty if it has ended; None if the system does not tell."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return _ENDED
    except PermissionError:  # somebody else's, but it is there
        pass
    try:
        stat = (proc / str(pid) / "stat").read_text(errors="replace")
        kernel_start = (proc / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    # The name, in brackets, may hold anything; state and start are the 3rd and the 22nd field.
    state, *fields = stat.rpartition(")")[2].split()
    return _ENDED if state in _OVER else f"{kernel_start}/{fields[18]}"


def _host() -> str:
    """The machine and, on it, the processes that numbers are of: a container counts its own."""
    return " ".join([platform.node(), _machine(), _namespace()])


def _machine() -> str:
    try:
        return Path("/etc/machine-id").read_text().strip()
    except OSError:
        return "-"


def _namespace() -> str:
    try:
        return str((_PROC / "self/ns/pid").readlink())
    except OSError:
        return "-"
