"""A deployment's server as a probe asks it: whatever cannot be read is None."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from gateway.catalog.deployments import Deployment
    from gateway.upstream.guard import Guard, Heard

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Server:
    """Where one probe asks, and when. A server that does not answer at all is UpstreamUnavailable."""

    guard: Guard
    deployment: Deployment
    at: datetime

    async def get(self, path: str) -> Heard:
        return await self.guard.get(self.deployment, path)

    async def json(self, path: str) -> Json | None:
        heard = await self.get(path)
        return heard.json() if heard.status == HTTPStatus.OK else None

    async def text(self, path: str) -> str | None:
        heard = await self.get(path)
        return heard.body.decode("utf-8", "replace") if heard.status == HTTPStatus.OK else None

    async def ask(self, path: str, body: bytes) -> Json | None:
        heard = await self.guard.ask(self.deployment, path, body, None)
        return heard.json() if heard.status == HTTPStatus.OK else None


def text(holder: Json | None, key: str) -> str | None:
    """A text of an answer, as long as a name may be."""
    value = (holder or {}).get(key)
    return value[:120] if isinstance(value, str) and value else None


def number(holder: Json | None, key: str) -> int | None:
    """A count above zero: engines write zero for what they do not know."""
    value = (holder or {}).get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def part(holder: Json | None, key: str) -> Json:
    """An object inside of an answer; empty if there is none."""
    value = (holder or {}).get(key)
    return value if isinstance(value, dict) else {}


def flag(holder: Json | None, key: str) -> bool | None:
    value = (holder or {}).get(key)
    return value if isinstance(value, bool) else None
