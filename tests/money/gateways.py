"""Real gateway processes over one ledger, one store and one upstream."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import aiohttp
import msgspec

from gateway.chat.request import read
from gateway.settings import ROOT, gateway_environment, run_dir
from migrations import upgrade

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

ADMIN = "sk-test-money"
_START_SECONDS = 60


def body_of(said: str, *, stream: bool = False, model: str = "m") -> dict[str, Any]:
    """A chat of one message."""
    return {"model": model, "messages": [{"role": "user", "content": said}], "stream": stream, "max_tokens": 16}


def bound(said: str) -> int:
    """The tokens that its prompt is held for."""
    return read(msgspec.json.encode(body_of(said))).prompt_tokens


@dataclass(frozen=True)
class Gateway:
    """One process and where it answers."""

    url: str
    process: subprocess.Popen[bytes]

    async def ask(
        self, session: aiohttp.ClientSession, said: str, *, key: str = ADMIN, stream: bool = False, model: str = "m"
    ) -> tuple[int, dict[str, str]]:
        """Ask once and read the whole answer: status and headers. 0: the connection broke."""
        body, headers = body_of(said, stream=stream, model=model), {"authorization": f"Bearer {key}"}
        try:
            async with session.post(f"{self.url}/v1/chat/completions", json=body, headers=headers) as answer:
                await answer.read()
                return answer.status, {name.lower(): value for name, value in answer.headers.items()}
        except (aiohttp.ClientError, TimeoutError):
            return 0, {}

    async def leave(self, session: aiohttp.ClientSession, said: str) -> None:
        """Ask for a stream and leave after its first bytes."""
        body, headers = body_of(said, stream=True), {"authorization": f"Bearer {ADMIN}"}
        try:
            async with session.post(f"{self.url}/v1/chat/completions", json=body, headers=headers) as answer:
                await answer.content.readany()
                answer.close()
        except (aiohttp.ClientError, TimeoutError):
            pass


@dataclass
class Fleet:
    """The processes of one house."""

    folder: Path
    pack: Path
    environment: Mapping[str, str]
    gateways: list[Gateway] = field(default_factory=list)

    async def start(self) -> Gateway:
        """Start one more and wait until it answers."""
        data = self.folder / f"data-{len(self.gateways)}"
        data.mkdir()
        run_dir(data).mkdir(mode=0o700, exist_ok=True)
        _share(self.folder, data)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        gateway = Gateway(f"http://127.0.0.1:{port}", self._launched(data, port))
        self.gateways.append(gateway)
        await _until_it_answers(gateway, data / "log.txt")
        return gateway

    def _launched(self, data: Path, port: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "gateway.main", "--data", str(data), "--pack", str(self.pack)]
        with (data / "log.txt").open("wb") as log:
            return subprocess.Popen([*command, "--port", str(port)], env=self.environment, stdout=log, stderr=log)

    def stop(self) -> None:
        for gateway in self.gateways:
            gateway.process.terminate()
        for gateway in self.gateways:
            gateway.process.wait(30)


@asynccontextmanager
async def gateways(
    folder: Path,
    upstream: str,
    count: int,
    *,
    store: str,
    database_url: str | None = None,
    more: Mapping[str, Any] = {},
) -> AsyncIterator[Fleet]:
    """Start `count` gateways in front of the upstream; SQLite in the folder unless a PostgreSQL URL is given.

    `more` are further files of the pack, by name.
    """
    (folder / "secret").write_bytes(bytes(range(32)))
    if database_url is None:
        upgrade("ledger", f"sqlite+aiosqlite:///{folder / 'ledger.db'}")
    else:
        upgrade("ledger", database_url)
    fleet = Fleet(folder, _pack(folder, upstream, more), _environment(store, database_url))
    try:
        for _ in range(count):
            await fleet.start()
        yield fleet
    finally:
        fleet.stop()


def _environment(store: str, database_url: str | None) -> dict[str, str]:
    own = {"SOLEIRA_ADMIN_KEY": ADMIN, "SOLEIRA_REDIS_URL": store}
    if database_url is not None:
        own["SOLEIRA_DATABASE_URL"] = database_url
    return {**gateway_environment(), **own}


def _share(folder: Path, data: Path) -> None:
    """Give a process the house's secret and, where it is a file, its ledger: SQLite follows the link."""
    shutil.copy(folder / "secret", data / "secret")
    if (folder / "ledger.db").exists():
        os.symlink(folder / "ledger.db", data / "ledger.db")


def _pack(folder: Path, upstream: str, more: Mapping[str, Any]) -> Path:
    pack = folder / "pack"
    shutil.copytree(ROOT / "policies" / "packs" / "home", pack)
    deployment = {
        "name": "there",
        "model": "m",
        "engine": "openai",
        "base_url": upstream,
        "zone": "device",
        "max_output": 16,
        "limits": {"first_byte": 1.0, "idle": 5.0},
        "price": PRICE,
    }
    (pack / "deployments.yaml").write_text(json.dumps({"deployments": [deployment]}))
    for name, content in more.items():
        (pack / name).write_text(json.dumps(content))
    return pack


PRICE = {
    "currency": "USD",
    "per_million": {"input": "0.123457", "cached": "0.0123461", "output": "0.987653", "reasoning": "1.234567"},
    "source": "test",
    "as_of": "2026-11-01",
}
"""Prices whose single tokens cost fractions of a nano-dollar."""


async def _until_it_answers(gateway: Gateway, log: Path) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + _START_SECONDS
    async with aiohttp.ClientSession() as session:
        while loop.time() < until and gateway.process.poll() is None:
            try:
                async with session.get(f"{gateway.url}/healthz") as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.1)
    raise AssertionError(f"the gateway did not start: {log} says why")
