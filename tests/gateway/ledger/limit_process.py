"""A process that asks for many calls at once over a shared store, and keeps those it gets until it is told to go.

`python -m tests.gateway.ledger.limit_process SOCKET CALLS LIMITS-AS-JSON`; it is led by lines on its input.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack

from redis.asyncio import Redis

from gateway.errors import RateLimitExceeded
from gateway.ledger.entries import Account
from gateway.ledger.limits import Limits
from policies.budgets import Budgets, RateLimit, own_limits
from policies.pack import Pack
from tests.gateway.ledger.packs import a_pack

LEASE_SECONDS = 2.0
PATIENT = 60.0
"""A busy machine must not make the store look as if it were away."""


async def main(socket: str, calls: int, own: tuple[RateLimit, ...]) -> None:
    store = Redis.from_url(f"unix://{socket}")
    limits = Limits(store, lease_seconds=LEASE_SECONDS, store_seconds=PATIENT)
    keeping = asyncio.create_task(limits.keep())
    pack = a_pack(Budgets())
    say("ready")
    async with AsyncExitStack() as kept:
        while (told := await asyncio.to_thread(sys.stdin.readline)).strip() == "go":
            admitted = await asyncio.gather(*(enter(limits, pack, own, kept) for _ in range(calls)))
            say(json.dumps({"admitted": sum(admitted)}))
    say(f"left after {told.strip() or 'the end'}")
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    await store.aclose()


async def enter(limits: Limits, pack: Pack, own: tuple[RateLimit, ...], kept: AsyncExitStack) -> bool:
    try:
        await kept.enter_async_context(limits.enter(pack, own, Account("ana"), 10))
    except RateLimitExceeded:
        return False
    return True


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), own_limits("ana", **json.loads(sys.argv[3]))))
