"""Ties a command's life to the process that started it: `python tether.py PARENT_PID COMMAND...`.

It runs as a file of its own between fork and exec, so that the parent needs no code in the forked child (which is
unsafe once there are threads).
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys

_PR_SET_PDEATHSIG = 1
_PARENT_IS_GONE = 3


def main(parent: int, command: list[str]) -> int:
    """Become the command where the kernel can watch over it, else stand beside it."""
    if os.uname().sysname == "Linux":
        return become(parent, command)
    return watch(parent, command)


def become(parent: int, command: list[str]) -> int:
    """Have the kernel kill this process when its parent ends, then become the command."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the kernel was asked
        return _PARENT_IS_GONE
    os.execvp(command[0], command)  # noqa: S606 - no shell is wanted


def watch(parent: int, command: list[str], every_seconds: float = 1.0) -> int:
    """Run the command as a child, hand signals on, and kill it when the parent is gone."""
    with subprocess.Popen(command) as child:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda received, _frame: child.send_signal(received))
        while True:
            try:
                return child.wait(every_seconds)
            except subprocess.TimeoutExpired:
                if os.getppid() != parent:
                    child.kill()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
