"""Holds and settlements as rows of the ledger: moments in microseconds, money in nano-dollars, lists as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gateway.db.tables import microseconds, words
from gateway.ledger.entries import Settlement
from gateway.wire.lanes import Usage

if TYPE_CHECKING:
    from datetime import datetime

    from gateway.catalog.prices import Price
    from gateway.db.books import Row
    from gateway.ledger.entries import Hold


def held(hold: Hold, owner: str) -> Row:
    """The attempt as it is held: at its estimate."""
    deployment, price = hold.deployment, hold.deployment.price.at(hold.started_at)
    return {
        "id": hold.id,
        "decision_id": hold.decision_id,
        "request_id": hold.request_id,
        "ordinal": hold.ordinal,
        "principal": hold.account.principal,
        "person": hold.account.person or hold.account.principal,
        "tag": hold.account.tag or "",
        "collections": words(hold.account.collections),
        "label": hold.account.label,
        "deployment": deployment.name,
        "model": deployment.model,
        "upstream_model": deployment.upstream_model,
        "zone": deployment.zone.name,
        "owner": owner,
        "state": "held",
        "held_nano_usd": hold.nano_usd,
        "held_tokens": hold.estimate.tokens,
        "currency": price.currency,
        **_lanes(hold.estimate),
        "started_at": microseconds(hold.started_at),
        "bytes_out": 0,
        **_price(price),
    }


def settled(settlement: Settlement) -> Row:
    """What its settlement changes."""
    return {
        "state": "settled",
        "cost_nano_usd": settlement.cost_nano_usd,
        **_lanes(settlement.usage),
        "outcome": settlement.outcome,
        "error_code": settlement.error_code,
        "first_byte_ms": settlement.first_byte_ms,
        "total_ms": settlement.total_ms,
        "settled_at": microseconds(settlement.settled_at),
        "bytes_out": settlement.bytes_out,
        "answered_model": settlement.answered_model,
        "surcharge_nano_usd": settlement.surcharge_nano_usd,
        "saved_nano_usd": settlement.saved_nano_usd,
        "privacy_nano_usd": settlement.privacy_nano_usd,
        "routing_nano_usd": settlement.routing_nano_usd,
        "elsewhere": json.dumps(settlement.elsewhere) if settlement.elsewhere else None,
        "bearer": settlement.bearer,
        "assumed": settlement.assumed,
        "from_cache": settlement.from_cache,
        "service_tier": settlement.service_tier,
    }


def windows(hold: Hold) -> list[Row]:
    """The windows that the attempt counts in."""
    return [
        {
            "id": window.id,
            "budget": window.budget,
            "subject": window.subject,
            "starts_at": microseconds(window.starts_at),
            "ends_at": microseconds(window.ends_at),
            "limit_nano_usd": window.limit_nano_usd,
            "limit_tokens": window.limit_tokens,
            "hard": window.hard,
        }
        for window in hold.windows
    ]


def taken_back(at: datetime) -> Row:
    """The settlement of an attempt that was never made: nothing is known of its hold but that nobody waits for it."""
    return settled(
        Settlement(
            attempt_id="",
            usage=Usage(),
            cost_nano_usd=0,
            outcome="refused",
            error_code="unavailable",
            first_byte_ms=None,
            total_ms=0,
            settled_at=at,
            bytes_out=0,
            bearer="house",
        )
    )


def _lanes(usage: Usage) -> Row:
    return {**usage.lanes, "estimated": usage.estimated}


def _price(price: Price) -> Row:
    """Where the price comes from and of which day it is, for whoever checks a bill later."""
    rate = price.exchange_rate
    return {
        "price_origin": price.origin,
        "price_as_of": None if price.as_of is None else price.as_of.isoformat(),
        "per_usd": None if rate is None else str(rate.per_usd),
        "per_usd_as_of": None if rate is None else rate.as_of.isoformat(),
    }
