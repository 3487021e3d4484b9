"""Holds the pack in force: a candidate is checked whole, with its tests, then swapped in; a bad one changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from gateway.catalog import load as catalog_load
from gateway.catalog.load import Catalog, CatalogError
from policies.load import Pack, PackError, load_pack
from policies.testing import run_tests

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

log = structlog.get_logger()

_POLL_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Loaded:
    """One version of a pack with its callable deployments; a request keeps the one it began with."""

    pack: Pack
    catalog: Catalog


class Packs:
    """The pack folder of this house; `current` is what is in force."""

    def __init__(self, folder: Path, environment: Mapping[str, str], engine_socket: Path | None) -> None:
        self._folder = folder
        self._environment = environment
        self._engine_socket = engine_socket
        self.current = self._load()
        self.last_error: str | None = None

    def reload(self) -> Loaded:
        """Put the folder's present content in force; PackError or CatalogError leaves the old one."""
        try:
            self.current = self._load()
        except (PackError, CatalogError) as error:
            self.last_error = str(error)
            raise
        self.last_error = None
        return self.current

    async def follow(self) -> None:
        """Reload whenever a file of the folder changes, until cancelled; a bad state is told once."""
        seen = self._stamp()
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            stamp = self._stamp()
            if stamp == seen:
                continue
            seen = stamp
            try:
                loaded = await asyncio.to_thread(self.reload)
            except (PackError, CatalogError) as error:
                log.error("pack_refused", problems=str(error))
                continue
            log.info("pack_loaded", version=loaded.pack.version)

    def _load(self) -> Loaded:
        pack = load_pack(self._folder)
        failed = [outcome for outcome in run_tests(pack) if not outcome.passed]
        if failed:
            lines = (f"rules_test.yaml:{outcome.line}: {outcome.name}: {outcome.message}" for outcome in failed)
            raise CatalogError("\n".join(["the pack's own tests fail, so it is not put in force:", *lines]))
        catalog = catalog_load.load(pack, self._environment, self._engine_socket)
        return Loaded(replace(pack, builtin=catalog.builtin_zones()), catalog)

    def _stamp(self) -> tuple[tuple[str, int, int], ...]:
        stamps = []
        for file in sorted(self._folder.glob("*.yaml")):
            with contextlib.suppress(FileNotFoundError):  # an editor replaces files; the next look sees the new one
                stat = file.stat()
                stamps.append((file.name, stat.st_mtime_ns, stat.st_size))
        return tuple(stamps)
