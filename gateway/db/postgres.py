"""Connects to a ledger on PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg

if TYPE_CHECKING:
    from collections.abc import Mapping

FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""What is raised where the server refuses a client or cannot be reached; a time-out is an OSError too."""

PASSING = (OSError, asyncpg.CannotConnectNowError, asyncpg.TooManyConnectionsError)
"""Those of them that waiting may mend; a wrong password is none."""

_CONNECT_SECONDS = 5.0
_SESSION = {
    "application_name": "soleira",
    "lock_timeout": "8s",
    # A gateway that stands still in the middle of a transaction must not keep the others out.
    "idle_in_transaction_session_timeout": "15s",
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}


async def connect(dsn: str, command_seconds: float | None, session: Mapping[str, str] = {}) -> asyncpg.Connection:
    """A new connection, on which a command may take so long; one of FAILURES if there is none to be had."""
    settings = {**_SESSION, **session}
    return await asyncpg.connect(
        dsn, timeout=_CONNECT_SECONDS, command_timeout=command_seconds, server_settings=settings
    )
