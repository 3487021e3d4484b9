"""The ledger as commands use it: asked of a running gateway, or opened here."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from gateway.cli import reach, running
from gateway.db import keys
from gateway.db.engine import open_engine
from gateway.ledger.spend import spend

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.keys import KeyRow, KeySpec
    from gateway.settings import Settings

Json = dict[str, Any]


class Ledger(Protocol):
    """What the command line asks of the ledger; answers are as `--json` prints them."""

    def create_key(self, spec: KeySpec) -> Json: ...
    def list_keys(self) -> list[Json]: ...
    def revoke_key(self, name: str) -> bool: ...
    def spend(self) -> Json: ...


@contextmanager
def opened(settings: Settings) -> Iterator[Ledger]:
    """The running gateway's ledger, or the file itself where no house is running."""
    with reach.files(settings, settings.admin_socket) as ours:
        yield OpenedLedger(settings.ledger_url) if ours else RunningLedger(settings.admin_socket)


class OpenedLedger:
    """The ledger's file, opened by this process."""

    def __init__(self, url: str) -> None:
        self._url = url

    def create_key(self, spec: KeySpec) -> Json:
        async def create() -> str:
            async with self._engine() as engine:
                return await keys.create(engine, spec)

        return {"key": asyncio.run(create()), **spec.as_dict()}

    def list_keys(self) -> list[Json]:
        async def listed() -> list[KeyRow]:
            async with self._engine() as engine:
                return await keys.list_keys(engine)

        return [row.as_dict() for row in asyncio.run(listed())]

    def revoke_key(self, name: str) -> bool:
        async def revoke() -> str | None:
            async with self._engine() as engine:
                return await keys.revoke(engine, name)

        return asyncio.run(revoke()) is not None

    def spend(self) -> Json:
        async def total() -> Json:
            async with self._engine() as engine:
                return (await spend(engine)).as_dict()

        return asyncio.run(total())

    @asynccontextmanager
    async def _engine(self) -> AsyncIterator[AsyncEngine]:
        engine = open_engine(self._url)
        try:
            yield engine
        finally:
            await engine.dispose()


class RunningLedger:
    """A running gateway's admin socket; whoever may open it is the owner."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def create_key(self, spec: KeySpec) -> Json:
        created: Json = running.ask(self._path, "POST", "/keys", spec.as_dict())
        return created

    def list_keys(self) -> list[Json]:
        listed: list[Json] = running.ask(self._path, "GET", "/keys")
        return listed

    def revoke_key(self, name: str) -> bool:
        try:
            running.ask(self._path, "DELETE", f"/keys/{quote(name, safe='')}")
        except running.RefusedByGatewayError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return False
            raise
        return True

    def spend(self) -> Json:
        total: Json = running.ask(self._path, "GET", "/spend")
        return total
