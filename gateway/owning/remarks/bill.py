"""Holds what hosts were really paid against what a scenario's host asks for the same tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.economics.break_even import blended
from gateway.owning.notes import Note

if TYPE_CHECKING:
    from gateway.economics.scenario import Hosted
    from gateway.ledger.traffic import Observed
    from gateway.owning.notes import Fact


def notes(observed: Observed, hosted: Hosted) -> list[Note]:
    """What was paid in that time, and what a million tokens of the same lanes cost in the scenario; nothing if none."""
    paid = observed.paid
    per_million = paid.usd_per_million
    if paid.mix is None or per_million is None:
        return []
    facts: dict[str, Fact] = {
        "days": observed.days,
        "paid": paid.usd,
        "tokens": paid.tokens,
        "per_million": per_million,
        "asked": blended(hosted, paid.mix),
    }
    return [Note("paid_hosts", facts)]
