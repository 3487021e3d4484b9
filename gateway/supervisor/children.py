"""One child process, kept alive from entering its context to leaving it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gateway.supervisor import logs

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Mapping

REFUSED = os.EX_CONFIG
"""The exit status of a child that would be refused again: it is not started again."""

_TETHER = str(Path(__file__).with_name("tether.py"))
_TAIL_LINES = 12
_LOOK_SECONDS = 60.0
"""How often a log is looked at: between two looks it may grow beyond its bound."""
_OTHERS_SECONDS = 15.0
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Pace:
    """How soon a child that ended is started again."""

    first_seconds: float = 0.2
    longest_seconds: float = 30.0
    settled_seconds: float = 60.0
    """A child that ran this long before it ended begins at `first_seconds` again."""
    stillborn_seconds: float = 5.0
    stillborn_runs: int = 5
    """A child whose first runs all ended within that time is given up: it cannot start here."""

    def after(self, previous: float | None, lasted: float) -> float:
        """The pause after a run of `lasted` seconds, when the one before was `previous`."""
        if previous is None or lasted >= self.settled_seconds:
            return self.first_seconds
        return min(previous * 2, self.longest_seconds)


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What is run, and what belongs to it."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path
    socket: Path | None = None
    """Unlinked before each start and after the end: a killed server leaves its socket behind."""
    grace_seconds: float = 10.0
    """How long it may take to end after SIGTERM."""
    needed: bool = True
    """False: where it cannot start, the house goes on without it."""
    pace: Pace = Pace()
    after: Path | None = None
    """What another child makes once it serves: this one is slow to start, and leaves the processor to that one."""


class RefusedError(Exception):
    """A child ended with `REFUSED`; the message is the end of its log."""

    def __init__(self, spec: ChildSpec) -> None:
        tail = spec.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
        super().__init__("\n".join([f"{spec.name} cannot start here; the end of its log ({spec.log}):", *tail]))


class Child:
    """`async with Child(spec, say) as child` starts it, starts it again whenever it ends, and stops it at the end."""

    def __init__(self, spec: ChildSpec, say: Callable[[str], None], pace: Pace | None = None) -> None:
        self.spec = spec
        self.kept: asyncio.Task[None]
        """Ends when the child is stopped; fails with `RefusedError`."""
        self._say = say
        self._pace = pace or spec.pace
        self._stopping = asyncio.Event()
        self._process: Process | None = None

    async def __aenter__(self) -> Self:
        self.kept = asyncio.create_task(self._keep(), name=f"keep {self.spec.name}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping.set()
        self._signal(signal.SIGTERM)
        await asyncio.wait([self.kept], timeout=self.spec.grace_seconds)
        self.kill()
        await asyncio.wait([self.kept])
        self.kept.exception()  # whoever waits for `kept` has seen it; nobody needs to
        _unlink(self.spec.socket)

    @property
    def pid(self) -> int | None:
        """The process that runs now; None between two runs."""
        return self._process.pid if self._process and self._process.returncode is None else None

    def kill(self) -> None:
        """End it at once, with all that it started."""
        self._stopping.set()
        if self.pid is not None:
            _kill_group(self.pid)

    async def _keep(self) -> None:
        pause: float | None = None
        runs, longest = 0, 0.0
        await self._let_others_begin()
        while not self._stopping.is_set():
            began = time.monotonic()
            status = await self._run_once()
            if self._stopping.is_set():
                return
            lasted = time.monotonic() - began
            runs, longest = runs + 1, max(longest, lasted)
            if status == REFUSED or (runs >= self._pace.stillborn_runs and longest < self._pace.stillborn_seconds):
                return await self._give_up()
            pause = self._pace.after(pause, lasted)
            self._say(f"{self.spec.name} {ended(status)}; starting it again in {pause:.1f} s (log: {self.spec.log})")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)

    async def _let_others_begin(self) -> None:
        until = time.monotonic() + _OTHERS_SECONDS
        while self.spec.after is not None and not self.spec.after.exists() and time.monotonic() < until:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _POLL_SECONDS)
                return

    async def _give_up(self) -> None:
        failure = RefusedError(self.spec)
        if self.spec.needed:
            raise failure
        self._say(f"{failure}\nThe house goes on without it.")
        await self._stopping.wait()

    async def _run_once(self) -> int:
        self._process = process = await start(self.spec)
        if self._stopping.is_set():  # asked to stop while it was being started
            self._signal(signal.SIGTERM)
        status = await self._wait(process)
        _kill_group(process.pid)  # what it started must not outlive it
        return status

    async def _wait(self, process: Process) -> int:
        """Wait for its end, and keep its log from filling the disk meanwhile."""
        while True:
            logs.bound(self.spec.log)
            with suppress(TimeoutError):
                return await asyncio.wait_for(process.wait(), _LOOK_SECONDS)

    def _signal(self, number: signal.Signals) -> None:
        # To the child alone: a helper process of its own that got SIGTERM too would look like a failure to it.
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)


async def start(spec: ChildSpec) -> Process:
    """Start the command in a session of its own (the terminal's Ctrl-C is not for it), tied to this process."""
    _unlink(spec.socket)
    with spec.log.open("ab") as log:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", _TETHER, str(os.getpid()), *spec.command),
            env=dict(spec.environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def ended(status: int) -> str:
    """How a process ended, in words."""
    if status >= 0:
        return f"ended with status {status}"
    return f"was killed ({signal.Signals(-status).name})"


def _unlink(path: Path | None) -> None:
    if path is not None:
        path.unlink(missing_ok=True)


def _kill_group(leader: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # macOS says the latter of a group of zombies
        os.killpg(leader, signal.SIGKILL)
