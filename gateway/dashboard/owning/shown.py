"""What the templates of the page are given: an answer's figures with the words that go with them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gateway.dashboard.cited import cited
from gateway.dashboard.owning.effects import effects, place, scale
from gateway.dashboard.owning.headline import headline, paying, when
from gateway.dashboard.owning.inputs import rows, sources, spans
from gateway.dashboard.owning.view import spoken
from gateway.dashboard.owning_words import PROFILE_NOTES
from gateway.economics.break_even import replicas_at
from gateway.owning import words
from gateway.owning.figures import OF_OVERRIDE
from gateway.owning.questions import OVERRIDES

if TYPE_CHECKING:
    from datetime import date

    from gateway.dashboard.owning.view import View
    from gateway.dashboard.owning.written import Hand
    from gateway.economics.break_even import Step
    from gateway.errors import BadRequest
    from gateway.owning.answers import Answer
    from gateway.owning.notes import Note
    from gateway.owning.questions import Override

EXAMPLES = "policies/packs/k3-cluster/break_even.yaml"
"""Where the examples that come with Soleira are, as a command names them."""
MOST = 3
"""How many of the inputs that matter are told in words."""
_TOLD_ABOVE = frozenset({"no_volume", "forced_home"})
"""Notes that the answer itself says."""
_MANIFOLD = 10
"""A premium from this on is told as how many times a token is worth, not in per cent."""


def page(answer: Answer, view: View, today: date, hand: Hand) -> dict[str, Any]:
    """What the page's template is given beside the words."""
    result, found, volume = answer.result, effects(answer, hand), answer.scenario.traffic.tokens_per_month
    told, ranges = rows(answer, view, today, hand), spans(answer, view, today, hand)
    return {
        "answer": answer,
        "title": words.title(answer, hand.w.t.language),
        "on": today,
        "headline": headline(answer, hand),
        "replicas": None if answer.own_usd is None or volume is None else replicas_at(answer.scenario, volume),
        "spares": answer.scenario.owned.spares,
        "full": next((step for step in result.steps if step.is_valid), None),
        "when": when(answer, hand),
        "lines": lines(answer),
        "effects": found,
        "most": MOST,
        "middle": place(result.tokens_per_month, scale(answer)) if result.tokens_per_month is not None else None,
        "notes": notes(answer, hand),
        "paying": paying(answer),
        "where": [hand.interval(each) for each in paying(answer)],
        "steps": [(step, why_not(step, answer, hand)) for step in result.steps],
        "cheapest": cheapest(answer, hand),
        "premium": premium(answer, hand),
        "rows": told,
        "spans": ranges,
        "sources": sources(told, ranges),
        "trying": tried(view, hand),
        "command": command(answer, view),
    }


def cheapest(answer: Answer, hand: Hand) -> str:
    """The cheapest division of today's tokens in words."""
    t, best = hand.w.t, answer.hybrid
    if best is None or not best.replicas:
        return t("own.way cheapest hosted")
    share, one = hand.share(best.overflow_share), ".one" if best.replicas == 1 else ""
    if not best.overflow_share:
        return t(f"own.way cheapest own{one}", n=hand.number(best.replicas, 0))
    return t(f"own.way both{one}", n=hand.number(best.replicas, 0), share=share)


def premium(answer: Answer, hand: Hand) -> str:
    """What privacy would have to be worth for owning to pay today; empty: nobody knows."""
    t, part = hand.w.t, answer.implied_premium
    if part is None:
        return ""
    if part <= 0:
        return t("own.premium none")
    if part >= _MANIFOLD:
        return t("own.premium times", times=hand.number(1 + part, 0))
    return t("own.premium", share=hand.share(part))


def lines(answer: Answer) -> list[str]:
    """Which lines the picture has."""
    has_hybrid = any(point.hybrid_usd is not None for point in answer.curve)
    return ["own", "hosted", *(["hybrid"] if has_hybrid else [])]


def notes(answer: Answer, hand: Hand) -> list[str]:
    """What there is to know of the answer, a sentence each."""
    told = [note for note in answer.notes if note.code not in _TOLD_ABOVE]
    return [words.note(_read(note, hand), hand.w.t.language) for note in told]


def _read(note: Note, hand: Hand) -> Note:
    """A note whose figures and sources are called as the page calls them."""
    facts = dict(note.facts)
    if note.code.startswith(("old_", "price_", "rate_")):
        names = [words.figure(name, hand.w.t.language) for name in str(facts.get("names", "")).split(", ")]
        facts["names"] = hand.w.headed(", ".join(names))
        facts["source"] = cited(str(facts.get("source", "")), hand.w.t.language)
    if note.code == "profile_note" and hand.w.t.language == "pt":
        facts["text"] = PROFILE_NOTES.get(str(facts["text"]), facts["text"])
    return replace(note, facts=facts)


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


def refused(problem: BadRequest, hand: Hand) -> str:
    """What a figure that makes no sense should have been; empty where the problem is another."""
    for name, limits in OVERRIDES.items():
        if problem.param == name:
            least, most = (hand.plainly(Fraction(spoken(name, end))) for end in (limits.least, limits.most))
            unit = hand.w.t(f"own.asks {limits.unit}")
            return hand.w.t(
                "own.refused input", figure=hand.label(OF_OVERRIDE[name]), least=least, most=most, unit=unit
            )
    return ""


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
