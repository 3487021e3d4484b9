"""The ledger as commands use it: asked of a running gateway, or opened here."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlencode

from gateway.cli import reach, running
from gateway.db import keys
from gateway.db.engine import open_engine
from gateway.ledger.spend import spend
from policies.load import load_pack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from datetime import tzinfo
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.keys import KeyRow, KeySpec
    from gateway.ledger.spans import Question
    from gateway.settings import Settings

Json = dict[str, Any]


class Ledger(Protocol):
    """What the command line asks of the ledger; answers are as `--json` prints them."""

    def create_key(self, spec: KeySpec) -> Json: ...
    def list_keys(self) -> list[Json]: ...
    def revoke_key(self, name: str) -> bool: ...
    def spend(self, question: Question) -> Json: ...


@contextmanager
def opened(settings: Settings) -> Iterator[Ledger]:
    """The running gateway's ledger, or the file itself where no house is running."""
    with reach.files(settings, settings.admin_socket) as ours:
        yield OpenedLedger(settings) if ours else RunningLedger(settings.admin_socket)


class OpenedLedger:
    """The ledger itself, opened by this process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

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

    def spend(self, question: Question) -> Json:
        async def total() -> Json:
            span = question.span(self._zone(question))
            async with self._engine() as engine:
                return (await spend(engine, span, question.grouping, question.where)).as_dict()

        return asyncio.run(total())

    def _zone(self, question: Question) -> tzinfo:
        """The pack's; where nothing asks for a calendar, a pack that is wrong keeps nobody from what was spent."""
        if not (question.start or question.end or question.by):
            return UTC
        return load_pack(self._settings.pack, self._settings.models).budgets.zone

    @asynccontextmanager
    async def _engine(self) -> AsyncIterator[AsyncEngine]:
        engine = open_engine(self._settings.ledger_url)
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

    def spend(self, question: Question) -> Json:
        words = [("from", question.start), ("to", question.end), ("group_by", question.by)]
        only = [(name, value) for name, values in question.where.items() for value in values]
        total: Json = running.ask(self._path, "GET", f"/spend?{urlencode([*words, *only])}")
        return total
