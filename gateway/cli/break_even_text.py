"""The answer to "is owning cheaper?" as a terminal shows it: one page, the verdict first."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import floor, log10
from textwrap import wrap
from typing import TYPE_CHECKING

from gateway.cli.options import aligned, counted
from gateway.economics.scenario import MILLION
from gateway.owning import words
from gateway.owning.written import rounded, share, size, usd

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gateway.economics.sensitivity import Bar
    from gateway.owning.answers import Answer
    from gateway.owning.figures import Figure

_WIDTH = 40
_NARROW = 12
"""Of bars that stand beside four columns."""
_FULL, _EMPTY = "█", "░"
_MOST_STEPS = 8
_MOST_INTERVALS = 4
_COUNTS = frozenset({"GPUs", "replicas", "requests"})
"""What the label of a figure names already."""


def page(answer: Answer, columns: int | None = None) -> str:
    """All of it as text; sentences are broken where the terminal ends, and not at all where there is none."""
    lines = _lines(answer)
    return "\n".join(lines if columns is None else (part for line in lines for part in _broken(line, columns)))


def _broken(line: str, columns: int) -> Sequence[str]:
    """A sentence on several lines; tables stay as they are."""
    text = line.lstrip()
    indent = " " * (len(line) - len(text) + (2 if text.startswith("- ") else 0))
    if len(line) <= columns or "  " in text or _FULL in text or _EMPTY in text:
        return [line]
    return wrap(line, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _lines(answer: Answer) -> Iterator[str]:
    yield f"{words.title(answer)}   (scenario {answer.name}, {answer.at})"
    yield ""
    yield words.verdict(answer)
    yield words.reason(answer)
    if both := words.cheapest(answer):
        yield both
    yield from _today(answer)
    yield from _seen(answer)
    yield from _costs(answer)
    if answer.reason == "arithmetic_cannot_hold":
        yield ""
        yield "By arithmetic alone, as if the machines could hold the model:"
    yield from _steps(answer)
    yield from _payback(answer)
    yield from _used(answer)
    yield from _bars(answer.bars)
    yield from _band(answer)
    yield from _currencies(answer)
    yield from _figures(answer)
    yield from _notes(answer)


def _today(answer: Answer) -> Iterator[str]:
    """How far it is, as a bar."""
    today, times = answer.scenario.traffic.tokens_per_month, answer.times_today
    if not today or not times:
        return
    done = min(Fraction(1), 1 / times)
    yield ""
    if times <= 1:
        yield f"  today's {words.daily(today)} million tokens a day are {rounded(1 / times)} times what it takes"
        return
    yield f"  {_bar(done)} {words.daily(today)} of {words.daily(today * times)} million tokens a day"
    if answer.on is not None and answer.months_until:
        yield f"  at this growth on {answer.on}"


def _seen(answer: Answer) -> Iterator[str]:
    """What the house's own ledger saw, beside what the scenario takes from it."""
    seen = answer.observed
    if seen is None or not seen.tokens:
        return
    yield from _headline(f"What the ledger saw ({rounded(seen.days)} days until {seen.as_of})")
    yield f"  {rounded(Fraction(seen.tokens) / MILLION)} million tokens in {counted(seen.requests, 'request')}"
    if (price := seen.paid.usd_per_million) is not None:
        lanes = ", ".join(f"{lane} {rounded(each)}" for lane, each in seen.paid.by_lane.items())
        yield f"  hosts were paid {usd(price)} a million" + (f" ({lanes})" if lanes else "")
    if seen.own_share:
        yield f"  {share(seen.own_share)} ran on machines of your own"


def _costs(answer: Answer) -> Iterator[str]:
    yield from _headline("What it costs")
    result = answer.result
    yield f"  the least fleet   {usd(result.hourly_usd)} an hour, {usd(result.monthly_usd)} a month"
    yield f"  the host          {usd(result.hosted_per_million_usd)} a million tokens of this mix"
    yield from _compared(answer)
    if answer.used_today is not None and answer.idle_usd is not None:
        used = share(answer.used_today)
        idle = usd(answer.idle_usd)
        yield f"  own machines are busy {used} of the time; {idle} a month are paid for waiting"
    if answer.implied_premium:
        yield f"  a private token would have to be worth {share(answer.implied_premium)} more than a hosted one"


def _compared(answer: Answer) -> Iterator[str]:
    """What today's volume costs on own machines, at the host, and on both where that takes some of each."""
    mixed = answer.hybrid if answer.hybrid is not None and answer.hybrid.replicas else None
    amounts = (("own", answer.own_usd), ("host", answer.hosted_usd), ("both", None if mixed is None else mixed.usd))
    known = [(name, amount) for name, amount in amounts if amount is not None]
    most = max((amount for _, amount in known), default=Fraction(0))
    if not most:
        return
    yield "  a month at today's volume:"
    for name, amount in known:
        yield f"    {name:<5} {_bar(amount / most)} {usd(amount)}"
    if mixed is not None:
        part = share(mixed.overflow_share)
        yield f"    both: {counted(mixed.replicas, 'replica')} of one's own, {part} of the tokens to the host"


