"""Asks a running house on its admin socket; whoever may open that is the owner."""

from __future__ import annotations

import http.client
import json
import socket
from typing import TYPE_CHECKING, Any

from gateway.errors import GatewayError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def ask(admin_socket: Path, method: str, path: str, body: object = None) -> Any:
    """What it answers; RefusedByGatewayError if that is a refusal, an OSError if no house is running."""
    connection = _UnixConnection(admin_socket)
    try:
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return _read(response.status, response.read())
    finally:
        connection.close()


def lines(admin_socket: Path, method: str, path: str, body: object = None) -> Iterator[Any]:
    """What it answers line by line, however long that takes; the same errors."""
    connection = _UnixConnection(admin_socket, seconds=None)
    try:
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status >= http.HTTPStatus.BAD_REQUEST:
            _read(response.status, response.read())
        while line := response.readline():
            yield json.loads(line)
    finally:
        connection.close()


class RefusedByGatewayError(GatewayError):
    """The running gateway's own refusal, in its own words."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, seconds: float | None = 30) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def _read(status: int, content: bytes) -> Any:
    answer = json.loads(content) if content else None
    if status < http.HTTPStatus.BAD_REQUEST:
        return answer
    raise RefusedByGatewayError(_message(answer) or f"the running gateway answered {status}", status)


def _message(answer: Any) -> str | None:
    try:
        return str(answer["error"]["message"])
    except (KeyError, TypeError):
        return None
