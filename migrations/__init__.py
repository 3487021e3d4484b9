"""Brings a database to the newest schema of its branch: `ledger` or `registry`, each a folder of revisions."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from gateway.db.address import dsn, parse
from gateway.db.storage import refuse_network

Branch = Literal["ledger", "registry"]

_HERE = Path(__file__).parent
_SYNCHRONOUS_DRIVERS = {"sqlite+aiosqlite": "sqlite"}


def upgrade(branch: Branch, url: str) -> None:
    """Bring the database to the newest revision; a SQLite file is made if missing, readable by its owner only.

    A PostgreSQL database is there already: its owner has made it.
    """
    address = parse(url)
    if address.drivername != "postgresql" and address.database:
        _make_private(Path(address.database))
    command.upgrade(configuration(branch, url), "head")


def head(branch: Branch) -> str:
    """The newest revision of a branch."""
    revision = ScriptDirectory(str(_HERE / branch)).get_current_head()
    if revision is None:
        raise LookupError(f"the branch {branch!r} has no revision")
    return revision


def configuration(branch: Branch, url: str) -> Config:
    """Alembic's configuration of a branch, for `alembic.command`; there is no alembic.ini."""
    address = parse(url)
    address = address.set(drivername=_SYNCHRONOUS_DRIVERS.get(address.drivername, address.drivername))
    config = Config()
    # The values go through a format with `%`.
    config.set_main_option("script_location", str(_HERE / branch).replace("%", "%%"))
    config.set_main_option("sqlalchemy.url", dsn(address).replace("%", "%%"))
    return config


def _make_private(path: Path) -> None:
    refuse_network(path)
    path.touch(mode=0o600)
