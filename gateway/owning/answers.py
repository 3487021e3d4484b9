"""The answer to "is owning cheaper?": one scenario, asked with the house's own traffic or with stated figures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from gateway.economics import break_even as breaking
from gateway.economics.horizon import first_cheaper_month, fleet, months_until, payback, savings
from gateway.economics.hybrid import hybrid
from gateway.economics.scenario import DAYS_A_MONTH, Purchase
from gateway.economics.sensitivity import monte_carlo, tornado
from gateway.owning import curves
from gateway.owning.notes import Note as Note
from gateway.owning.remarks import bill, old_figures, seen
from gateway.owning.scenarios import built

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date
    from decimal import Decimal

    from gateway.economics.break_even import BreakEven
    from gateway.economics.horizon import Payback
    from gateway.economics.hybrid import Hybrid
    from gateway.economics.profiles import Profile
    from gateway.economics.scenario import Scenario
    from gateway.economics.sensitivity import Band, Bar
    from gateway.ledger.traffic import Observed
    from gateway.owning.curves import UsedPoint, VolumePoint
    from gateway.owning.figures import Figure
    from gateway.owning.inputs.holding import Holding
    from gateway.owning.questions import Question
    from gateway.owning.scenarios import Built
    from policies.pack import Pack

RENTED_MONTHS = 36
"""Over which setting up rented machines is reckoned where no longer or shorter commitment is stated."""
_HALF = 0.5

Verdict = Literal["yes", "not_yet", "never", "unknown"]
"""`yes`: at today's volume owning costs no more; `not_yet`: from a greater volume on, or between some; `never`;
`unknown`: today's volume is not known."""
Reason = Literal["cheaper", "arithmetic", "arithmetic_cannot_hold", "never", "does_not_hold", "slo"]
"""Why the break-even is what it is: as `break_even.Why`, and `arithmetic_cannot_hold`: arithmetic alone, of machines
that cannot hold the model; `slo`: not even one request at a time keeps the service level."""


@dataclass(frozen=True, slots=True)
class Answer:
    """All that the page and the command tell."""

    name: str
    title: str
    """As the scenario has it; where it has none, `words.title` says what it is about."""
    scenario: Scenario
    figures: Sequence[Figure]
    """Every input, with its source and day."""
    result: BreakEven
    verdict: Verdict
    reason: Reason
    times_today: Fraction | None
    """The break-even volume over today's, of several the next one; None where either is unknown.

    So are all comparisons with today of machines that cannot hold the model: they carry nothing.
    """
    months_until: float | None
    on: date | None
    """The day on which growth brings it about; None: never, or unknown."""
    hybrid: Hybrid | None
    """At today's volume; None: the volume is unknown, or the machines do not hold the model."""
    own_usd: Fraction | None
    """Of a month at today's volume, all of it on own machines; None: the volume is unknown, or they do not hold it."""
    hosted_usd: Fraction | None
    """The same at the host."""
    used_today: Fraction | None
    """How busy the machines of today's volume are on average, spare ones among them; None: nobody knows."""
    implied_premium: Fraction | None
    """What a private token would have to be worth over a hosted one for owning to pay today."""
    payback: Payback | None
    curve: Sequence[VolumePoint]
    used: Sequence[UsedPoint]
    used_at_break_even: Fraction | None
    """How busy one replica would have to be, of all it can at no peak, for a token to cost what it does at the host;
    above 1: busier than it can be. None without capacity."""
    bars: Sequence[Bar]
    band: Band | None
    """None where the machines cannot hold the model, or keep the service level."""
    exchange: Mapping[str, tuple[Decimal, date]]
    """The owner's rates: units of a currency for a dollar, and since when; USD is not among them."""
    holding: Holding
    observed: Observed | None
    """The house's own traffic, where it was asked."""
    at: date
    notes: Sequence[Note] = field(default_factory=tuple)

    @property
    def needed_tokens(self) -> Fraction | None:
        """The volume of a month from which on owning costs no more; None: there is none."""
        return self.result.tokens_per_month if self.result.valid else None

    @property
    def idle_usd(self) -> Fraction | None:
        """Of what own machines cost in a month at today's volume, the part of the time in which they wait."""
        if self.own_usd is None or self.used_today is None:
            return None
        return self.own_usd * (1 - self.used_today)

    def figure(self, name: str) -> Figure | None:
        """The input of that name."""
        return next((figure for figure in self.figures if figure.name == name), None)


def answer(
    question: Question, at: date, pack: Pack | None, traffic: Observed | None, profiles: Mapping[str, Profile]
) -> Answer:
    """Answer a question on a day; BadRequest where the scenario names what there is not."""
    found = built(question, at, pack, traffic, profiles)
    scenario, result = found.scenario, breaking.break_even(found.scenario)
    today = scenario.traffic.tokens_per_month
    owned_today = None if scenario.holds is False else today
    needed = result.tokens_per_month if result.valid else None
    verdict = _verdict(found, result)
    ahead = _ahead(result, verdict, today)
    months = _months(scenario, ahead, verdict)
    band = None if scenario.holds is False else monte_carlo(scenario, found.ranges)
    return Answer(
        name=question.name,
        title=question.entry.title or "",
        scenario=scenario,
        figures=tuple(found.told.figures),
        result=result,
        verdict=verdict,
        reason=_reason(found, result),
        times_today=None if ahead is None or not owned_today else ahead / owned_today,
        months_until=months,
        on=None if months is None else at + timedelta(days=float(months * DAYS_A_MONTH)),
        hybrid=None if owned_today is None else hybrid(scenario, owned_today),
        own_usd=None if owned_today is None else breaking.owned_usd(scenario, owned_today),
        hosted_usd=None if today is None else breaking.hosted_usd(scenario.hosted, scenario.traffic.mix, today),
        used_today=_used_today(scenario),
        implied_premium=None if owned_today is None else breaking.implied_premium(scenario, owned_today),
        payback=_payback(scenario),
        curve=curves.over_volume(scenario, needed),
        used=curves.over_utilisation(scenario, result),
        used_at_break_even=curves.used_at_break_even(scenario, result),
        bars=tornado(scenario, found.ranges),
        band=band,
        exchange=found.exchange.rates(),
        holding=found.holding,
        observed=traffic,
        at=at,
        notes=(*_notes(found, traffic, profiles, at), *_of_draws(verdict, band)),
    )


