"""The real llama.cpp server says of itself what a probe reads."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gateway.settings import ROOT
from gateway.supervisor.parts import engine_runs_here
from gateway.upstream.guard import Guard
from gateway.upstream.probes.look import answers, look
from tests.fakes import deployment

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not engine_runs_here(), reason="llama.cpp's wheel needs AVX2")

AT = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture
def socket() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders can exceed what a socket's path may be
        path = Path(folder) / "engine.sock"
        command = [sys.executable, "-m", "gateway.upstream.engine_child", "--threads", "1", "--socket", str(path)]
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as child:
            yield path
            child.terminate()


async def test_the_demonstration_engine_tells_its_context_slots_and_that_it_is_blind(socket: Path) -> None:
    at = replace(deployment(f"unix:{socket}:/v1"), engine="llama_server")
    async with Guard() as guard, asyncio.timeout(40):
        while not await answers(guard, at, AT):
            await asyncio.sleep(0.05)
        seen = await look(guard, at, AT)

    assert (seen.up, seen.context, seen.slots, seen.vision) == (True, 4096, 1, False)
    assert seen.models == ("smollm2-135m",)
    assert not seen.running  # none, or not told: `--slots` and `--metrics` are the server's own choice
    assert not seen.waiting
