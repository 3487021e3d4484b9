"""Has a file's content parsed in a child process, which is killed when it oversteps its limits."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from retrieval.parse.blocks import SUFFIXES, Accepted, Parsed, ParseError, Refused

_ROOT = Path(__file__).resolve().parents[2]
_OUTCOME = msgspec.msgpack.Decoder(Accepted | Refused)
_MOST_ANSWER = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may take."""

    memory_mib: int = 1024
    cpu_seconds: int = 60
    seconds: float = 120


async def parse(content: bytes, suffix: str, limits: Limits = Limits()) -> Parsed:
    """The content's blocks; ParseError with a reason for everything that goes wrong, limits included."""
    if suffix not in SUFFIXES:
        raise ParseError("unsupported", f"files named {suffix or 'without an ending'} are not read yet")
    child = await _start(suffix, limits)
    try:
        async with asyncio.timeout(limits.seconds):
            answer = await _converse(child, content)
            code = await child.wait()
    except TimeoutError:
        raise ParseError("timeout", f"reading it took longer than {limits.seconds:g} seconds") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    return _read(answer, code)


async def _start(suffix: str, limits: Limits) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "retrieval.parse.child", suffix, str(limits.memory_mib), str(limits.cpu_seconds)),
        cwd="/",
        env={"PATH": os.defpath, "PYTHONPATH": str(_ROOT), "LC_ALL": "C.UTF-8"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,  # a parser's complaints may quote the document
        limit=_MOST_ANSWER,
    )


async def _converse(child: asyncio.subprocess.Process, content: bytes) -> bytes:
    if child.stdin is None or child.stdout is None:
        raise ParseError("crashed", "the parser could not be started")
    _, answer = await asyncio.gather(_feed(child.stdin, content), _drain(child.stdout))
    return answer


async def _feed(pipe: asyncio.StreamWriter, content: bytes) -> None:
    try:
        pipe.write(content)
        await pipe.drain()
        pipe.close()
        await pipe.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        return  # the child died; its exit code tells why


async def _drain(pipe: asyncio.StreamReader) -> bytes:
    answer = bytearray()
    while part := await pipe.read(1 << 16):
        answer += part
        if len(answer) > _MOST_ANSWER:
            raise ParseError("too_large", "it holds more text than one file may")
    return bytes(answer)


def _read(answer: bytes, code: int) -> Parsed:
    if code in {-signal.SIGXCPU, -signal.SIGKILL}:
        raise ParseError("timeout", "reading it took more processor time than a file may")
    try:
        outcome = _OUTCOME.decode(answer)
    except msgspec.DecodeError:
        raise ParseError("crashed", "the parser failed on it") from None
    if isinstance(outcome, Refused):
        raise ParseError(outcome.reason, outcome.words)
    return outcome.parsed
