"""Asks servers on this machine, and only on this machine, whether they answer."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from collections.abc import Coroutine, Mapping
    from pathlib import Path

    _Connecting = Coroutine[None, None, tuple[StreamReader, StreamWriter]]

_LARGEST_ANSWER = 1 << 20

USUAL_PORTS = {11434: "Ollama", 8080: "llama-server", 8000: "vLLM", 30000: "SGLang", 1234: "LM Studio"}
"""Where local engines listen unless told otherwise."""


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """A server on a usual port that lists models as OpenAI's does."""

    name: str
    port: int
    models: tuple[str, ...]


async def status(host: str, port: int, path: str) -> int | None:
    """The HTTP status of a GET, or None if nobody answers."""
    answer = await _get(asyncio.open_connection(host, port), path)
    return answer[0] if answer else None


async def read(host: str, port: int, path: str) -> dict[str, Any] | None:
    """The JSON object that a GET is answered with; None if nobody answers with one."""
    return _object(await _get(asyncio.open_connection(host, port), path))


def _object(answer: tuple[int, bytes] | None) -> dict[str, Any] | None:
    try:
        value = json.loads(answer[1]) if answer and answer[0] == HTTPStatus.OK else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


async def read_own(socket: Path, path: str) -> dict[str, Any] | None:
    """The same, asked of a process of the house on its socket."""
    return _object(await _get(asyncio.open_unix_connection(socket), path))


async def local_engines(ports: Mapping[int, str]) -> list[LocalEngine]:
    """The engines that answer on these ports of this machine, by the names that are usual there."""
    found = await asyncio.gather(*(_engine(port, name) for port, name in ports.items()))
    return [engine for engine in found if engine]


async def _engine(port: int, name: str) -> LocalEngine | None:
    answer = await _get(asyncio.open_connection("127.0.0.1", port), "/v1/models")
    if answer is None or answer[0] != 200:
        return None
    try:
        listed: Any = json.loads(answer[1])
        models = tuple(str(model["id"]) for model in listed["data"])
    except (ValueError, KeyError, TypeError):
        return None
    return LocalEngine(name, port, models)


async def _get(connecting: _Connecting, path: str, timeout_seconds: float = 2.0) -> tuple[int, bytes] | None:
    try:
        async with asyncio.timeout(timeout_seconds):
            return await _exchange(*await connecting, path)
    except (OSError, TimeoutError, ValueError, IndexError):
        return None


async def _exchange(reader: StreamReader, writer: StreamWriter, path: str) -> tuple[int, bytes]:
    try:
        # HTTP/1.0: the answer comes unchunked and ends with the connection.
        writer.write(f"GET {path} HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while len(answer) < _LARGEST_ANSWER and (part := await reader.read(65536)):
            answer += part
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), body
