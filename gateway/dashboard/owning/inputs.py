"""Every figure that the answer rests on, with its source and its age, and how another is tried in its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.dashboard.cited import cited, is_named
from gateway.dashboard.owning.view import asked_as, spoken
from gateway.economics.scenario import DAYS_A_MONTH
from gateway.owning import words
from gateway.owning.figures import OF_OVERRIDE
from gateway.owning.questions import OVERRIDES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from gateway.dashboard.owning.view import View
    from gateway.dashboard.owning.written import Hand
    from gateway.owning.answers import Answer
    from gateway.owning.figures import Figure
    from gateway.owning.questions import Override

_WHOLE = 100
_RANGE = re.compile(r"ranges\.(?P<input>\w+)\.(?P<end>low|high)\Z")
_SAID_BY_NAME = frozenset({"share", "bytes", "replicas", "GPUs", "requests", "x"})
"""Units that stand in the figure's name, or in how it is written."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: what it is, where it comes from, how old it is, and how another is tried."""

    name: str
    label: str
    text: str
    unit: str
    value: str
    """For whoever reads by program."""
    origin: str
    source: str
    is_named: bool
    """True where the source is a name, which stays in its own language."""
    as_of: date | None
    age: str
    is_doubtful: bool
    """True for a default, and for what nobody states a day of."""
    trial: Trial | None


@dataclass(frozen=True, slots=True)
class Trial:
    """How the form asks for another figure."""

    override: Override
    asked_as: str
    tried: str
    """As the form has it; empty: nothing is tried."""
    now: str
    """The figure in force, as the form would have it."""
    unit: str
    least: str
    most: str


def rows(answer: Answer, view: View, today: date, hand: Hand) -> list[Row]:
    """Every figure but the ranges with its source and its age, those that can be tried first."""
    overrides = {name: override for override, name in OF_OVERRIDE.items()}
    told = [figure for figure in answer.figures if not _RANGE.match(figure.name)]
    found = [_row(figure, overrides.get(figure.name), view, today, hand) for figure in told]
    names = {figure.name for figure in told}
    found += [_unknown(override, view, hand) for name, override in overrides.items() if name not in names]
    order = {OF_OVERRIDE[name]: place for place, name in enumerate(OVERRIDES)}
    return sorted(found, key=lambda row: order.get(row.name, len(order)))


@dataclass(frozen=True, slots=True)
class Span:
    """Between which values an uncertain input may lie."""

    label: str
    low: Row
    high: Row


def spans(answer: Answer, view: View, today: date, hand: Hand) -> list[Span]:
    """The ranges, one line each."""
    ends: dict[str, dict[str, Row]] = {}
    for figure in answer.figures:
        if found := _RANGE.match(figure.name):
            ends.setdefault(found["input"], {})[found["end"]] = _row(figure, None, view, today, hand)
    return [Span(hand.headed(words.INPUTS[name]), both["low"], both["high"]) for name, both in ends.items()]


@dataclass(frozen=True, slots=True)
class Source:
    """On paper: what comes from one place."""

    origin: str
    name: str
    is_named: bool
    as_of: date | None
    figures: tuple[tuple[str, str], ...]
    """Each with its name and as it is written."""


def sources(told: Sequence[Row], ranges: Sequence[Span]) -> list[Source]:
    """Every figure once more, by where it comes from."""
    found: dict[tuple[str, str, bool, date | None], list[tuple[str, str]]] = {}
    for row in told:
        if row.value:
            found.setdefault((row.origin, row.source, row.is_named, row.as_of), []).append(
                (row.label, f"{row.text} {row.unit}")
            )
    for span in ranges:
        low, high = span.low, span.high
        written = f"{low.text} – {high.text} {high.unit}"
        found.setdefault((low.origin, low.source, low.is_named, low.as_of), []).append((span.label, written))
    return [Source(*place, tuple(figures)) for place, figures in found.items()]


def _row(figure: Figure, override: Override | None, view: View, today: date, hand: Hand) -> Row:
    return Row(
        name=figure.name,
        label=hand.label(figure.name),
        text=_figure(figure, hand),
        unit=_unit(figure, hand),
        value=figure.value if isinstance(figure.value, str) else hand.value(figure.value),
        origin=hand.of(words.ORIGINS[figure.origin]),
        source=_source(figure, hand),
        is_named=is_named(figure.source),
        as_of=figure.as_of,
        age=_age(0 if figure.origin == "overridden" else figure.age_days(today), hand),
        is_doubtful=figure.origin == "default" or (figure.as_of is None and figure.origin != "overridden"),
        trial=_trial(override, figure.value, view, hand) if override and isinstance(figure.value, Fraction) else None,
    )


def _unknown(override: Override, view: View, hand: Hand) -> Row:
    """A figure that nobody knows, and that can be tried all the same."""
    t, name = hand.w.t, OF_OVERRIDE[override]
    return Row(
        name=name,
        label=hand.label(name),
        text="–",
        unit="",
        value="",
        origin=t("own.origin unknown"),
        source="",
        is_named=False,
        as_of=None,
        age="–",
        is_doubtful=True,
        trial=_trial(override, None, view, hand),
    )


def _figure(figure: Figure, hand: Hand) -> str:
    """A figure as it was stated."""
    if isinstance(figure.value, str):
        return figure.value
    if figure.unit == "share" or figure.name.startswith("ranges.price_factor."):
        return f"{hand.plainly(figure.value * _WHOLE)}%"
    return hand.size(figure.value) if figure.unit == "bytes" else hand.plainly(figure.value)


def _unit(figure: Figure, hand: Hand) -> str:
    """In what it is measured, where the name does not say so already."""
    if figure.unit in _SAID_BY_NAME or isinstance(figure.value, str):
        return ""
    return hand.of(words.UNITS.get(figure.unit, (figure.unit, figure.unit)))


def _source(figure: Figure, hand: Hand) -> str:
    """Where it comes from, beside the word that says of what kind that is."""
    return "" if figure.origin == "overridden" else cited(figure.source, hand.w.t.language)


def _age(days: int | None, hand: Hand) -> str:
    t = hand.w.t
    if days is None:
        return t("own.age unknown")
    if days <= 0:
        return t("own.days old none")
    return t("own.days old.one" if days == 1 else "own.days old", n=hand.number(days, 0))


def _trial(override: Override, now: Fraction | None, view: View, hand: Hand) -> Trial:
    limits = OVERRIDES[override]
    if now is not None and override == "tokens_per_day":
        now /= DAYS_A_MONTH
    return Trial(
        override=override,
        asked_as=asked_as(override),
        tried=spoken(override, view.tried[override]) if override in view.tried else "",
        now="" if now is None else spoken(override, _near(now)),
        unit=hand.w.t(f"own.asks {limits.unit}"),
        least=spoken(override, limits.least),
        most=spoken(override, limits.most),
    )


def _near(value: Fraction) -> Fraction:
    """Six digits of a figure: a ledger's may have no end."""
    return Fraction(f"{float(value):.6g}")
