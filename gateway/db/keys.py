"""API keys: kept as digests, so that the ledger holds nothing anybody could sign in with."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from gateway.db.engine import transaction
from gateway.db.tables import api_keys
from gateway.errors import BadRequest, Conflict
from policies.budgets import own_budgets, own_limits
from policies.labels import Label, Level, Sensitivity

if TYPE_CHECKING:
    from sqlalchemy import Row
    from sqlalchemy.ext.asyncio import AsyncEngine

    from policies.budgets import Budget, RateLimit

Role = Literal["caller", "reader"]
"""What a key is for: calls, or reading figures and nothing else."""

_PREFIX = "sk-soleira-"
_SHOWN = 16


RESERVED = frozenset({"admin"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_PERSON = re.compile(r"[^\x00-\x1f\x7f]{1,64}\Z")


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a key may use, in the short form that it is asked for in; None: only what the pack says."""

    budget_usd: str | None = None
    """Dollars and their time: `5/month`."""
    budget_tokens: str | None = None
    """`1000000/day`."""
    requests: str | None = None
    """`60/minute`."""
    tokens: str | None = None
    """`100000/minute`."""
    concurrency: int | None = None
    """Calls at once."""

    def budgets(self, key: str) -> tuple[Budget, ...]:
        """The budgets of the key of this name."""
        return own_budgets(key, self.budget_usd, self.budget_tokens)

    def limits(self, key: str) -> tuple[RateLimit, ...]:
        """Its rate limits."""
        return own_limits(key, self.requests, self.tokens, self.concurrency)

    def as_dict(self) -> dict[str, object]:
        """The form for JSON."""
        return {
            "budget_usd": self.budget_usd,
            "budget_tokens": self.budget_tokens,
            "requests": self.requests,
            "tokens": self.tokens,
            "concurrency": self.concurrency,
        }


@dataclass(frozen=True, slots=True)
class KeySpec:
    """A key as it is asked for. Its name is the principal's: decisions and marks go by it, also under a new key."""

    name: str
    groups: tuple[str, ...] = ()
    clearance: Sensitivity = field(default_factory=lambda: Sensitivity(Level.PRIVATE))
    default_label: Label | None = None
    collections: tuple[str, ...] = ()
    person: str | None = None
    """Whose key it is; None: its name stands for the person."""
    role: Role = "caller"
    allowance: Allowance = Allowance()

    def as_dict(self) -> dict[str, object]:
        """The form for JSON, with labels as they are written in packs."""
        return {
            "name": self.name,
            "groups": list(self.groups),
            "clearance": str(self.clearance),
            "label": None if self.default_label is None else str(self.default_label),
            "collections": list(self.collections),
            "person": self.person,
            "role": self.role,
            **self.allowance.as_dict(),
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
    person: str | None = None
    role: Role = "caller"
    allowance: Allowance = Allowance()

    @property
    def spec(self) -> KeySpec:
        """As it was asked for."""
        return KeySpec(
            name=self.name,
            groups=self.groups,
            clearance=self.clearance,
            default_label=self.default_label,
            collections=self.collections,
            person=self.person,
            role=self.role,
            allowance=self.allowance,
        )

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """Its own, beside the pack's."""
        return self.allowance.budgets(self.name)

    @property
    def limits(self) -> tuple[RateLimit, ...]:
        """Its own."""
        return self.allowance.limits(self.name)

    def as_dict(self) -> dict[str, object]:
        """The form for JSON; the digest stays here."""
        return {
            **self.spec.as_dict(),
            "prefix": self.prefix,
            "created_at": self.created_at.isoformat(),
            "revoked_at": None if self.revoked_at is None else self.revoked_at.isoformat(),
        }


async def create(engine: AsyncEngine, spec: KeySpec, key: str | None = None) -> str:
    """Keep a new key and return its text, which is not kept; Conflict if the name is taken."""
    _check(spec)
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


def _check(spec: KeySpec) -> None:
    if not _NAME.match(spec.name):
        raise BadRequest("a key's name has letters, digits and . _ - only, at most 64", param="name")
    if spec.name in RESERVED:
        raise Conflict(f"{spec.name!r} is Soleira's own: choose another name")
    if spec.person is not None and not _PERSON.match(spec.person):
        raise BadRequest("a person's name is one line of 1 to 64 characters", param="person")
    if spec.role not in get_args(Role):
        raise BadRequest(f"a key's role is one of {', '.join(get_args(Role))}", param="role")
    try:
        spec.allowance.budgets(spec.name)
        spec.allowance.limits(spec.name)
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _columns(spec: KeySpec) -> dict[str, object]:
    return {
        "name": spec.name,
        "groups": spec.groups,
        "clearance": str(spec.clearance),
        "default_label": None if spec.default_label is None else str(spec.default_label),
        "collections": spec.collections,
        "person": spec.person,
        "role": spec.role,
        **_allowance_columns(spec.allowance),
    }


def _allowance_columns(allowance: Allowance) -> dict[str, object]:
    limits = {"requests": allowance.requests, "tokens": allowance.tokens, "concurrency": allowance.concurrency}
    return {
        "budget": _json({"usd": allowance.budget_usd, "tokens": allowance.budget_tokens}),
        "limits": _json(limits),
    }


def _json(values: dict[str, Any]) -> str | None:
    said = {name: value for name, value in values.items() if value is not None}
    return json.dumps(said) if said else None


def _allowance(row: Row[Any]) -> Allowance:
    budget, limits = json.loads(row.budget or "{}"), json.loads(row.limits or "{}")
    return Allowance(
        budget_usd=budget.get("usd"),
        budget_tokens=budget.get("tokens"),
        requests=limits.get("requests"),
        tokens=limits.get("tokens"),
        concurrency=limits.get("concurrency"),
    )


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
        person=row.person,
        role=row.role,
        allowance=_allowance(row),
    )
