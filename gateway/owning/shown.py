"""An answer as programs read it: numbers, not texts."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gateway.economics.scenario import DAYS_A_MONTH, MILLION
from gateway.owning import figures, words

if TYPE_CHECKING:
    from datetime import date
    from decimal import Decimal

    from gateway.economics.break_even import Step
    from gateway.economics.sensitivity import Bar
    from gateway.owning.answers import Answer
    from gateway.owning.curves import UsedPoint, VolumePoint


def shown(answer: Answer) -> dict[str, Any]:
    """All of it; amounts in dollars, volumes in millions of tokens of a month of 730 hours or of a day."""
    return {
        "scenario": answer.name,
        "title": words.title(answer),
        "on": answer.at.isoformat(),
        **_terms(answer),
        "break_even": _break_even(answer),
        "peak_to_mean_max": _number(answer.result.peak_to_mean_max),
        "verdict": answer.verdict,
        "verdict_sentence": words.verdict(answer),
        "cheapest_sentence": words.cheapest(answer),
        "today": _today(answer),
        "steps": [_step(step) for step in answer.result.steps],
        "hybrid": _hybrid(answer),
        "payback": _payback(answer),
        "curve": [_point(point) for point in answer.curve],
        "usd_per_million_over_utilisation": [_used(point) for point in answer.used],
        "tornado": [_bar(bar) for bar in answer.bars],
        "band": _band(answer),
        **_currencies(answer),
        "ledger": None if answer.observed is None else answer.observed.as_dict(),
        **_held(answer),
        "figures": [figures.as_dict(figure, answer.at, float) for figure in answer.figures],
        "notes": [{"code": note.code, "text": words.note(note)} for note in answer.notes],
    }


def _terms(answer: Answer) -> dict[str, Any]:
    """What the least fleet costs, and what the host takes."""
    result = answer.result
    return {
        "hourly_usd": _number(result.hourly_usd),
        "monthly_usd": _number(result.monthly_usd),
        "hosted_per_million_usd": _number(result.hosted_per_million_usd),
    }


def _break_even(answer: Answer) -> dict[str, Any]:
    result = answer.result
    return {
        **_volume(result.tokens_per_month),
        "valid": result.valid,
        "why": answer.reason,
        "reason": words.reason(answer),
        "times_today": _number(answer.times_today),
        "months_until": answer.months_until,
        "on": None if answer.on is None else answer.on.isoformat(),
        "usd_per_month": _number(_usd_there(answer)),
        "utilisation": _number(answer.used_at_break_even),
        "intervals": [{"from": _millions(each.first), "until": _millions(each.last)} for each in result.intervals],
        "intervals_known_up_to": _millions(result.known_up_to),
    }


def _today(answer: Answer) -> dict[str, Any]:
    return {
        **_volume(answer.scenario.traffic.tokens_per_month),
        "own_usd": _number(answer.own_usd),
        "hosted_usd": _number(answer.hosted_usd),
        "utilisation": _number(answer.used_today),
        "idle_usd": _number(answer.idle_usd),
        "implied_premium": _number(answer.implied_premium),
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "replicas": step.replicas,
        "machines": step.machines,
        "monthly_usd": _number(step.usd_per_month),
        "needed_million_tokens_per_month": _millions(step.needed_tokens),
        "most_million_tokens_per_month": _millions(step.most_tokens),
        "valid": step.is_valid,
    }


def _point(point: VolumePoint) -> dict[str, Any]:
    return {
        "million_tokens_per_month": _millions(point.tokens),
        "own_usd": _number(point.own_usd),
        "hosted_usd": _number(point.hosted_usd),
        "hybrid_usd": _number(point.hybrid_usd),
    }


def _used(point: UsedPoint) -> dict[str, Any]:
    return {
        "utilisation": _number(point.utilisation),
        "of_all_tokens_usd": _number(point.usd_per_million),
        "of_written_tokens_usd": _number(point.usd_per_million_output),
    }


def _bar(bar: Bar) -> dict[str, Any]:
    return {
        "input": bar.name,
        "low": _number(bar.low),
        "high": _number(bar.high),
        "million_tokens_per_day_at_low": _daily(bar.tokens_at_low),
        "million_tokens_per_day_at_high": _daily(bar.tokens_at_high),
    }


def _currencies(answer: Answer) -> dict[str, Any]:
    """The owner's rates, and under each currency's name the amounts in it."""
    rates = {
        currency: {"per_usd": _number(per_usd), "as_of": as_of.isoformat()}
        for currency, (per_usd, as_of) in answer.exchange.items()
    }
    amounts = {currency.lower(): _in_currency(answer, rate) for currency, rate in answer.exchange.items()}
    return {"exchange_rates": rates, **amounts}


def _held(answer: Answer) -> dict[str, Any]:
    holding = answer.holding
    return {
        "holds": holding.holds,
        "needed_bytes": holding.needed_bytes,
        "there_bytes": holding.there_bytes,
        "instead": list(holding.instead),
    }


def _usd_there(answer: Answer) -> Fraction | None:
    """What the machines of the break-even volume cost in a month, and the host as well; None: there is none."""
    return next((step.usd_per_month for step in answer.result.steps if step.is_valid), None)


def _volume(tokens: Fraction | None) -> dict[str, float | None]:
    return {"million_tokens_per_month": _millions(tokens), "million_tokens_per_day": _daily(tokens)}


def _hybrid(answer: Answer) -> dict[str, Any] | None:
    best = answer.hybrid
    if best is None:
        return None
    return {
        "replicas": best.replicas,
        "usd": _number(best.usd),
        "own_usd": _number(best.own_usd),
        "hosted_usd": _number(best.hosted_usd),
        "overflow_share": _number(best.overflow_share),
        "all_hosted_usd": _number(best.all_hosted_usd),
        "all_own_usd": _number(best.all_own_usd),
        "saved_against_hosted_usd": None if best.all_hosted_usd is None else _number(best.all_hosted_usd - best.usd),
        "saved_against_own_usd": _number(best.all_own_usd - best.usd),
    }


def _payback(answer: Answer) -> dict[str, Any] | None:
    paid = answer.payback
    if paid is None:
        return None
    return {
        "usd": _number(paid.usd),
        "months": paid.months,
        "discounted_months": paid.discounted_months,
        "npv_usd": paid.npv_usd,
        "over_months": paid.over_months,
    }


def _band(answer: Answer) -> dict[str, Any] | None:
    band = answer.band
    if band is None:
        return None
    percentiles = {"p5": band.p5, "p50": band.p50, "p95": band.p95}
    return {
        **{
            f"{name}_million_tokens_per_day": None if tokens is None else tokens / float(DAYS_A_MONTH * MILLION)
            for name, tokens in percentiles.items()
        },
        "probability_at_todays_volume": band.probability,
        "never": band.never,
        "draws": band.draws,
    }


def _in_currency(answer: Answer, rate: tuple[Decimal, date]) -> dict[str, Any]:
    """The amounts that people ask for first, at the owner's rate."""
    per_usd, result = Fraction(rate[0]), answer.result
    amounts = {
        "hourly": result.hourly_usd,
        "monthly": result.monthly_usd,
        "hosted_per_million": result.hosted_per_million_usd,
        "own_today": answer.own_usd,
        "hosted_today": answer.hosted_usd,
    }
    return {name: None if amount is None else _number(amount * per_usd) for name, amount in amounts.items()}


def _millions(tokens: Fraction | None) -> float | None:
    return None if tokens is None else float(tokens / MILLION)


def _daily(tokens: Fraction | None) -> float | None:
    return None if tokens is None else float(tokens / MILLION / DAYS_A_MONTH)


def _number(value: Fraction | Decimal | None) -> float | None:
    return None if value is None else float(value)
