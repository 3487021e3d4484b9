"""What each uncertain input does to the break-even, in words and as a bar."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.owning import words

if TYPE_CHECKING:
    from gateway.dashboard.owning.written import Hand
    from gateway.economics.sensitivity import Bar, Input
    from gateway.owning.answers import Answer

_WHOLE = 100
_THIN = 0.6
"""The width of a bar that hardly moves anything, in parts of a hundred: it is seen all the same."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What one uncertain input does to the break-even."""

    input: Input
    name: str
    low: str
    high: str
    at_low: Fraction | None
    at_high: Fraction | None
    """In tokens of a month; None: none is."""
    start: float
    width: float
    """Where its bar lies, in parts of a hundred."""
    sentence: str


def effects(answer: Answer, hand: Hand) -> list[Effect]:
    """The inputs that matter, the most important first."""
    return [_effect(bar, scale(answer), hand) for bar in answer.bars]


def scale(answer: Answer) -> Fraction:
    """The greatest volume that the bars reach."""
    ends = [bar.tokens_at_low for bar in answer.bars] + [bar.tokens_at_high for bar in answer.bars]
    return max((end for end in (*ends, answer.result.tokens_per_month) if end is not None), default=Fraction(1))


def place(tokens: Fraction | float | None, top: Fraction | float) -> float:
    """Where a volume lies on a scale from nothing to the top, in parts of a hundred; no volume lies at its end."""
    return _WHOLE if tokens is None or not top else min(_WHOLE, float(tokens / top) * _WHOLE)


def _effect(bar: Bar, top: Fraction, hand: Hand) -> Effect:
    ends = [place(bar.tokens_at_low, top), place(bar.tokens_at_high, top)]
    name = hand.headed(words.INPUTS[bar.name])
    low, high = _written(bar.name, bar.low, hand), _written(bar.name, bar.high, hand)
    return Effect(
        input=bar.name,
        name=name,
        low=low,
        high=high,
        at_low=bar.tokens_at_low,
        at_high=bar.tokens_at_high,
        start=min(ends),
        width=max(max(ends) - min(ends), _THIN),
        sentence=_moves(name, (low, bar.tokens_at_low), (high, bar.tokens_at_high), hand),
    )


def _moves(name: str, low: tuple[str, Fraction | None], high: tuple[str, Fraction | None], hand: Hand) -> str:
    """What the input does, told in the order that the break-even rises in."""
    t = hand.w.t
    (first, near), (last, far) = sorted((low, high), key=lambda end: (end[1] is None, end[1] or 0))
    if near is None:
        return t("own.moves never", name=name, first=first, last=last)
    if far is None:
        return t("own.moves away", name=name, first=first, near=hand.a_day_s_tokens(near), last=last)
    return t("own.moves", name=name, first=first, near=hand.a_day(near), last=last, far=hand.a_day_s_tokens(far))


def _written(name: str, value: Fraction, hand: Hand) -> str:
    """An uncertain input's value with its unit."""
    t = hand.w.t
    match name:
        case "usd_per_gpu_hour":
            return t("own.an hour", money=hand.usd(value))
        case "staff_usd_per_month":
            return t("own.a month", money=hand.usd(value))
        case "output_share" | "cached_share":
            return hand.share(value)
        case "price_factor":
            return t("own.of prices", share=hand.share(value))
        case "peak_to_mean":
            return t("own.of the mean", n=hand.number(value, 2))
        case "decode_tps":
            return t("own.a second", n=hand.number(value, 0))
        case _:
            return hand.number(value)
