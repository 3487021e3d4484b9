"""What is written into the ledger about one attempt: the hold before it, the settlement after it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from gateway.ledger.price import UnpricedLaneError, most_nano_usd

if TYPE_CHECKING:
    from datetime import datetime

    from gateway.catalog.deployments import Deployment
    from gateway.wire.lanes import Usage

Outcome = Literal["ok", "aborted", "failed", "refused", "unknown"]
"""`aborted`: the client left; `failed`: the upstream did not finish; `refused`: it took nothing; `unknown`: we died."""

Bearer = Literal["principal", "house"]
"""Whom a statement charges: the caller for an answer or a call that it broke off, the house for what went wrong.

Budgets count both: that money is gone whoever bears it.
"""


@dataclass(frozen=True, slots=True)
class Account:
    """On whose account a request is made, and what its attempts are told apart by afterwards."""

    principal: str
    """The key's name."""
    person: str = ""
    """Whose key it is; empty: the key's own name stands for the person."""
    groups: frozenset[str] = frozenset()
    tag: str | None = None
    """What the request was made for, one of the pack's `tags` (the header `soleira-tag`)."""
    collections: tuple[str, ...] = ()
    label: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    """One budget's stretch of time for one subject: attempts within it are held and spent against its limits.

    The same window has the same id in every process.
    """

    id: str
    budget: str
    """The budget's name."""
    subject: str
    """The key, group, model, zone, collection or tag that it counts for."""
    starts_at: datetime
    ends_at: datetime
    limit_nano_usd: int | None
    """None: no limit of money."""
    limit_tokens: int | None
    hard: bool
    """A soft one only warns."""


@dataclass(frozen=True, slots=True)
class Hold:
    """One upstream call that is about to be made, with the most it is expected to use."""

    id: str
    decision_id: str
    request_id: str
    ordinal: int
    """1 for a request's first attempt."""
    account: Account
    deployment: Deployment
    estimate: Usage
    started_at: datetime
    windows: tuple[Window, ...] = ()
    """The budgets that it counts against."""

    @property
    def nano_usd(self) -> int:
        """The most that it may come to, also if another model answers, at the price that the pack names for that."""
        asked, other = self.deployment.price, self.deployment.replies.price
        most = most_nano_usd(self.estimate, asked.at(self.started_at))
        if other is None:
            return most
        with suppress(UnpricedLaneError):
            most = max(most, most_nano_usd(self.estimate, other.at(self.started_at)))
        return most


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
    surcharge_nano_usd: int = 0
    """Of the cost, what the owner's cost lines (taxes, fees) add to the provider's own price."""
    saved_nano_usd: int = 0
    """What a cache saved: cached tokens at the price of fresh ones, or a whole answer out of the response cache."""
    privacy_nano_usd: int = 0
    """What it cost more than the cheapest deployment that the label kept it from, by an estimate; 0: nothing."""
    routing_nano_usd: int = 0
    """What it cost less than the best-graded deployment of its route, by an estimate; below 0: more."""
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    """The same tokens on each other deployment, in nano-dollars: estimates, never facts."""
    service_tier: str | None = None
    """What the upstream says it was served under: `flex`, `priority`."""
    assumed: bool = False
    """True if a lane without a price of its own was charged at another lane's."""
    from_cache: bool = False
    """True for an answer out of the response cache: no upstream was called."""
    bearer: Bearer = "principal"
