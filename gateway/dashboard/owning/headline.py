"""The answer in a word and a sentence, and what a reader would ask next: how far away it is, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.economics.break_even import hosted_usd
from gateway.economics.scenario import ONE
from gateway.owning import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from gateway.dashboard.owning.written import Hand
    from gateway.economics.break_even import Interval
    from gateway.economics.hybrid import Hybrid
    from gateway.owning.answers import Answer

_MONTHS_A_YEAR = 12


@dataclass(frozen=True, slots=True)
class Headline:
    """What stands at the top of the page."""

    tone: str
    """The verdict, as styles know it."""
    word: str
    says: str
    further: tuple[str, ...]


def headline(answer: Answer, hand: Hand) -> Headline:
    """Yes, not yet or never, and how far away."""
    return Headline(answer.verdict, _word(answer, hand), _says(answer, hand), tuple(_further(answer, hand)))


def paying(answer: Answer) -> Sequence[Interval]:
    """Where owning costs no more, and the machines hold the model."""
    return () if answer.verdict == "never" else answer.result.intervals


def when(answer: Answer, hand: Hand) -> str:
    """Why no break-even day is told."""
    t = hand.w.t
    match answer.verdict:
        case "yes":
            return t("own.when now")
        case "unknown":
            return t("own.when unknown")
        case "not_yet" if answer.times_today is not None:
            return _until(answer, hand)
        case "not_yet":
            return t("own.when below")
        case _:
            return t("own.when never")


def _word(answer: Answer, hand: Hand) -> str:
    t = hand.w.t
    if answer.verdict == "yes" and answer.reason == "arithmetic":
        return t("own.yes arithmetic")
    if answer.verdict == "not_yet" and answer.times_today is None:
        return t("own.not_at_this_volume")
    return t(f"own.{answer.verdict}")


def _says(answer: Answer, hand: Hand) -> str:
    t, result = hand.w.t, answer.result
    match answer.verdict:
        case "yes":
            saved = _saving(answer)
            return t("own.yes saves", saved=hand.usd(saved)) if saved else t("own.yes says")
        case "not_yet" if answer.times_today is not None:
            forced = " forced" if answer.scenario.traffic.forced_share else ""
            return t(f"own.not_yet says{forced}", times=hand.times(answer.times_today))
        case "not_yet":
            return t("own.not_yet below", where=_below(answer, hand))
        case "unknown" if result.tokens_per_month is not None:
            return t("own.unknown says", volume=hand.a_day_s_tokens(result.tokens_per_month))
        case _:
            return t(f"own.never {answer.reason}")


def _further(answer: Answer, hand: Hand) -> Iterator[str]:
    t = hand.w.t
    if answer.verdict == "not_yet" and answer.times_today is not None:
        yield _until(answer, hand)
        if below := _below(answer, hand):
            yield t("own.pays below", where=below)
    if answer.hybrid is not None:
        yield from _both(answer, answer.hybrid, hand)
    yield from _why(answer, hand)


def _below(answer: Answer, hand: Hand) -> str:
    """The greatest volumes below today's at which owning pays; empty: there are none."""
    today = answer.scenario.traffic.tokens_per_month or 0
    below = [each for each in paying(answer) if each.last is not None and each.last < today]
    return hand.interval(below[-1]) if below else ""


def _until(answer: Answer, hand: Hand) -> str:
    t, growth = hand.w.t, answer.scenario.traffic.growth_per_month
    if answer.months_until is not None:
        months = hand.stretch(answer.months_until)
        if answer.on is None:
            return t("own.until", growth=hand.share(growth), months=months)
        return t("own.until month", growth=hand.share(growth), months=months, month=hand.month_of(answer.on))
    if growth <= 0:
        return t("own.until no growth")
    if (1 + growth) ** _MONTHS_A_YEAR * (1 - answer.scenario.hosted.decline_per_year) <= ONE:
        return t("own.until never", growth=hand.share(growth))
    return t("own.until beyond", growth=hand.share(growth))


def _saving(answer: Answer) -> Fraction | None:
    """What owning saves in a month at today's volume, in dollars; None: that volume is unknown."""
    if answer.own_usd is None or answer.hosted_usd is None:
        return None
    return answer.hosted_usd - answer.own_usd


def _both(answer: Answer, best: Hybrid, hand: Hand) -> Iterator[str]:
    """What own machines for a part, and the host for the rest, come to."""
    one = ".one" if best.replicas == 1 else ""
    said: dict[str, object] = {"n": hand.number(best.replicas, 0), "share": hand.share(1 - best.overflow_share)}
    if best.all_hosted_usd is None:
        forced, way = hand.share(answer.scenario.traffic.forced_share), "both" if best.overflow_share else "own"
        yield hand.w.t(f"own.forced {way}{one}", **said, forced=forced, usd=hand.usd(best.usd))
    elif answer.verdict == "yes" and best.replicas and best.overflow_share and best.usd < best.all_own_usd:
        yield hand.w.t(f"own.hybrid better{one}", **said, saved=hand.usd(best.all_own_usd - best.usd))
    elif answer.verdict != "yes" and best.replicas and best.usd < best.all_hosted_usd:
        yield hand.w.t(f"own.hybrid pays{one}", **said, saved=hand.usd(best.all_hosted_usd - best.usd))


def _why(answer: Answer, hand: Hand) -> Iterator[str]:
    """Why the answer is what it is, where its sentence does not say so already."""
    match answer.reason:
        case "arithmetic":
            yield hand.w.t("own.arithmetic", machines=answer.holding.machines)
        case "does_not_hold" | "arithmetic_cannot_hold":
            yield words.reason(answer, hand.w.t.language)
        case "never":
            yield from _why_never(answer, hand)
        case _:
            return


def _why_never(answer: Answer, hand: Hand) -> Iterator[str]:
    t, scenario, step = hand.w.t, answer.scenario, answer.result.steps[0]
    if step.most_tokens is None or step.needed_tokens is None:
        yield t("own.why cheap")
        return
    yield t(
        "own.why full.one" if step.replicas == 1 else "own.why full",
        n=hand.number(step.replicas, 0),
        machines=answer.holding.machines,
        most=hand.month_s_tokens(step.most_tokens),
        peak=hand.number(scenario.traffic.peak_to_mean),
        host=hand.usd(hosted_usd(scenario.hosted, scenario.traffic.mix, step.most_tokens)),
        own=hand.usd(step.usd_per_month),
    )
    most = answer.result.peak_to_mean_max
    if most is not None and most >= ONE:
        yield t("own.why peak", peak=hand.number(most, 2))
