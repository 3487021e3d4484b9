"""Servers on this machine that take alerts and keep them: HTTP and mail, in the open and encrypted."""

from __future__ import annotations

import asyncio
import base64
import email
import shutil
import ssl
import subprocess
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.policy import default
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from email.message import EmailMessage
    from pathlib import Path


@dataclass(frozen=True)
class Posted:
    """One request that arrived."""

    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class HttpSink:
    """Answers with the statuses it is given, then with 200."""

    statuses: list[int] = field(default_factory=list)
    posted: list[Posted] = field(default_factory=list)
    port: int = 0
    scheme: str = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    async def take(self, request: web.Request) -> web.Response:
        self.posted.append(Posted(request.path, dict(request.headers), await request.read()))
        status = self.statuses.pop(0) if self.statuses else 200
        return web.Response(status=status, headers={"Location": f"{self.url}/elsewhere"} if status == 302 else {})


@asynccontextmanager
async def http_sink(*statuses: int, tls: ssl.SSLContext | None = None) -> AsyncIterator[HttpSink]:
    sink = HttpSink(list(statuses), scheme="http" if tls is None else "https")
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", sink.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    sink.port = runner.addresses[0][1]
    try:
        yield sink
    finally:
        await runner.cleanup()


@dataclass
class MailSink:
    """A mail server that takes everything, but for the readers that it is told to refuse."""

    tls: ssl.SSLContext | None = None
    starttls: ssl.SSLContext | None = None
    refuses: tuple[str, ...] = ()
    busy: int = 0
    """To how many letters it says that it is busy."""
    port: int = 0
    letters: list[EmailMessage] = field(default_factory=list)
    readers: list[str] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    greeted_by: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._say(writer, "220 sink")
        while line := (await reader.readline()).decode().strip():
            verb = line.split(" ", 1)[0].upper()
            if verb == "QUIT":
                await self._say(writer, "221 bye")
                break
            if verb == "STARTTLS" and self.starttls is not None:
                await self._say(writer, "220 go on")
                await writer.start_tls(self.starttls)
                continue
            if verb == "DATA":
                await self._data(reader, writer)
                continue
            await self._say(writer, self._answer(verb, line))
        writer.close()

    def _answer(self, verb: str, line: str) -> str:
        match verb:
            case "EHLO":
                self.greeted_by.append(line.split(" ", 1)[1])
                offered = "250-STARTTLS\r\n" if self.starttls is not None else ""
                return f"250-sink\r\n{offered}250 AUTH PLAIN"
            case "AUTH":
                self.logins.append(base64.b64decode(line.split(" ")[2]).decode())
                return "235 welcome"
            case "RCPT":
                address = line.split("<")[1].split(">")[0]
                if address in self.refuses:
                    return "550 nobody here"
                self.readers.append(address)
        return "250 fine"

    async def _data(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.busy:
            self.busy -= 1
            await self._say(writer, "451 busy")
            return
        await self._say(writer, "354 go on")
        content = await reader.readuntil(b"\r\n.\r\n")
        letter: Any = email.message_from_bytes(content[:-5], policy=default)
        self.letters.append(letter)
        await self._say(writer, "250 taken")

    async def _say(self, writer: asyncio.StreamWriter, line: str) -> None:
        writer.write(f"{line}\r\n".encode())
        await writer.drain()


@asynccontextmanager
async def mail_sink(**more: Any) -> AsyncIterator[MailSink]:
    sink = MailSink(**more)
    server = await asyncio.start_server(sink.serve, "127.0.0.1", 0, ssl=sink.tls)
    sink.port = server.sockets[0].getsockname()[1]
    async with server:
        yield sink


@dataclass(frozen=True)
class Certificate:
    """A certificate of this machine's own, and the server's side of it."""

    path: Path
    context: ssl.SSLContext


def certificate(folder: Path) -> Certificate:
    """Made for 127.0.0.1, by openssl's own command."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl command here to make a certificate with")
    path, key = folder / "sink.crt", folder / "sink.key"
    subject = ["-subj", "/CN=sink", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    made = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        str(key),
        "-out",
        str(path),
    ]
    subprocess.run([openssl, "req", "-x509", *subject, *made], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, key)
    return Certificate(path, context)
