"""What hosts were really paid stands beside what the scenario's host asks for tokens of the same lanes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from gateway.economics.scenario import Hosted, LanePrice, Mix
from gateway.ledger.paid import Paid
from gateway.ledger.traffic import Observed
from gateway.owning.remarks import bill
from gateway.owning.remarks.seen_words import WORDS

START = datetime(2026, 11, 1, tzinfo=UTC)
HOST = Hosted(LanePrice(Fraction(3), Fraction(15), Fraction(3, 10), Fraction(3), Fraction(6)))


def test_the_same_tokens_are_compared() -> None:
    """A million, of which 0.5 are computed, 0.3 cached, 0.2 written: 1.50 + 0.09 + 3.00."""
    paid = Paid(1_000_000, Fraction(5), Mix(Fraction(1, 2), Fraction(1, 5), Fraction(3, 10)))
    everything = Mix(Fraction(1), Fraction(0))

    [note] = bill.notes(Observed(START, START + timedelta(days=2), UTC, mix=everything, paid=paid), HOST)

    assert note.code == "paid_hosts"
    assert dict(note.facts) == {
        "days": 2,
        "paid": 5,
        "tokens": 1_000_000,
        "per_million": 5,
        "asked": Fraction("4.59"),
    }
    for sentence in WORDS[note.code]:
        assert set(re.findall(r"\{(\w+)\}", sentence)) == set(note.facts)


def test_where_nobody_was_paid_nothing_is_said() -> None:
    assert bill.notes(Observed(START, START, UTC), HOST) == []
