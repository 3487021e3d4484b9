"""What is written into the ledger about one attempt: the hold before it, the settlement after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gateway.ledger.price import nano_usd

if TYPE_CHECKING:
    from datetime import datetime

    from gateway.catalog.deployments import Deployment
    from gateway.wire.lanes import Usage

Outcome = Literal["ok", "aborted", "failed", "refused", "unknown"]
"""`aborted`: the client left; `failed`: the upstream did not finish; `refused`: it took nothing; `unknown`: we died."""


@dataclass(frozen=True, slots=True)
class Hold:
    """One upstream call that is about to be made, with the most it is expected to use."""

    id: str
    decision_id: str
    request_id: str
    ordinal: int
    """1 for a request's first attempt."""
    principal: str
    deployment: Deployment
    estimate: Usage
    started_at: datetime

    @property
    def nano_usd(self) -> int:
        return nano_usd(self.estimate, self.deployment.price)


@dataclass(frozen=True, slots=True)
class Settlement:
    """How the call ended and what it cost."""

    attempt_id: str
    usage: Usage
    cost_nano_usd: int
    outcome: Outcome
    error_code: str | None
    first_byte_ms: int | None
    total_ms: int
    settled_at: datetime
    bytes_out: int
    answered_model: str | None = None
    """The model that says to have answered, where it is not the one that was asked."""
