"""The demonstration engine answers on its socket and ends with its parent."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.errors import UpstreamRefused, UpstreamUnavailable
from gateway.upstream.clients import Outgoing
from gateway.upstream.clients.http import HttpClient
from gateway.upstream.guard import Guard
from gateway.wire.usage import read_usage
from policies.labels import PRIVATE
from tests.fakes import deployment

try:
    CPU = Path("/proc/cpuinfo").read_text()
except OSError:
    CPU = "avx2"

pytestmark = pytest.mark.skipif("avx2" not in CPU, reason="llama.cpp's wheel needs AVX2")

COMMAND = [sys.executable, "-m", "gateway.upstream.engine_child", "--threads", "2", "--socket"]


@pytest.fixture
def socket() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders can exceed what a socket's path may be
        yield Path(folder) / "engine.sock"


def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


async def said(socket: Path, body: bytes) -> bytes:
    async with Guard() as guard:
        at = replace(deployment(f"unix:{socket}:/v1"), engine="llama_server")
        async with HttpClient(guard).send(at, Outgoing(body, PRIVATE, stream=False)) as reply:
            return await reply.read(1_000_000)


async def said_when_ready(socket: Path, body: bytes) -> bytes:
    for _ in range(200):
        try:
            return await said(socket, body)
        except UpstreamUnavailable:  # not there yet, or loading the model
            await asyncio.sleep(0.1)
    raise AssertionError("the engine did not become ready")


@pytest.fixture
def engine(socket: Path) -> Iterator[subprocess.Popen[bytes]]:
    socket.touch()  # what a killed engine leaves behind
    with (socket.parent / "log").open("wb") as log, subprocess.Popen([*COMMAND, str(socket)], stderr=log) as child:
        yield child
        child.kill()


def test_it_answers_over_a_stale_socket_with_its_usage(engine: subprocess.Popen[bytes], socket: Path) -> None:
    body = b'{"max_tokens": 4, "messages": [{"role": "user", "content": "canary"}]}'

    usage = read_usage(json.loads(asyncio.run(said_when_ready(socket, body))))

    assert usage is not None
    # The model is asked for four tokens at most; sampling may end the answer before.
    assert (1 <= usage.completion <= 4, usage.prompt > 4) == (True, True)
    assert stat.S_IMODE(socket.stat().st_mode) == 0o600
    assert b"canary" not in (socket.parent / "log").read_bytes()


def test_a_prompt_beyond_its_context_is_refused_as_that(engine: subprocess.Popen[bytes], socket: Path) -> None:
    body = b'{"messages": [{"role": "user", "content": "' + b"canary " * 8000 + b'"}]}'

    with pytest.raises(UpstreamRefused) as refused:
        asyncio.run(said_when_ready(socket, body))

    assert refused.value.code == "context_length_exceeded"
    assert b"canary" not in (socket.parent / "log").read_bytes()


def test_it_ends_on_sigterm_even_while_it_loads(engine: subprocess.Popen[bytes], socket: Path) -> None:
    until(socket.is_socket)
    engine.terminate()

    assert engine.wait(10) == 0
    assert not socket.exists()


def test_it_ends_when_its_parent_is_killed(socket: Path) -> None:
    program = (
        f"import subprocess; p = subprocess.Popen({[*COMMAND, str(socket)]!r}); print(p.pid, flush=True); p.wait()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        until(socket.exists)
        os.kill(parent.pid, signal.SIGKILL)

    until(lambda: _has_ended(child))


def _has_ended(pid: int) -> bool:
    """True once the process is gone, or a zombie that nobody waits for."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return not state.strip() or state.startswith("Z")
