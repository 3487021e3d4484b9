"""The ledger's record of each upstream call of one request: on whose account, against which budgets, weighed how."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from gateway.ledger import budgets, quotas
from gateway.ledger.attempt import MOST_TOKENS, attempt
from gateway.ledger.elsewhere import Choice, Spent, Weighed, weigh
from gateway.ledger.entries import Hold
from gateway.ledger.price import estimate, most_nano_usd
from gateway.wire.lanes import LANES, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection
    from datetime import datetime

    from gateway.catalog.deployments import Deployment
    from gateway.chat.admit import Admission, Call
    from gateway.chat.tap import Tap
    from gateway.ledger.attempt import Attempt
    from gateway.ledger.entries import Window
    from gateway.response_cache import Kept
    from gateway.runtime import Runtime
    from gateway.telemetry import Metrics
    from policies.load import Pack

_ANSWERS = frozenset({"ok", "aborted"})
_CHAT_LANES = frozenset({"fresh", "cached", "cache_write_5m", "output", "reasoning"})
_SEARCHED_AT_ONCE = 100
"""Documents that one search unit covers (Cohere's rerank)."""


class Attempts:
    """Opens, closes and counts the attempts of one admitted request."""

    def __init__(self, runtime: Runtime, admission: Admission, tap: Tap) -> None:
        self._runtime = runtime
        self._admission = admission
        self._tap = tap
        self.tokens = 0
        """What the attempts that are over used, or are taken to have used."""

    def limit(self, deployment: Deployment) -> int | None:
        """The output to ask for where a budget counts on there being a limit, and the client set none."""
        pack, call = self._admission.loaded.pack, self._admission.call
        if call.request.chat is None or call.request.max_output is not None:
            return None
        allowed = _allowed_output(pack, call)
        if allowed is None and not self._windows(deployment, self._runtime.now()):
            return None
        return min(allowed or pack.max_output, deployment.max_output or pack.max_output)

    @asynccontextmanager
    async def open(self, deployment: Deployment, ordinal: int) -> AsyncGenerator[Attempt, None]:
        """Hold and settle one attempt, and count it once it is settled."""
        now = self._runtime.now()
        hold = self._hold(deployment, ordinal, self._estimate(deployment, now), now)
        async with self._entered(hold) as record:
            record.weigh = partial(self._weigh, record)
            yield record

    @asynccontextmanager
    async def open_again(self, deployment: Deployment, kept: Kept) -> AsyncGenerator[Attempt, None]:
        """The record of an answer that is given again: no upstream is called, and what it cost once is saved."""
        async with self._entered(self._hold(deployment, 1, Usage(), self._runtime.now())) as record:
            record.given_again(kept.cost_nano_usd, kept.model)
            yield record

    @asynccontextmanager
    async def _entered(self, hold: Hold) -> AsyncGenerator[Attempt, None]:
        runtime = self._runtime
        record: Attempt | None = None
        try:
            async with attempt(runtime.writer, hold) as record:
                yield record
        finally:
            if record is not None:
                _count(runtime.metrics, record)
                self.tokens += record.charged.tokens
                if record.outcome == "ok" and not record.from_cache:
                    runtime.fleet.observed.note_traffic(hold.deployment.name, record.charged, self._tap.model)
                    runtime.ratios.note(hold.deployment, record.charged)

    def _hold(self, deployment: Deployment, ordinal: int, usage: Usage, now: datetime) -> Hold:
        runtime, admission = self._runtime, self._admission
        return Hold(
            id=runtime.new_id("att"),
            decision_id=admission.record.id,
            request_id=admission.record.request_id,
            ordinal=ordinal,
            account=admission.account,
            deployment=deployment,
            estimate=usage,
            started_at=now,
            windows=self._windows(deployment, now),
        )

    def _windows(self, deployment: Deployment, at: datetime) -> tuple[Window, ...]:
        admission = self._admission
        pack, own = admission.loaded.pack, admission.call.principal.budgets
        if not (pack.budgets.budgets or own):
            return ()
        return budgets.windows(pack, own, admission.account, deployment, at)

    def _estimate(self, deployment: Deployment, now: datetime) -> Usage:
        """The most that the call is expected to use."""
        admission = self._admission
        request = admission.call.request
        if request.format.endpoint == "embeddings":
            return Usage(embedding=admission.prompt_tokens, estimated=True)
        if request.format.endpoint == "rerank":
            units = -(-request.count // _SEARCHED_AT_ONCE)
            searches = units if deployment.price.at(now).searches is not None else 0
            return Usage(rerank=admission.prompt_tokens, searches=searches, estimated=True)
        most = self.limit(deployment) or deployment.max_output or request.max_output or admission.loaded.pack.max_output
        output = min(min(request.max_output or most, most) * request.choices, MOST_TOKENS)
        prices = [price.at(now) for price in (deployment.price, deployment.replies.price) if price is not None]
        dearest = [(estimate(admission.prompt_tokens, output, price, self._lanes()), price) for price in prices]
        return max(dearest, key=lambda used: most_nano_usd(*used))[0]

    def _lanes(self) -> Collection[str]:
        """The lanes that the request may meet."""
        request = self._admission.call.request
        if request.needs & {"vision", "audio", "video"}:
            return LANES
        return _CHAT_LANES | ({"cache_write_1h"} if b'"cache_control"' in request.body.raw else set())

    def _weigh(self, record: Attempt) -> Weighed:
        """The attempt against what else could have been, once it has answered."""
        if record.outcome not in _ANSWERS:
            return Weighed()
        admission, hold = self._admission, record.hold
        choice = Choice(admission.loaded.catalog.deployments, admission.route, admission.withheld)
        spent = Spent(hold.deployment, record.charged, record.cost_nano_usd, hold.started_at)
        return weigh(spent, choice, self._runtime.ratios)


def most_tokens(pack: Pack, call: Call) -> int:
    """What a limit on tokens reserves for a call: its prompt, and the output that it may ask for."""
    request = call.request
    if request.chat is None:
        return request.prompt_tokens
    output = request.max_output or _allowed_output(pack, call) or pack.max_output
    return request.prompt_tokens + output * request.choices


def _allowed_output(pack: Pack, call: Call) -> int | None:
    """The output for which the narrowest limit on tokens has room beside the prompt; None without such a limit."""
    most = quotas.most_tokens(pack.budgets, call.principal.limits, call.account)
    if most is None:
        return None
    return max(min(pack.max_output, (most - call.request.prompt_tokens) // call.request.choices), 1)


def _count(metrics: Metrics, record: Attempt) -> None:
    deployment, zone = record.hold.deployment.name, record.hold.deployment.zone.name
    metrics.attempts.labels(deployment, zone, record.outcome or "failed").inc()
    metrics.cost.labels(deployment, zone).inc(record.cost_nano_usd)
    for lane, count in record.charged.lanes.items():
        if count:
            metrics.tokens.labels(deployment, lane).inc(count)