def _verdict(found: Built, result: BreakEven) -> Verdict:
    """A machine that cannot hold the model is never cheaper, whatever arithmetic says of its price."""
    scenario = found.scenario
    if not result.valid or scenario.holds is False:
        return "never"
    today = scenario.traffic.tokens_per_month
    if today is None:
        return "unknown"
    return "yes" if breaking.is_cheaper(scenario, today) else "not_yet"


def _reason(found: Built, result: BreakEven) -> Reason:
    if not found.keeps_level and found.holding.holds is not False:
        return "slo"
    if result.why == "arithmetic" and found.scenario.holds is False:
        return "arithmetic_cannot_hold"
    return result.why


def _ahead(result: BreakEven, verdict: Verdict, today: Fraction | None) -> Fraction | None:
    """The volume at which owning next begins to be cheaper; where it is already, the one at which it began."""
    if verdict != "not_yet" or today is None:
        return result.tokens_per_month if result.valid else None
    return next((each.first for each in result.intervals if each.first > today), None)


def _months(scenario: Scenario, needed: Fraction | None, verdict: Verdict) -> float | None:
    """None: not within the years that are looked ahead, or nobody knows. Whole months where machines are added."""
    today = scenario.traffic.tokens_per_month
    if verdict == "yes":
        return 0.0
    if verdict != "not_yet" or needed is None or not today:
        return None
    month = first_cheaper_month(scenario, today)
    growth, decline = scenario.traffic.growth_per_month, scenario.hosted.decline_per_year
    exactly = months_until(today, needed, growth, decline)
    if month is None or exactly is None:
        return month
    return exactly if month - 1 < exactly <= month else month


def _used_today(scenario: Scenario) -> Fraction | None:
    capacity, traffic = scenario.capacity, scenario.traffic
    if capacity is None or scenario.holds is False or traffic.tokens_per_month is None:
        return None
    machines = breaking.replicas_at(scenario, traffic.tokens_per_month) + scenario.owned.spares
    return breaking.load(capacity, traffic.mix, traffic.tokens_per_month, machines)


def _payback(scenario: Scenario) -> Payback | None:
    """Of the fleet that today's volume takes, over the life of its machines; of a rented one as `_rented_months`."""
    owned, today = scenario.owned, scenario.traffic.tokens_per_month
    if not today or scenario.holds is False:
        return None
    machines = fleet(owned, breaking.replicas_at(scenario, today))
    if machines is None and (months := _rented_months(scenario)):
        machines = Purchase(Fraction(0), months)
    if machines is None:
        return None
    saved = savings(scenario, today, machines.life_months)
    return payback(machines, owned.setup_usd, saved, scenario.discount_per_year)


def _rented_months(scenario: Scenario) -> int:
    """As long as rent must be paid; where that is not stated and setting up costs something, three years; else 0."""
    owned = scenario.owned
    return owned.committed_months or (RENTED_MONTHS if owned.setup_usd else 0)


def _notes(found: Built, observed: Observed | None, profiles: Mapping[str, Profile], at: date) -> tuple[Note, ...]:
    told, scenario = found.told, found.scenario
    ages = old_figures.notes(told.figures, at)
    of_terms = [*told.notes, *_of_terms(scenario)]
    if observed is None:
        return (*of_terms, *ages)
    of_engines = seen.notes(observed, profiles, scenario.capacity)
    return (*of_terms, *bill.notes(observed, scenario.hosted), *of_engines, *ages)


def _of_draws(verdict: Verdict, band: Band | None) -> Iterator[Note]:
    """Where the figures as they stand say one thing, and most draws around them another."""
    if band is None or band.probability is None or verdict == "unknown":
        return
    if (band.probability > _HALF) != (verdict == "yes"):
        yield Note(f"draws_say_{'no' if verdict == 'yes' else 'yes'}", {"cheaper_share": Fraction(band.probability)})


def _of_terms(scenario: Scenario) -> Iterator[Note]:
    """What amounts hold that is no part of a bill, and over which time a once-only cost is reckoned."""
    hosted, traffic = scenario.hosted, scenario.traffic
    if hosted.privacy_premium and traffic.tokens_per_month is None:
        yield Note("premium_counted", {"premium_share": hosted.privacy_premium})
    elif hosted.privacy_premium and traffic.tokens_per_month is not None:
        billed = breaking.hosted_usd(
            replace(hosted, privacy_premium=Fraction(0)), traffic.mix, traffic.tokens_per_month
        )
        yield Note("premium_counted_today", {"premium_share": hosted.privacy_premium, "billed_usd": billed})
    owned = scenario.owned
    if owned.setup_usd and owned.purchase is None and not owned.committed_months:
        yield Note("setup_over", {"months": RENTED_MONTHS})
