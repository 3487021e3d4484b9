"""Wakes deployments that sleep: once at a time each, however many requests wait for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Self

import structlog

from gateway.errors import UpstreamError, UpstreamUnavailable
from gateway.upstream.probes import look

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from gateway.catalog.deployments import Deployment, Wake
    from gateway.upstream.guard import Guard

log = structlog.get_logger()

_POLL_SECONDS = 1.0
_REST_SECONDS = 30.0
"""How long a wake that failed is not tried again: requests come faster than a person mends a command."""
_TERM_SECONDS = 5.0
_ENVIRONMENT = frozenset(
    """
    PATH HOME USER LOGNAME SHELL LANG TZ TMPDIR XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS SSH_AUTH_SOCK DOCKER_HOST
    CUDA_VISIBLE_DEVICES
    """.split()
)
"""What a command gets of the environment: enough for ssh, docker and systemctl, no key and no setting of ours."""

Awake = Callable[[str], Awaitable[None]]
"""Is told the name of each deployment that woke up."""
Trouble = Callable[[], UpstreamUnavailable | None]
"""Why a wake under way will come to nothing; None as long as it may."""


class Waking:
    """The wakes under way. As a context manager it ends them, with their commands, when it is left."""

    def __init__(
        self,
        guard: Guard,
        *,
        awake: Awake | None = None,
        poll_seconds: float = _POLL_SECONDS,
        rest_seconds: float = _REST_SECONDS,
    ) -> None:
        self._guard = guard
        self._awake = awake
        self._poll_seconds = poll_seconds
        self._rest_seconds = rest_seconds
        self._wakes: dict[str, asyncio.Task[None]] = {}
        self._resting: dict[str, tuple[float, UpstreamError]] = {}
        self._commands: list[Process] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._wakes.values():
            task.cancel()
        await asyncio.gather(*self._wakes.values(), return_exceptions=True)
        await asyncio.gather(*(_end(command) for command in self._commands))

    async def wake(self, deployment: Deployment) -> None:
        """Return when the deployment answers; UpstreamUnavailable if it does not within its time.

        Whoever stops waiting leaves the wake to the others.
        """
        await asyncio.shield(self._begin(deployment))

    def start(self, deployment: Deployment) -> None:
        """Begin to wake it, and wait for nothing."""
        with suppress(UpstreamError):
            self._begin(deployment)

    def _begin(self, deployment: Deployment) -> asyncio.Task[None]:
        name = deployment.name
        if name in self._wakes:
            return self._wakes[name]
        if deployment.wake is None:
            raise UpstreamUnavailable(f"deployment {name!r} cannot be reached, and nothing says how to wake it")
        self._refuse_while_resting(name)
        task = asyncio.create_task(self._run(deployment, deployment.wake), name=f"wake {name}")
        self._wakes[name] = task
        task.add_done_callback(lambda ended: self._finished(name, ended))
        return task

    def _refuse_while_resting(self, name: str) -> None:
        until, failure = self._resting.get(name, (0.0, None))
        if failure is not None and asyncio.get_running_loop().time() < until:
            raise UpstreamUnavailable(str(failure))
        self._resting.pop(name, None)

    def _finished(self, name: str, task: asyncio.Task[None]) -> None:
        self._wakes.pop(name, None)
        if task.cancelled():
            return
        failure = task.exception()
        if isinstance(failure, UpstreamError):
            self._resting[name] = (task.get_loop().time() + self._rest_seconds, failure)
        log.info("deployment_woken" if failure is None else "deployment_not_woken", deployment=name, failure=failure)

    async def _run(self, deployment: Deployment, wake: Wake) -> None:
        late = UpstreamUnavailable(f"deployment {deployment.name!r} did not wake up within {wake.seconds:g} s")
        try:
            async with asyncio.timeout(wake.seconds):
                if not await self._is_up(deployment):
                    log.info("deployment_waking", deployment=deployment.name)
                    async with self._called(deployment, wake) as trouble:
                        await self._until_up(deployment, trouble)
        except TimeoutError:
            raise late from None
        if self._awake is not None:
            await self._awake(deployment.name)

    def _called(self, deployment: Deployment, wake: Wake) -> AbstractAsyncContextManager[Trouble]:
        if wake.url is not None:
            return self._knocked(deployment, wake.url, wake.seconds)
        return self._commanded(deployment.name, wake.command or ())

    async def _until_up(self, deployment: Deployment, trouble: Trouble) -> None:
        while not await self._is_up(deployment):
            if (failure := trouble()) is not None:
                raise failure
            await asyncio.sleep(self._poll_seconds)

    async def _is_up(self, deployment: Deployment) -> bool:
        return await look.answers(self._guard, deployment, datetime.now(UTC))

    @asynccontextmanager
    async def _knocked(self, deployment: Deployment, url: str, seconds: float) -> AsyncIterator[Trouble]:
        """Knock, and do not wait for the answer: some doors answer only when the house behind them is awake."""
        knock = asyncio.create_task(self._guard.knock(deployment, url, seconds))

        def trouble() -> UpstreamUnavailable | None:
            if not knock.done():
                return None
            if isinstance(knock.exception(), UpstreamError):
                return UpstreamUnavailable(f"deployment {deployment.name!r}: its wake URL does not answer")
            status = knock.result().status
            if status < HTTPStatus.BAD_REQUEST:
                return None
            return UpstreamUnavailable(f"deployment {deployment.name!r}: its wake URL answered with status {status}")

        try:
            yield trouble
        finally:
            knock.cancel()
            await asyncio.gather(knock, return_exceptions=True)

    @asynccontextmanager
    async def _commanded(self, name: str, command: tuple[str, ...]) -> AsyncIterator[Trouble]:
        """Run a command, which may be the server itself: it is ended now only if the deployment does not wake up.

        It stays in this process' group, so that it does not outlive the house. What it prints is nobody's to keep.
        """
        process = await _start(name, command)

        def trouble() -> UpstreamUnavailable | None:
            if not process.returncode:
                return None
            return UpstreamUnavailable(
                f"deployment {name!r}: its wake command {command[0]!r} {_ended(process.returncode)}"
            )

        try:
            yield trouble
        except BaseException:
            await _end(process)
            raise
        self._commands = [other for other in self._commands if other.returncode is None] + [process]


async def _start(name: str, command: tuple[str, ...]) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            env=_environment(os.environ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        raise UpstreamUnavailable(
            f"deployment {name!r}: its wake command {command[0]!r} cannot be run ({error.strerror})"
        ) from None


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name in _ENVIRONMENT or name.startswith("LC_")}


def _ended(status: int) -> str:
    return f"ended with status {status}" if status > 0 else f"was killed (signal {-status})"


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.terminate()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _TERM_SECONDS)
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
