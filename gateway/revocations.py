"""Tells every gateway process at once that a key was revoked; without the channel a key lives on for seconds only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from redis.exceptions import RedisError
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from gateway.principals import Principals

log = structlog.get_logger()

_CHANNEL = "soleira:revoked"


class Revocations:
    """The revocation channel of one store, read for one process's kept principals."""

    def __init__(self, store: Redis, principals: Principals) -> None:
        self._store = store
        self._principals = principals

    async def announce(self, digest: str) -> None:
        """Forget the key here, and say so to the other processes; while the store is away they learn it by time."""
        self._principals.forget(digest)
        try:
            await self._store.publish(_CHANNEL, digest)
        except (RedisError, OSError) as failure:
            log.warning("revocation_not_announced", failure=failure)

    async def listen(self) -> None:
        """Read the channel until cancelled; a lost connection is made again."""
        retrying = AsyncRetrying(
            wait=wait_random_exponential(multiplier=0.2, max=5),
            retry=retry_if_exception_type((RedisError, OSError)),
            before_sleep=_tell,
        )
        async for attempt in retrying:
            with attempt:
                await self._read()

    async def _read(self) -> None:
        async with self._store.pubsub() as channel:
            await channel.subscribe(_CHANNEL)
            self._principals.forget()  # what was said while nobody listened is made up for
            async for message in channel.listen():
                if message["type"] == "message":
                    self._principals.forget(message["data"].decode("ascii", "replace"))
        raise RedisError("the revocation channel was closed")


def _tell(state: RetryCallState) -> None:
    """Say once that the channel is away; keys then live for their few seconds."""
    if state.attempt_number == 1 and state.outcome is not None:
        log.warning("revocation_channel_away", failure=state.outcome.exception())
