"""Who calls: an API key becomes a principal, kept for a few seconds, forgotten at once when it is revoked."""

from __future__ import annotations

import hmac
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.db import keys
from gateway.errors import Unauthenticated
from policies.labels import Label, Level, Sensitivity

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.keys import KeyRow, Role
    from policies.budgets import Budget, RateLimit

_KEPT_SECONDS = 5.0
_KEPT_KEYS = 10_000


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller. It says what may be read, never what may be sent."""

    name: str
    groups: frozenset[str] = frozenset()
    clearance: Sensitivity = Sensitivity(Level.PRIVATE)
    default_label: Label | None = None
    collections: frozenset[str] = frozenset()
    is_admin: bool = False
    person: str = ""
    """Whose key it is; empty: the key's own name stands for the person."""
    role: Role = "caller"
    """A reader sees figures and calls nothing."""
    budgets: tuple[Budget, ...] = ()
    """The key's own, beside the pack's."""
    limits: tuple[RateLimit, ...] = ()


ADMIN = Principal("admin", clearance=Sensitivity(Level.SECRET), is_admin=True)


class Principals:
    """Verifies API keys against the ledger; the admin key is compared by its digest."""

    def __init__(self, engine: AsyncEngine, admin_digest: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._admin_digest = admin_digest
        self._clock = clock
        self._kept: dict[str, tuple[float, Principal]] = {}

    async def verify(self, key: str | None) -> Principal:
        """Return the key's principal; Unauthenticated if there is none."""
        if not key:
            raise Unauthenticated("no API key was sent: use 'Authorization: Bearer KEY' or 'x-api-key: KEY'")
        digest = keys.digest_of(key)
        if hmac.compare_digest(digest, self._admin_digest):
            return ADMIN
        kept = self._kept.get(digest)
        if kept is not None and kept[0] > self._clock():
            return kept[1]
        return await self._look_up(digest)

    def forget(self, digest: str | None = None) -> None:
        """Drop a revoked key at once, or all of them."""
        if digest is None:
            self._kept.clear()
            return
        self._kept.pop(digest, None)

    async def _look_up(self, digest: str) -> Principal:
        row = await keys.find(self._engine, digest)
        if row is None:
            self._kept.pop(digest, None)
            raise Unauthenticated("this API key is unknown or was revoked: 'soleira keys list' shows the valid ones")
        principal = _principal(row)
        if len(self._kept) >= _KEPT_KEYS:
            self._kept.clear()
        self._kept[digest] = (self._clock() + _KEPT_SECONDS, principal)
        return principal


def _principal(row: KeyRow) -> Principal:
    return Principal(
        name=row.name,
        groups=frozenset(row.groups),
        clearance=row.clearance,
        default_label=row.default_label,
        collections=frozenset(row.collections),
        person=row.person or "",
        role=row.role,
        budgets=row.budgets,
        limits=row.limits,
    )
