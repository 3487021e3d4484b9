"""Holds the pack in force: a candidate is checked whole, with its tests, then swapped in; a bad one changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import structlog

from gateway.catalog import load as catalog_load
from gateway.catalog.load import Catalog, CatalogError
from gateway.errors import NotLocal
from policies.load import Pack, PackError, load_pack
from policies.testing import run_tests

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from pathlib import Path

    from gateway.catalog.deployments import Deployment
    from gateway.catalog.engines import Engines

log = structlog.get_logger()

_POLL_SECONDS = 2.0
REFUSALS = (PackError, CatalogError, NotLocal)
"""Why a pack is not put in force."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """One version of a pack with its callable deployments; a request keeps the one it began with."""

    pack: Pack
    catalog: Catalog


@dataclass(frozen=True, slots=True)
class Folder:
    """Where packs of this house come from, and what proves them."""

    path: Path
    environment: Mapping[str, str]
    engine_socket: Path | None
    """The demonstration engine's; None where it cannot run."""
    prove: Callable[[Iterable[Deployment]], Awaitable[None]]
    """NotLocal if a deployment in a zone of the house leads elsewhere."""
    engines: Engines | None = None
    """Those of the house's own GGUF files; None where nobody runs them."""

    async def load(self) -> Loaded:
        """Read, check, test and prove the folder's content."""
        loaded = await asyncio.to_thread(self._read)
        await self.prove(loaded.catalog.deployments)
        return loaded

    def _read(self) -> Loaded:
        pack = load_pack(self.path, self.engines.models if self.engines else None)
        catalog = catalog_load.load(pack, self.environment, self.engine_socket, self.engines)
        pack = replace(pack, builtin=catalog.builtin_zones())
        failed = [outcome for outcome in run_tests(pack) if not outcome.passed]
        if failed:
            lines = (f"rules_test.yaml:{outcome.line}: {outcome.name}: {outcome.message}" for outcome in failed)
            raise CatalogError("\n".join(["the pack's own tests fail, so it is not put in force:", *lines]))
        return Loaded(pack, catalog)


class Packs:
    """The pack folder of this house; `current` is what is in force."""

    def __init__(self, folder: Folder, loaded: Loaded) -> None:
        self._folder = folder
        self.current = loaded
        self.last_error: str | None = None

    @classmethod
    async def open(cls, folder: Folder) -> Self:
        """Put the folder's content in force for the first time; REFUSALS if it cannot be."""
        return cls(folder, await folder.load())

    async def reload(self) -> Loaded:
        """Put the folder's present content in force; REFUSALS, and then the old one stays."""
        try:
            self.current = await self._folder.load()
        except REFUSALS as error:
            self.last_error = str(error)
            raise
        self.last_error = None
        log.info("pack_loaded", version=self.current.pack.version)
        return self.current

    async def follow(self, changed: Callable[[], Awaitable[None]]) -> None:
        """Reload whenever a file of the folder changes, until cancelled; a bad state is told once."""
        seen = self._stamp()
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            stamp = self._stamp()
            if stamp == seen:
                continue
            seen = stamp
            try:
                await self.reload()
            except REFUSALS as error:
                log.error("pack_refused", problems=str(error))
                continue
            await changed()

    def _stamp(self) -> tuple[tuple[str, int, int], ...]:
        stamps = []
        for file in sorted(self._folder.path.glob("*.yaml")):
            with contextlib.suppress(FileNotFoundError):  # an editor replaces files; the next look sees the new one
                stat = file.stat()
                stamps.append((file.name, stat.st_mtime_ns, stat.st_size))
        return tuple(stamps)
