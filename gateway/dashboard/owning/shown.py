"""What the templates of the page are given: an answer's figures with the words that go with them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateway.dashboard.owning.effects import effects, place, scale
from gateway.dashboard.owning.inputs import rows, sources, spans
from gateway.dashboard.owning.view import spoken
from gateway.owning import words
from gateway.owning.figures import OF_OVERRIDE
from gateway.owning.questions import OVERRIDES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date
    from fractions import Fraction

    from gateway.dashboard.owning.view import View
    from gateway.dashboard.owning.written import Hand
    from gateway.economics.break_even import Interval, Step
    from gateway.owning.answers import Answer
    from gateway.owning.questions import Override

EXAMPLES = "policies/packs/k3-cluster/break_even.yaml"
"""Where the examples that come with Soleira are, as a command names them."""
MOST = 3
"""How many of the inputs that matter are told in words."""


def page(answer: Answer, view: View, today: date, hand: Hand) -> dict[str, Any]:
    """What the page's template is given beside the words."""
    result, found = answer.result, effects(answer, hand)
    told, ranges = rows(answer, view, today, hand), spans(answer, view, today, hand)
    return {
        "answer": answer,
        "title": words.title(answer, hand.w.t.language),
        "on": today,
        "headline": headline(answer, hand),
        "lines": lines(answer),
        "effects": found,
        "most": MOST,
        "middle": place(result.tokens_per_month, scale(answer)) if result.tokens_per_month is not None else None,
        "notes": notes(answer, hand),
        "paying": paying(answer),
        "where": intervals(answer, hand),
        "steps": [(step, why_not(step, answer, hand)) for step in result.steps],
        "cheapest": cheapest(answer, hand),
        "rows": told,
        "spans": ranges,
        "sources": sources(told, ranges),
        "trying": tried(view, hand),
        "command": command(answer, view),
    }


@dataclass(frozen=True, slots=True)
class Headline:
    """The answer in a word and a sentence, and what a reader would ask next."""

    tone: str
    """The verdict, as styles know it."""
    word: str
    says: str
    further: tuple[str, ...]


def headline(answer: Answer, hand: Hand) -> Headline:
    """Yes, not yet or never, and how far away."""
    t = hand.w.t
    return Headline(answer.verdict, t(f"own.{answer.verdict}"), _says(answer, hand), tuple(_further(answer, hand)))


def _says(answer: Answer, hand: Hand) -> str:
    t, result = hand.w.t, answer.result
    match answer.verdict:
        case "yes":
            saved = saving(answer)
            return t("own.yes saves", saved=hand.usd(saved)) if saved else t("own.yes says")
        case "not_yet" if answer.times_today is not None and answer.times_today > 1:
            return t("own.not_yet says", times=hand.times(answer.times_today))
        case "not_yet":
            return t("own.not_yet between", where=", ".join(intervals(answer, hand)))
        case "unknown" if result.tokens_per_month is not None:
            return t("own.unknown says", volume=hand.a_day(result.tokens_per_month))
        case _:
            return t(f"own.never {answer.reason}")


def _further(answer: Answer, hand: Hand) -> Iterator[str]:
    t = hand.w.t
    if answer.verdict == "not_yet" and answer.times_today is not None and answer.times_today > 1:
        yield _until(answer, hand)
        if _pays_below(answer):
            yield t("own.not_yet between", where=", ".join(intervals(answer, hand)))
    if answer.verdict == "unknown":
        yield t("own.unknown volume")
    if answer.hybrid is not None and answer.verdict != "yes":
        yield from _hybrid(answer, hand)
    yield words.reason(answer, t.language)


def _pays_below(answer: Answer) -> bool:
    """True if owning pays at less than today's volume, which takes one machine more."""
    today = answer.scenario.traffic.tokens_per_month or 0
    return any(each.last is not None and each.last < today for each in paying(answer))


def _until(answer: Answer, hand: Hand) -> str:
    t, growth = hand.w.t, answer.scenario.traffic.growth_per_month
    if answer.months_until is not None:
        months = hand.stretch(answer.months_until)
        if answer.on is None:
            return t("own.until", growth=hand.share(growth), months=months)
        return t("own.until month", growth=hand.share(growth), months=months, month=hand.month_of(answer.on))
    if growth <= 0:
        return t("own.until no growth")
    return t("own.until never", growth=hand.share(growth))


