"""Keeps whole answers for a while, to give them again to the very same request of the very same caller.

Off unless the pack says for how long (`cache: {seconds: …}` in budgets.yaml). The store holds keyed digests of
requests, never requests; answers are authenticated, and not encrypted: stores of this machine alone hold them.
"""

from __future__ import annotations

import asyncio
import hmac
from dataclasses import dataclass, field
from hashlib import sha256
from ipaddress import ip_address
from typing import TYPE_CHECKING

import msgspec
import structlog
from redis.exceptions import RedisError

from gateway.wire.lanes import Usage

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from redis.asyncio import Redis


log = structlog.get_logger()

LARGEST = 1 << 20
"""Bytes of an answer beyond which it is not kept."""
_STORE_SECONDS = 0.25
"""A store that is slow must not be worse than none."""
_FULL = 0.75
"""The part of the store's memory beyond which nothing more is kept until what is kept runs out."""
_PREFIX = b"soleira:answer:"
_FORM = b"1"
"""What kept answers look like; those of another form are none."""
_MAC_BYTES = 32


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer as it was given, complete."""

    body: bytes
    """A JSON answer, or the events of a stream as they were sent, without keep-alives and the closing comment."""
    deployment: str
    """Who gave it."""
    usage: Usage
    cost_nano_usd: int
    """What it cost then: that is what giving it again saves."""
    model: str | None = None
    """The model that said to have answered, where it was not the one that was asked."""


@dataclass(slots=True)
class Copy:
    """Takes down an answer that goes by; what grows beyond the largest that is kept is dropped at once."""

    most: int = LARGEST
    _parts: list[bytes] = field(default_factory=list)
    _size: int = 0

    def add(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self.most:
            self._parts.clear()
            return
        self._parts.append(data)

    @property
    def body(self) -> bytes | None:
        """The whole; None if it is too large to be kept, or nothing."""
        return b"".join(self._parts) if 0 < self._size <= self.most else None


class ResponseCache:
    """The answers that are kept, by all gateway processes of one house; a store that is away has none."""

    def __init__(self, store: Redis, secret: bytes, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock
        self._naming = hmac.digest(secret, b"response cache: names", "sha256")
        self._sealing = hmac.digest(secret, b"response cache: answers", "sha256")
        self._away = False
        self._had_room = True
        self.is_here = is_on_this_machine(store)
        """False: the store is somebody else's machine, and nothing is kept there."""

    def name(self, request: tuple[object, ...]) -> bytes:
        """What the answer to a request is kept under; `request` says all that the answer depends on."""
        return _PREFIX + hmac.digest(self._naming, msgspec.msgpack.encode(request), "sha256").hex().encode()

    async def get(self, key: bytes) -> Kept | None:
        """The answer that is kept under the name, None if there is none, or none that this house has written."""
        if not self.is_here:
            return None
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                sealed = await self._store.get(key)
        except (RedisError, OSError) as failure:
            self._say_away(failure)
            return None
        self._away = False
        return self._opened(key, sealed) if isinstance(sealed, bytes) else None

    async def put(self, key: bytes, kept: Kept, seconds: int) -> None:
        """Keep a complete answer for so many seconds; none that is too large, and none in a store that fills up."""
        if not self.is_here or len(kept.body) > LARGEST:
            return
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                if not await self._has_room():
                    return
                await self._store.set(key, self._sealed(key, kept, seconds), ex=seconds)
        except (RedisError, OSError) as failure:
            self._say_away(failure)
            return
        self._away = False

    async def _has_room(self) -> bool:
        """False where the store is near its limit: it would drop counts of limits and rests to keep an answer."""
        memory = await self._store.info("memory")
        most, used = int(memory.get("maxmemory", 0)), int(memory.get("used_memory", 0))
        has_room = not most or used < most * _FULL
        if self._had_room and not has_room:
            log.warning("response_cache_full", used_bytes=used, most_bytes=most)
        self._had_room = has_room
        return has_room

    def _sealed(self, key: bytes, kept: Kept, seconds: int) -> bytes:
        plain = msgspec.msgpack.encode(_Dated(kept, self._clock().timestamp() + seconds))
        return self._mac(key, plain) + plain

    def _opened(self, key: bytes, sealed: bytes) -> Kept | None:
        """What was sealed under this very name and has not run out, whatever the store says."""
        mac, plain = sealed[:_MAC_BYTES], sealed[_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(key, plain)):
            return None
        try:
            dated = msgspec.msgpack.decode(plain, type=_Dated)
        except msgspec.DecodeError:
            return None  # kept by another release
        return dated.kept if self._clock().timestamp() < dated.until else None

    def _mac(self, key: bytes, plain: bytes) -> bytes:
        return hmac.digest(self._sealing, b"\0".join((_FORM, key, plain)), sha256)

    def _say_away(self, failure: Exception) -> None:
        """Say once that the store is away; nothing is kept until it is back."""
        if not self._away:
            log.warning("response_cache_away", failure=type(failure).__name__)
        self._away = True


@dataclass(frozen=True, slots=True)
class _Dated:
    kept: Kept
    until: float
    """Seconds since 1970."""


def is_on_this_machine(store: Redis) -> bool:
    """True if the store is reached by a Unix socket or by loopback."""
    place = store.connection_pool.connection_kwargs
    if "path" in place:
        return True
    host = str(place.get("host", "localhost"))
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
