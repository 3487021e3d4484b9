"""Takes the network from this process: from then on it reaches one Unix socket of this machine, and nothing else."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_FILTER_FLAG_TSYNC = 1
"""The filter holds for threads that run already, too."""

# From linux/audit.h and the tables of system calls: architecture, seccomp, socket.
_MACHINES = {"x86_64": (0xC000003E, 317, 41), "aarch64": (0xC00000B7, 277, 198)}
_IO_URING_SETUP = 425
"""Its queues make sockets without the system call."""
_X32 = 0x40000000
"""A second numbering of system calls on x86_64."""

# linux/seccomp.h: where the fields of what a filter sees begin.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EACCES

_LOOK_UPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"})
_SENDINGS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind"})
_CALLS = frozenset({"socket.connect", "socket.sendto"})
"""The house's other sockets, the resolver's, a container engine's: each would be a way out, or in."""
_STARTS = frozenset({"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "pty.spawn"})


class _Program(ctypes.Structure):
    """linux/filter.h: `struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def close_in(way_out: Path | None = None) -> bool:
    """Refuse every way but that one out, for good. True if the kernel refuses too, not the interpreter alone.

    The interpreter's own hook holds everywhere; the kernel's filter, on Linux, also for libraries in C and for whatever
    the process might start. It tells Unix sockets from others, but not which of them is meant.
    """
    sys.addaudithook(partial(_refuse, None if way_out is None else str(way_out)))
    return sys.platform == "linux" and _filter_sockets()


def _refuse(way_out: str | None, event: str, arguments: tuple[Any, ...]) -> None:
    if event in _SENDINGS and arguments[0].family != socket.AF_UNIX:
        raise PermissionError(errno.EACCES, "this process has no network")
    if event in _CALLS and arguments[1] != way_out:
        raise PermissionError(errno.EACCES, "this process speaks to nobody but its way out")
    if event in _LOOK_UPS:
        raise PermissionError(errno.EACCES, "this process looks up no names")
    if event in _STARTS:
        raise PermissionError(errno.EACCES, "this process starts no others")


def _filter_sockets() -> bool:
    """Have the kernel refuse every socket that is no Unix socket."""
    known = _MACHINES.get(os.uname().machine)
    if known is None or sys.byteorder != "little":
        return False
    architecture, seccomp, make_socket = known
    code = _instructions(architecture, make_socket)
    program = _Program(len(code) // 8, code)
    kernel = ctypes.CDLL(None, use_errno=True)
    if kernel.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    mode = (_SECCOMP_SET_MODE_FILTER, _SECCOMP_FILTER_FLAG_TSYNC)
    return bool(kernel.syscall(seccomp, *mode, ctypes.byref(program)) == 0)


def _instructions(architecture: int, make_socket: int) -> bytes:
    """The filter. The two numbers before the last are how many instructions are skipped if true, and if false."""
    return b"".join(
        struct.pack("<HBBI", *instruction)
        for instruction in (
            (_LOAD, 0, 0, _ARCHITECTURE),
            (_IF_EQUAL, 0, 6, architecture),
            (_LOAD, 0, 0, _NUMBER),
            (_IF_AT_LEAST, 4, 0, _X32),
            (_IF_EQUAL, 3, 0, _IO_URING_SETUP),
            (_IF_EQUAL, 0, 3, make_socket),
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            (_IF_EQUAL, 1, 0, socket.AF_UNIX),
            (_RETURN, 0, 0, _REFUSE),
            (_RETURN, 0, 0, _ALLOW),
        )
    )
