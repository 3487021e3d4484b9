"""A house that serves every endpoint from one fake upstream, whose next answers a test sets."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateway.db import attempts
from tests.gateway.house import house
from tests.wire.endpoints import ENDPOINTS, Endpoint, ask
from tests.wire.upstream import fake_upstream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from gateway.db.attempts import AttemptRow
    from tests.gateway.house import House
    from tests.wire.endpoints import Given, Json
    from tests.wire.upstream import Script, Upstream


@dataclass
class Wall:
    """The gateway and what stands behind it."""

    home: House
    upstream: Upstream

    async def ask(
        self, endpoint: Endpoint, body: Json | bytes, *scripts: Script, headers: Mapping[str, str] | None = None
    ) -> Given:
        """Ask at an endpoint; the upstream answers the first of its requests with the first script, and so on."""
        self.answers(*scripts)
        return await ask(self.home.url, endpoint, body, headers)

    def answers(self, *scripts: Script) -> None:
        """Let the upstream begin anew."""
        self.upstream.scripts = scripts
        self.upstream.requests.clear()
        self.upstream.asked.clear()
        self.upstream.left.clear()

    async def attempts(self, given: Given) -> list[AttemptRow]:
        """The ledger's attempts of one answer."""
        return await attempts.of_decision(self.home.runtime.engine, given.headers["soleira-decision"])


@asynccontextmanager
async def wall(data: Path, **more: Any) -> AsyncIterator[Wall]:
    """Run the house; `more` is stated of every deployment."""
    async with fake_upstream() as upstream:
        listed = [endpoint.deployment(upstream.url, **more) for endpoint in ENDPOINTS]
        async with house(data, listed) as home:
            yield Wall(home, upstream)