def _steps(answer: Answer) -> Iterator[str]:
    result = answer.result
    yield from _headline("The staircase (million tokens a day)")
    rows = [("replicas", "machines", "a month", "pays from", "carries up to", "")]
    rows += [
        (
            str(step.replicas),
            str(step.machines),
            usd(step.usd_per_month),
            "never" if step.needed_tokens is None else words.daily(step.needed_tokens),
            "unknown" if step.most_tokens is None else words.daily(step.most_tokens),
            "" if step.is_valid else _why_not(answer),
        )
        for step in result.steps[:_MOST_STEPS]
    ]
    yield from _table(rows, right=5)
    shown = result.intervals[:_MOST_INTERVALS]
    if len(result.intervals) > 1:
        spans = [
            f"{words.daily(each.first)} to {'any' if each.last is None else words.daily(each.last)}" for each in shown
        ]
        more = f", and {len(result.intervals) - len(shown)} more" if len(result.intervals) > len(shown) else ""
        yield f"  cheaper at {'; '.join(spans)}{more}"
    if result.peak_to_mean_max is not None:
        peak = rounded(answer.scenario.traffic.peak_to_mean)
        first = result.steps[0].replicas
        pays = f"{counted(first, 'replica')} {'pays' if first == 1 else 'pay'}"
        yield f"  busiest hours: {peak} times the average here; {pays} up to {rounded(result.peak_to_mean_max)}"


def _why_not(answer: Answer) -> str:
    """Of a step that never pays."""
    if answer.reason == "does_not_hold":
        return "does not hold the model"
    return "is too slow" if answer.reason == "slo" else "is full before it pays"


def _payback(answer: Answer) -> Iterator[str]:
    paid = answer.payback
    if paid is None:
        return
    bought = answer.scenario.owned.purchase is not None
    yield from _headline("What is paid at once" if paid.usd else f"Rented for {counted(paid.over_months, 'month')}")
    if not paid.usd:
        yield f"  present value of what they save against the host {usd(Fraction(paid.npv_usd))}"
        return
    never = "not within its life" if bought else f"not within {counted(paid.over_months, 'month')}"
    months = never if paid.months is None else f"after {counted(paid.months, 'month')}"
    with_interest = never if paid.discounted_months is None else f"after {counted(paid.discounted_months, 'month')}"
    yield f"  {usd(paid.usd)}, back {months}; discounted {with_interest}"
    over = "" if bought else f" over {counted(paid.over_months, 'month')}"
    yield f"  present value of it all{over} {usd(Fraction(paid.npv_usd))}"


def _used(answer: Answer) -> Iterator[str]:
    if not answer.used:
        return
    yield from _headline("A million tokens on one's own machines, by how busy they are (USD)")
    wanted = {Fraction(10, 100), Fraction(25, 100), Fraction(50, 100), Fraction(75, 100), Fraction(1)}
    rows = [("busy", "of all tokens", "of the written ones")]
    rows += [
        (
            share(point.utilisation),
            _price(point.usd_per_million),
            "-" if point.usd_per_million_output is None else _price(point.usd_per_million_output),
        )
        for point in answer.used
        if point.utilisation in wanted
    ]
    yield from _table(rows, right=3)
    if answer.used_at_break_even is not None:
        beyond = ": busier than they can be" if answer.used_at_break_even > 1 else ""
        price = usd(answer.result.hosted_per_million_usd)
        yield f"  as much as at the host ({price}) at {share(answer.used_at_break_even)}{beyond}"


def _bars(bars: Sequence[Bar]) -> Iterator[str]:
    if not bars:
        return
    yield from _headline("What matters most (million tokens a day from which owning pays)")
    ends = [tokens for bar in bars for tokens in (bar.tokens_at_low, bar.tokens_at_high) if tokens is not None]
    most = max(ends, default=Fraction(1))
    rows = [
        (
            words.INPUTS[bar.name][0],
            f"{_value(bar.name, bar.low)} to {_value(bar.name, bar.high)}",
            _pays(bar.tokens_at_low),
            _pays(bar.tokens_at_high),
            _between(bar, most),
        )
        for bar in bars
    ]
    yield from _table([("", "low to high", "at low", "at high", ""), *rows], right=0)


