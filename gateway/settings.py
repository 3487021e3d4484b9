"""Where the house keeps its files, and what the environment says."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, SecretStr

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parent.parent
"""The checkout (or the installed tree) that packs, migrations and tests lie in."""
HOME_PACK = ROOT / "policies" / "packs" / "home"
"""What a new house starts with."""

# A Unix socket's path may have 108 bytes on Linux and 104 on macOS, its closing zero included.
_LONGEST_SOCKET_PATH = 100

_OFFLINE = {
    "DO_NOT_TRACK": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_OFFLINE": "1",
}
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy"})
_NEEDED = frozenset({"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT"})
_POSTGRESQL = ("postgresql://", "postgres://")
_SECRET_NAME = re.compile(r"KEY|TOKEN(?!IZERS)|SECRET|PASSWORD|CREDENTIAL|REDIS_URL|DATABASE_URL", re.IGNORECASE)


VARIABLES = {
    "SOLEIRA_DATA": "data",
    "SOLEIRA_PACK": "pack",
    "SOLEIRA_ADMIN_KEY": "admin_key",
    "SOLEIRA_REDIS_URL": "redis_url",
    "SOLEIRA_DATABASE_URL": "database_url",
    "METRICS_TOKEN": "metrics_token",
    "SOLEIRA_EMBEDDING_MODEL": "embedding_model",
}
"""The environment's variables and the settings they set."""


class SettingError(ValueError):
    """A variable of the environment has a value that cannot be meant; its message does not show the value."""


class Settings(BaseModel):
    """One house: its data directory, its pack, and the secrets that the environment carries."""

    # What was given may be a secret, also where it is wrong.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    data: Path
    pack: Path
    admin_key: SecretStr | None = None
    """The admin key; made at the first start when it is not set."""
    redis_url: str | None = None
    """A Redis or Valkey server to use; then none is started."""
    database_url: SecretStr | None = None
    """A PostgreSQL database for the ledger, `postgresql://USER:PASSWORD@HOST:5432/NAME`; a SQLite file when not set."""
    metrics_token: SecretStr | None = None
    """A token that may read `/metrics`, and nothing else."""
    embedding_model: Path | None = None
    """A sentence-transformers model's folder, in place of the bundled one."""

    @classmethod
    def from_environment(
        cls, data: Path | None = None, pack: Path | None = None, environ: Mapping[str, str] = os.environ
    ) -> Settings:
        """Read the environment; `data` and `pack` as given by options win over it. An empty variable is none."""
        values: dict[str, Any] = {field: environ[name] for name, field in VARIABLES.items() if environ.get(name)}
        _check_database(values.get("database_url"))
        chosen_data = _absolute(data or values.get("data", "data"))
        chosen_pack = _absolute(pack or values.get("pack", chosen_data / "pack"))
        return cls(**{**values, "data": chosen_data, "pack": chosen_pack})

    @property
    def own_pack(self) -> bool:
        """True if the pack is the data directory's own copy, which the first start makes."""
        return self.pack == self.data / "pack"

    @property
    def ledger_path(self) -> Path:
        return self.data / "ledger.db"

    @property
    def ledger_url(self) -> str:
        """Where the ledger is, password included: not to be shown."""
        if self.database_url is not None:
            return self.database_url.get_secret_value()
        return f"sqlite+aiosqlite:///{self.ledger_path}"

    @property
    def database_environment(self) -> dict[str, str]:
        """What a child that opens the ledger has to be told."""
        return {} if self.database_url is None else {"SOLEIRA_DATABASE_URL": self.database_url.get_secret_value()}

    @property
    def registry_path(self) -> Path:
        return self.data / "registry.db"

    @property
    def registry_url(self) -> str:
        return f"sqlite+aiosqlite:///{self.registry_path}"

    @property
    def logs(self) -> Path:
        return self.data / "logs"

    @property
    def models(self) -> Path:
        return self.data / "models"

    @property
    def valkey_dir(self) -> Path:
        return self.data / "valkey"

    @property
    def samples_marker(self) -> Path:
        """There once the sample documents were taken in, so that deleting them is for good."""
        return self.data / "samples.ingested"

    @property
    def lock(self) -> Path:
        return self.data / "lock"

    @property
    def secret(self) -> Path:
        return self.data / "secret"

    @property
    def admin_digest_path(self) -> Path:
        """The SHA-256 of the admin key that the first start made."""
        return self.data / "admin_key.sha256"

    @property
    def admin_digest(self) -> str | None:
        """SHA-256 (hex) of the environment's admin key, else of the one that was made; None before the first start."""
        if self.admin_key is not None:
            return digest_of(self.admin_key.get_secret_value())
        try:
            return self.admin_digest_path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None

    @property
    def run_dir(self) -> Path:
        return run_dir(self.data)

    @property
    def admin_socket(self) -> Path:
        return self.run_dir / "admin.sock"

    @property
    def retrieval_socket(self) -> Path:
        return self.run_dir / "retrieval.sock"

    @property
    def valkey_socket(self) -> Path:
        return self.run_dir / "valkey.sock"

    @property
    def engine_socket(self) -> Path:
        return self.run_dir / "engine.sock"

    @property
    def redis(self) -> str:
        """The server for limits and revocation: the configured one, else the child's socket."""
        return self.redis_url or f"unix://{self.valkey_socket}"


def digest_of(key: str) -> str:
    """The digest an API key is kept and known by. Keys are long and random, so one plain hash is enough."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def run_dir(data: Path) -> Path:
    """The directory of the sockets: `DATA/run`, or a short one in /tmp where that path is too long for a socket."""
    usual = data.resolve() / "run"
    if len(os.fsencode(usual / "retrieval.sock")) <= _LONGEST_SOCKET_PATH:
        return usual
    digest = hashlib.sha256(os.fsencode(data.resolve())).hexdigest()[:8]
    return Path(f"/tmp/soleira-{os.getuid()}-{digest}")  # noqa: S108 - made 0700 and checked for its owner by the supervisor


def gateway_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The gateway's environment, deployments' keys included: nothing is fetched or reported, no proxy is used."""
    kept = {name: value for name, value in environ.items() if name.lower() not in _PROXIES}
    return {**kept, **_OFFLINE, "PYTHONPATH": _python_path(environ), "PYTHONUNBUFFERED": "1"}


def child_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of the other children, who have no use for keys."""
    return {name: value for name, value in gateway_environment(environ).items() if not _SECRET_NAME.search(name)}


def closed_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a child that foreign code runs in: what a Python process needs, and nothing of this house."""
    kept = {name: value for name, value in environ.items() if name in _NEEDED or name.startswith("LC_")}
    return {**kept, **_OFFLINE, "PYTHONPATH": _python_path(environ), "PYTHONUNBUFFERED": "1"}


def _python_path(environ: Mapping[str, str]) -> str:
    others = [part for part in environ.get("PYTHONPATH", "").split(os.pathsep) if part and part != str(ROOT)]
    return os.pathsep.join([str(ROOT), *others])


def _check_database(url: str | None) -> None:
    if url is not None and not url.startswith(_POSTGRESQL):
        raise SettingError(
            "SOLEIRA_DATABASE_URL names no PostgreSQL database: write postgresql://USER:PASSWORD@HOST:5432/NAME, "
            "or leave it out for a SQLite file in the data directory"
        )


def _absolute(path: Path | str) -> Path:
    return Path(path).expanduser().resolve()
