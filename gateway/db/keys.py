"""API keys: kept as digests, so that the ledger holds nothing anybody could sign in with."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from gateway.db.engine import transaction
from gateway.db.tables import api_keys
from gateway.errors import BadRequest, Conflict
from policies.labels import Label, Level, Sensitivity

if TYPE_CHECKING:
    from sqlalchemy import Row
    from sqlalchemy.ext.asyncio import AsyncEngine

_PREFIX = "sk-soleira-"
_SHOWN = 16


RESERVED = frozenset({"admin"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


@dataclass(frozen=True, slots=True)
class KeySpec:
    """A key as it is asked for. Its name is the principal's: decisions and marks go by it, also under a new key."""

    name: str
    groups: tuple[str, ...] = ()
    clearance: Sensitivity = field(default_factory=lambda: Sensitivity(Level.PRIVATE))
    default_label: Label | None = None
    collections: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """The form for JSON, with labels as they are written in packs."""
        return {
            "name": self.name,
            "groups": list(self.groups),
            "clearance": str(self.clearance),
            "label": None if self.default_label is None else str(self.default_label),
            "collections": list(self.collections),
        }


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key as it is kept."""

    name: str
    digest: str
    prefix: str
    groups: tuple[str, ...]
    clearance: Sensitivity
    default_label: Label | None
    collections: tuple[str, ...]
    created_at: datetime
    revoked_at: datetime | None

    def as_dict(self) -> dict[str, object]:
        """The form for JSON; the digest stays here."""
        spec = KeySpec(self.name, self.groups, self.clearance, self.default_label, self.collections)
        return {
            **spec.as_dict(),
            "prefix": self.prefix,
            "created_at": self.created_at.isoformat(),
            "revoked_at": None if self.revoked_at is None else self.revoked_at.isoformat(),
        }


async def create(engine: AsyncEngine, spec: KeySpec, key: str | None = None) -> str:
    """Keep a new key and return its text, which is not kept; Conflict if the name is taken."""
    if not _NAME.match(spec.name):
        raise BadRequest("a key's name has letters, digits and . _ - only, at most 64", param="name")
    if spec.name in RESERVED:
        raise Conflict(f"{spec.name!r} is Soleira's own: choose another name")
    text = key or _PREFIX + secrets.token_urlsafe(32)
    try:
        async with transaction(engine) as connection:
            await connection.execute(insert(api_keys).values(**_columns(spec), **_identity(text)))
    except IntegrityError:
        raise Conflict(f"there is a key named {spec.name!r} already: choose another name, or revoke it first") from None
    return text


async def list_keys(engine: AsyncEngine) -> list[KeyRow]:
    """All keys, revoked ones too, in the order they were made."""
    async with transaction(engine) as connection:
        rows = (await connection.execute(select(api_keys).order_by(api_keys.c.id))).all()
    return [_key(row) for row in rows]


async def find(engine: AsyncEngine, digest: str) -> KeyRow | None:
    """The living key with this digest."""
    query = select(api_keys).where(api_keys.c.digest == digest, api_keys.c.revoked_at.is_(None))
    async with transaction(engine) as connection:
        row = (await connection.execute(query)).one_or_none()
    return None if row is None else _key(row)


async def revoke(engine: AsyncEngine, name: str) -> str | None:
    """Revoke the living key of this name and return its digest, for those that keep it; None if there is none."""
    revocation = (
        update(api_keys)
        .where(api_keys.c.name == name, api_keys.c.revoked_at.is_(None))
        .values(revoked_at=datetime.now(UTC))
        .returning(api_keys.c.digest)
    )
    async with transaction(engine) as connection:
        digest: str | None = (await connection.execute(revocation)).scalar_one_or_none()
    return digest


def digest_of(key: str) -> str:
    """The digest a key is known by. Keys are long and random, so one plain hash is enough."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _columns(spec: KeySpec) -> dict[str, object]:
    return {
        "name": spec.name,
        "groups": spec.groups,
        "clearance": str(spec.clearance),
        "default_label": None if spec.default_label is None else str(spec.default_label),
        "collections": spec.collections,
    }


def _identity(key: str) -> dict[str, object]:
    return {"digest": digest_of(key), "prefix": key[:_SHOWN], "created_at": datetime.now(UTC)}


def _key(row: Row[Any]) -> KeyRow:
    return KeyRow(
        name=row.name,
        digest=row.digest,
        prefix=row.prefix,
        groups=row.groups,
        clearance=Sensitivity.parse(row.clearance),
        default_label=None if row.default_label is None else Label.parse(row.default_label),
        collections=row.collections,
        created_at=row.created_at,
        revoked_at=row.revoked_at,
    )