def _band(answer: Answer) -> Iterator[str]:
    band = answer.band
    if band is None:
        return
    yield from _headline(f"How sure ({band.draws:,} draws of all of these at once)")
    for name, tokens in (("5 %", band.p5), ("half", band.p50), ("95 %", band.p95)):
        if tokens is not None:
            yield f"  {name:>6} of the draws pay at no more than {words.daily(Fraction(tokens))} million tokens a day"
    if band.never:
        yield f"  {share(Fraction(band.never)):>6} of the draws never pay, at any volume"
    if band.probability is not None:
        yield f"  at today's volume owning is cheaper in {share(Fraction(band.probability))} of the draws"


def _currencies(answer: Answer) -> Iterator[str]:
    for currency, (per_usd, as_of) in answer.exchange.items():
        rate = Fraction(per_usd)
        monthly, price = answer.result.monthly_usd * rate, answer.result.hosted_per_million_usd * rate
        yield from _headline(f"In {currency} ({per_usd} for a dollar, {as_of})")
        yield f"  the least fleet {float(monthly):,.2f} a month; the host {float(price):,.2f} a million tokens"


def _figures(answer: Answer) -> Iterator[str]:
    yield from _headline("Figures, with where they come from and how old they are")
    by_source: dict[str, list[Sequence[str]]] = defaultdict(list)
    for figure in answer.figures:
        if not figure.name.startswith("ranges."):
            by_source[_where(figure, answer)].append((words.figure(figure.name), _amount(figure)))
    for figure, row in _ranges(answer):
        by_source[_where(figure, answer)].append(row)
    widest = max((len(label) for rows in by_source.values() for label, _ in rows), default=0)
    for source, rows in by_source.items():
        yield f"  {source}"
        yield from (f"    {label:<{widest}}  {amount}" for label, amount in rows)


def _ranges(answer: Answer) -> Iterator[tuple[Figure, Sequence[str]]]:
    """Both ends of a range on one line."""
    for bar_name, (label, _) in words.INPUTS.items():
        low, high = (answer.figure(f"ranges.{bar_name}.{end}") for end in ("low", "high"))
        if low is not None and high is not None:
            amount = rounded(low.value) if isinstance(low.value, Fraction) and low.unit != "share" else _amount(low)
            yield low, (label, f"{amount} to {_amount(high)}")


def _where(figure: Figure, answer: Answer) -> str:
    """Where a figure comes from, and how old it is."""
    origin = words.ORIGINS[figure.origin][0]
    age = "" if figure.as_of is None and figure.origin in ("default", "overridden") else f", {_age(figure, answer)}"
    return f"{origin}{age}: {figure.source}"


def _notes(answer: Answer) -> Iterator[str]:
    if answer.notes:
        yield from _headline("To know")
        yield from (f"  - {words.note(note)}" for note in answer.notes)


def _headline(text: str) -> Iterator[str]:
    yield ""
    yield text


def _amount(figure: Figure) -> str:
    if isinstance(figure.value, str):
        return figure.value
    if figure.unit == "share":
        return share(figure.value)
    if figure.unit == "bytes":
        return size(figure.value)
    if figure.unit in _COUNTS:
        return rounded(figure.value)
    if figure.unit == "tokens/month":
        return f"{words.monthly(figure.value)} million"
    return f"{rounded(figure.value)} {words.UNITS.get(figure.unit, (figure.unit, ''))[0]}".rstrip()


def _age(figure: Figure, answer: Answer) -> str:
    age = figure.age_days(answer.at)
    return "of no day" if age is None else f"{counted(age, 'day')} old"


def _value(name: str, value: Fraction) -> str:
    return share(value) if name.endswith("_share") else rounded(value)


def _price(usd: Fraction) -> str:
    """Three digits that count, of cents too."""
    if not 0 < usd < 1:
        return rounded(usd)
    return f"{float(usd):.{2 - floor(log10(usd))}f}".rstrip("0").rstrip(".")


def _pays(tokens: Fraction | None) -> str:
    return "never" if tokens is None else words.daily(tokens)


def _between(bar: Bar, most: Fraction) -> str:
    """From the one end to the other on a common scale; what never pays runs off it."""
    ends = [most if tokens is None else tokens for tokens in (bar.tokens_at_low, bar.tokens_at_high)]
    first, last = (round(end / most * _NARROW) for end in sorted(ends)) if most else (0, 0)
    beyond = "…" if None in (bar.tokens_at_low, bar.tokens_at_high) else ""
    return f"{' ' * first}{_FULL * max(1, last - first)}{beyond}"


def _bar(part: Fraction) -> str:
    full = round(part * _WIDTH)
    return _FULL * full + _EMPTY * (_WIDTH - full)


def _table(rows: Sequence[Sequence[str]], right: int) -> Iterator[str]:
    """Rows below each other; the first so many columns stand to the right."""
    yield from (f"  {line}" for line in aligned(rows, right))
