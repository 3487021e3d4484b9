"""Brings both databases to the newest schema: `python -m gateway.supervisor.migrate DATA`.

The environment says where the ledger is: an address with a password is no argument, since everybody sees those.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from gateway.db.address import dsn, is_postgres, parse, shown
from gateway.db.postgres import FAILURES, PASSING, connect
from gateway.settings import Settings
from migrations import upgrade

_WAIT_SECONDS = 60.0
_PAUSE_SECONDS = 1.0


def main(data: str) -> int:
    """Run the revisions that are missing; the exit code."""
    settings = Settings.from_environment(Path(data))
    if is_postgres(settings.ledger_url) and not _answers(settings.ledger_url):
        return 1
    upgrade("ledger", settings.ledger_url)
    upgrade("registry", settings.registry_url)
    return 0


def _answers(url: str, wait_seconds: float = _WAIT_SECONDS) -> bool:
    """Wait for the database server, which may be starting beside us; False, and why, if it does not let us in."""
    address = parse(url)
    ends_at = time.monotonic() + wait_seconds
    while (failure := asyncio.run(_failure(dsn(address)))) is not None:
        if time.monotonic() > ends_at or not isinstance(failure, PASSING):
            sys.stderr.write(f"the ledger's database {shown(address)} does not let us in: {_told(failure)}\n")
            return False
        time.sleep(_PAUSE_SECONDS)
    return True


async def _failure(address: str) -> Exception | None:
    """Why nobody can connect; None: one can."""
    try:
        connection = await connect(address, _PAUSE_SECONDS)
    except FAILURES as failure:
        return failure
    await connection.close()
    return None


def _told(failure: Exception) -> str:
    return str(failure) or type(failure).__name__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
