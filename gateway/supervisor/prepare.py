"""The first start's work, each step of which a later start finds done."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

from gateway.db.storage import refuse_network
from gateway.settings import HOME_PACK, Settings, child_environment, digest_of

if TYPE_CHECKING:
    from pathlib import Path


class UnsafeDirectoryError(Exception):
    """A directory that the house needs cannot be its own."""


class MigrationError(Exception):
    """A database could not be brought to the newest schema."""


def directories(settings: Settings) -> None:
    """Make the data directory, for its owner alone, and the folders in it."""
    try:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UnsafeDirectoryError(f"{settings.data} is no directory: name another one with --data") from None
    for folder in (settings.logs, settings.models, settings.valkey_dir):
        folder.mkdir(mode=0o700, exist_ok=True)
    _private_directory(settings.run_dir)


def files(settings: Settings) -> None:
    """Make the secret and the pack, and bring both databases to the newest schema."""
    refuse_network(settings.ledger_path)
    if not settings.secret.exists():
        _write_private(settings.secret, secrets.token_bytes(32))
    if settings.own_pack and not settings.pack.exists():
        _copy_pack(settings.pack)
    _migrate(settings)


def admin_key(settings: Settings) -> str | None:
    """Make the admin key and keep its digest; None if there is one already."""
    if settings.admin_digest is not None:
        return None
    key = f"sk-soleira-admin-{secrets.token_urlsafe(32)}"
    _write_private(settings.admin_digest_path, digest_of(key).encode())
    return key


def _private_directory(folder: Path) -> None:
    # The short directory lies in /tmp, where anybody may have made that name before us.
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise UnsafeDirectoryError(
            f"{folder} belongs to somebody else: remove it, or choose a shorter --data directory"
        )
    folder.chmod(0o700)


def _copy_pack(target: Path) -> None:
    # A copy that was interrupted must not look like a pack.
    unfinished = target.with_name("pack.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(HOME_PACK, unfinished)
    unfinished.rename(target)


def _migrate(settings: Settings) -> None:
    # In a process of its own: what migrations import would stay in this one for as long as the house runs.
    # It reads the server's address, which may hold a password, from its environment: arguments are everybody's to see.
    command = (sys.executable, "-P", "-m", "gateway.supervisor.migrate", str(settings.data))
    environment = {**child_environment(), **settings.database_environment}
    if subprocess.run(command, env=environment, check=False).returncode:
        server = " or the server that SOLEIRA_DATABASE_URL names" if settings.database_url else ""
        raise MigrationError(
            f"the databases in {settings.data}{server} could not be opened or updated: the reason is above"
        )


def _write_private(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
