"""One upstream call: held before anything leaves, settled once, however it ends."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING

import structlog
from anyio import CancelScope

from gateway.catalog.deployments import is_model_name
from gateway.errors import LabelExceedsClearance, Unavailable, UpstreamError, UpstreamRateLimited, UpstreamRefused
from gateway.ledger.elsewhere import Weighed
from gateway.ledger.entries import Hold, Outcome, Settlement
from gateway.ledger.price import Charge, UnpricedLaneError, charge
from gateway.ledger.writer import NotHeldError, Writer
from gateway.wire.lanes import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

log = structlog.get_logger()

_NOTHING = Usage()
MOST_TOKENS = 2**31
"""Of one lane of one attempt, far above any model's context: beyond it an upstream counts wrongly."""
_MOST_NANO_USD = 10**15
"""Of one attempt, a million dollars: beyond it an upstream counts wrongly, or sums would leave 64 bits."""


@asynccontextmanager
async def attempt(writer: Writer, hold: Hold, clock: Callable[[], float] = monotonic) -> AsyncGenerator[Attempt, None]:
    """Hold the estimate before anything leaves; settle exactly once, also if the client disconnects.

    What is settled is the usage that the caller set. If none was set, an upstream that took nothing costs nothing,
    and everything else costs the estimate, flagged: an answer whose usage is unknown is never free.
    """
    record = Attempt(hold, clock)
    try:
        await writer.hold(hold)
    except asyncio.CancelledError:  # the hold may be written although nobody waits for it
        record.took_nothing("aborted", None)
        await _settle(writer, record)
        raise
    try:
        yield record
        record.outcome = record.outcome or "ok"
    except (UpstreamError, LabelExceedsClearance) as error:
        record.failed(error)
        raise
    except (asyncio.CancelledError, GeneratorExit):
        record.outcome = "aborted"
        raise
    finally:
        await _settle(writer, record)


@dataclass(slots=True)
class Attempt:
    """A call under way; whoever makes it writes down here what is learned."""

    hold: Hold
    clock: Callable[[], float] = field(default=monotonic, repr=False)
    usage: Usage | None = None
    """What the upstream says was used, or a better guess than the hold's estimate; None: not known."""
    outcome: Outcome | None = None
    error_code: str | None = None
    bytes_out: int = 0
    """Bytes that reached the client."""
    first_byte_ms: int | None = None
    answered_model: str | None = None
    """The model that says to have answered, where it is not the one that was asked."""
    service_tier: str | None = None
    """What the upstream says it was served under."""
    from_cache: bool = False
    weigh: Callable[[], Weighed] = Weighed
    """Holds the attempt against what else could have been."""
    _saved_nano_usd: int = 0
    started: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    def first_byte(self) -> None:
        """Note the time of the answer's first byte; later calls change nothing."""
        if self.first_byte_ms is None:
            self.first_byte_ms = self._elapsed_ms()

    def answered_by(self, model: str | None) -> None:
        """Note the model that a reply names: another one than was asked is flagged, at the price that the pack says."""
        if model and not self.hold.deployment.is_called(model):
            self.answered_model = model if is_model_name(model) else "(unreadable)"

    def failed(self, error: UpstreamError | LabelExceedsClearance) -> None:
        """Note how the upstream failed, and what that cost where it did not say."""
        self.outcome = "refused" if isinstance(error, _REFUSALS) else "failed"
        self.error_code = error.code
        if self.usage is None and not (isinstance(error, UpstreamError) and error.billed):
            self.usage = _NOTHING

    def took_nothing(self, outcome: Outcome, error_code: str | None) -> None:
        """Note that nothing left the house."""
        self.usage, self.outcome, self.error_code = _NOTHING, outcome, error_code

    def given_again(self, saved_nano_usd: int, model: str | None) -> None:
        """Note that the answer came out of the response cache."""
        self.from_cache, self.usage, self.answered_model = True, _NOTHING, model
        self._saved_nano_usd = saved_nano_usd

    @property
    def charged(self) -> Usage:
        """The usage that would be settled now; a count that cannot be one is as good as none."""
        return self._charged()[0]

    @property
    def cost_nano_usd(self) -> int:
        """What the attempt would cost if it were settled now."""
        return self._charged()[1].nano_usd

    def settlement(self) -> Settlement:
        """The attempt as it stands, to be written; one that nobody gave an outcome has failed within Soleira."""
        total_ms, outcome = self._elapsed_ms(), self.outcome or "failed"
        usage, charge = self._charged()
        weighed = self.weigh()
        return Settlement(
            attempt_id=self.hold.id,
            usage=usage,
            cost_nano_usd=charge.nano_usd,
            outcome=outcome,
            error_code=self.error_code if self.outcome else "internal_error",
            first_byte_ms=self.first_byte_ms,
            total_ms=total_ms,
            settled_at=self.hold.started_at + timedelta(milliseconds=total_ms),
            bytes_out=self.bytes_out,
            answered_model=self.answered_model,
            surcharge_nano_usd=charge.surcharge_nano_usd,
            saved_nano_usd=self._saved_nano_usd if self.from_cache else charge.saved_nano_usd,
            privacy_nano_usd=weighed.privacy_nano_usd,
            routing_nano_usd=weighed.routing_nano_usd,
            elsewhere=weighed.elsewhere,
            service_tier=self.service_tier,
            assumed=charge.assumed,
            from_cache=self.from_cache,
            bearer="house" if outcome in _OF_THE_HOUSE else "principal",
        )

    def _charged(self) -> tuple[Usage, Charge]:
        """The usage with its cost; what cannot be priced costs what was held."""
        deployment, at = self.hold.deployment, self.hold.started_at
        other = deployment.replies.price if self.answered_model is not None else None
        price = other or deployment.price
        usages = (self.usage, self.hold.estimate)
        for usage in usages:
            if usage is not None and _is_plausible(usage):
                with suppress(UnpricedLaneError):
                    cost = charge(usage, price, at, self.service_tier)
                    if cost.nano_usd <= _MOST_NANO_USD:
                        return usage, cost
        return self.hold.estimate, charge(self.hold.estimate, deployment.price, at, self.service_tier)

    def _elapsed_ms(self) -> int:
        return round((self.clock() - self.started) * 1000)


_OF_THE_HOUSE = frozenset({"failed", "unknown"})
"""Ends that the caller has not brought about and has no answer from."""
_REFUSALS = (LabelExceedsClearance, UpstreamRateLimited, UpstreamRefused)


def _is_plausible(usage: Usage) -> bool:
    counts = usage.lanes.values()
    return min(counts) >= 0 and max(counts) <= MOST_TOKENS


async def _settle(writer: Writer, record: Attempt) -> None:
    """Write the settlement; that it cannot be written now must not spoil an answer that was given."""
    with CancelScope(shield=True):
        try:
            await writer.settle(record.settlement())
        except (NotHeldError, Unavailable) as failure:
            log.error("attempt_not_settled_now", attempt=record.hold.id, failure=failure)
