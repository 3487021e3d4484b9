"""The page's tables as CSV, every digit of them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.economics.scenario import DAYS_A_MONTH
from gateway.owning import words

if TYPE_CHECKING:
    from datetime import date

    from gateway.dashboard.owning.written import Hand
    from gateway.ledger.exports.sheets import Cell, Row
    from gateway.owning.answers import Answer


def volumes(answer: Answer, hand: Hand) -> tuple[list[str], list[Row]]:
    """One row a volume: its tokens, and what it costs either way, in dollars."""
    t = hand.w.t
    header = [t("own.tokens a month"), t("own.tokens a day")]
    header += [f"{t(f'own.line {line}')} (USD)" for line in ("own", "hosted", "hybrid")]
    return header, [
        (
            _cell(point.tokens),
            _cell(point.tokens / DAYS_A_MONTH),
            _cell(point.own_usd),
            _cell(point.hosted_usd),
            _cell(point.hybrid_usd),
        )
        for point in answer.curve
    ]


def figures(answer: Answer, today: date, hand: Hand) -> tuple[list[str], list[Row]]:
    """One row a figure: what it is, where it comes from and how many days old it is."""
    t = hand.w.t
    names = ("own.figure", "own.value", "own.unit", "own.origin", "own.source", "own.day", "own.age in days")
    return [t(name) for name in names], [
        (
            figure.name,
            _cell(figure.value),
            figure.unit,
            hand.of(words.ORIGINS[figure.origin]),
            figure.source,
            figure.as_of,
            figure.age_days(today),
        )
        for figure in answer.figures
    ]


def _cell(value: Fraction | str | None) -> Cell:
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / Decimal(value.denominator)
    return value