def _hybrid(answer: Answer, hand: Hand) -> Iterator[str]:
    """Own machines for a part, where that is cheaper than either alone."""
    best = answer.hybrid
    if best is None or not best.replicas or best.all_hosted_usd is None or best.usd >= best.all_hosted_usd:
        return
    saved, share = hand.usd(best.all_hosted_usd - best.usd), hand.share(1 - best.overflow_share)
    one = ".one" if best.replicas == 1 else ""
    yield hand.w.t(f"own.hybrid pays{one}", n=best.replicas, share=share, saved=saved)


def cheapest(answer: Answer, hand: Hand) -> str:
    """The cheapest division of today's tokens in words."""
    t, best = hand.w.t, answer.hybrid
    if best is None or not best.replicas:
        return t("own.way cheapest hosted")
    share, one = hand.share(best.overflow_share), ".one" if best.replicas == 1 else ""
    if not best.overflow_share:
        return t(f"own.way cheapest own{one}", n=best.replicas)
    return t(f"own.way both{one}", n=best.replicas, share=share)


def saving(answer: Answer) -> Fraction | None:
    """What owning saves in a month at today's volume, in dollars; None: that volume is unknown."""
    if answer.own_usd is None or answer.hosted_usd is None:
        return None
    return answer.hosted_usd - answer.own_usd


def lines(answer: Answer) -> list[str]:
    """Which lines the picture has."""
    has_hybrid = any(point.hybrid_usd is not None for point in answer.curve)
    return ["own", "hosted", *(["hybrid"] if has_hybrid else [])]


def notes(answer: Answer, hand: Hand) -> list[str]:
    """What there is to know of the answer, a sentence each."""
    return [words.note(note, hand.w.t.language) for note in answer.notes]


def paying(answer: Answer) -> Sequence[Interval]:
    """Where owning costs no more, and the machines hold the model."""
    return () if answer.verdict == "never" else answer.result.intervals


def intervals(answer: Answer, hand: Hand) -> list[str]:
    """The volumes at which owning costs no more, a phrase each."""
    t = hand.w.t
    return [
        t("own.from", first=hand.tokens(each.first))
        if each.last is None
        else t("own.between", first=hand.tokens(each.first), last=hand.tokens(each.last))
        for each in paying(answer)
    ]


def why_not(step: Step, answer: Answer, hand: Hand) -> str:
    """Why a number of machines pays, or does not."""
    t = hand.w.t
    if answer.reason in ("does_not_hold", "arithmetic_cannot_hold"):
        return t("own.step does not hold")
    if answer.reason == "slo":
        return t("own.step too slow")
    if step.needed_tokens is None:
        return t("own.step host cheaper")
    if not step.is_valid:
        return t("own.step full")
    return t("own.step unknown") if step.most_tokens is None else t("own.step pays")


@dataclass(frozen=True, slots=True)
class Tried:
    """One figure that is tried, and the address of the page without it."""

    text: str
    back: str


def tried(view: View, hand: Hand) -> list[Tried]:
    """What is tried, for the line above the answer."""
    return [Tried(_tried(name, value, hand), view.without(name)) for name, value in view.tried.items()]


def _tried(name: Override, value: Fraction, hand: Hand) -> str:
    t = hand.w.t
    label = t("own.tokens") if name == "tokens_per_day" else hand.label(OF_OVERRIDE[name])
    return f"{label}: {spoken(name, value)} {t(f'own.asks {OVERRIDES[name].unit}')}"


def command(answer: Answer, view: View) -> str:
    """The very question on the command line."""
    line = ["soleira break-even", "--scenario", answer.name]
    if view.is_example:
        line += ["--scenario-file", EXAMPLES]
    if view.window:
        line += ["--from-ledger", view.window]
    for setting in view.settings():
        line += ["--set", setting]
    return f"{line[0]} {shlex.join(line[1:])}"
