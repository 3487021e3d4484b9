"""What a running gateway is made of; built once, never changed."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.catalog.packs import Packs
    from gateway.ledger.limits import Limits
    from gateway.ledger.ratios import Ratios
    from gateway.ledger.writer import Writer
    from gateway.principals import Principals
    from gateway.privacy.conversations import Conversations
    from gateway.response_cache import ResponseCache
    from gateway.revocations import Revocations
    from gateway.settings import Settings
    from gateway.telemetry import Metrics
    from gateway.upstream.dispatch import Upstreams
    from gateway.upstream.exit import Exit
    from gateway.upstream.fleet import Fleet
    from gateway.upstream.probes.prober import Prober
    from retrieval.client import RetrievalClient


def now() -> datetime:
    return datetime.now(UTC)


def new_id(prefix: str) -> str:
    """A fresh id that says what it is of: `req_…`, `dec_…`, `att_…`."""
    return f"{prefix}_{secrets.token_hex(12)}"


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts that requests use."""

    settings: Settings
    packs: Packs
    engine: AsyncEngine
    """For reading the ledger; the writer has its own connection."""
    writer: Writer
    principals: Principals
    revocations: Revocations
    retrieval: RetrievalClient
    upstreams: Upstreams
    fleet: Fleet
    prober: Prober
    exit: Exit
    """The litellm process's way out, to be served on a socket of its own."""
    conversations: Conversations
    ratios: Ratios
    limits: Limits
    cache: ResponseCache
    metrics: Metrics
    loopback_only: bool
    secret: bytes
    """32 bytes of this house, from which keyed digests are derived."""
    now: Callable[[], datetime] = now
    new_id: Callable[[str], str] = new_id
