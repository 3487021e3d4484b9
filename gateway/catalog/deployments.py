"""A deployment: one callable model at one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

    from policies.zones import Zone


@dataclass(frozen=True, slots=True)
class Price:
    """What a deployment's tokens cost, per million, in `currency`.

    `cached` or `reasoning` None: those tokens cost what `input` or `output` costs.
    """

    input: Decimal
    output: Decimal
    source: str | None
    as_of: date | None
    cached: Decimal | None = None
    reasoning: Decimal | None = None
    currency: str = "USD"


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds a deployment may take; a thinking model may be silent long."""

    connect: float = 10.0
    first_byte: float = 600.0
    idle: float = 600.0
    total: float | None = None


@dataclass(frozen=True, slots=True)
class Deployment:
    """One callable model at one place; several may serve one model name."""

    name: str
    model: str
    engine: str
    base_url: str
    """`http(s)://host[:port]/path`, or `unix:/path/to.sock:/v1` for a child of this house."""
    upstream_model: str
    zone: Zone
    price: Price
    aliases: tuple[str, ...] = ()
    api_key: str | None = field(default=None, repr=False)
    grade: int = 3
    context: int | None = None
    max_output: int | None = None
    capabilities: frozenset[str] | None = None
    """What it can do; None: nobody stated it, so nothing is held against it."""
    limits: Limits = Limits()
    listed: bool = True
    """Shown by /v1/models."""
    builtin: bool = False
    """Of this house, in no pack."""
    automatic: bool = True
    """May be chosen by `auto`; otherwise it answers only by name."""

    def serves(self, model: str) -> bool:
        return model == self.model or model in self.aliases
