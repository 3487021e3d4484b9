"""Where the ledger is: a SQLite file, or a PostgreSQL database by its URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

if TYPE_CHECKING:
    from sqlalchemy import URL

_POSTGRES = frozenset({"postgres", "postgresql", "postgresql+asyncpg"})


def parse(url: str) -> URL:
    """The address; ValueError, which never shows the URL and so no password, if it cannot be one."""
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):  # its text holds what was given
        raise ValueError("this is no database URL: write postgresql://USER:PASSWORD@HOST:5432/NAME") from None
    if address.drivername in _POSTGRES:
        return address.set(drivername="postgresql")
    if address.get_backend_name() == "sqlite":
        return address
    raise ValueError(f"the ledger is kept in SQLite or PostgreSQL, not in {address.drivername!r}")


def is_postgres(url: str) -> bool:
    """True if the URL names a PostgreSQL database."""
    return parse(url).drivername == "postgresql"


def dsn(address: URL) -> str:
    """The URL as PostgreSQL's own clients read it, password included: not to be shown."""
    return address.render_as_string(hide_password=False)


def shown(address: URL) -> str:
    """The address as it may be logged: without password, and without parameters, which may hold one."""
    return address.set(query={}).render_as_string(hide_password=True)
