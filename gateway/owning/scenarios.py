"""Puts a scenario together of what people wrote, the catalogs, the pack, profiles, and the house's own traffic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import ceil
from typing import TYPE_CHECKING

from gateway.economics.scenario import Scenario
from gateway.errors import BadRequest
from gateway.owning.inputs.asked_traffic import traffic
from gateway.owning.inputs.carried import carried, tell_cached
from gateway.owning.inputs.default_ranges import ranges
from gateway.owning.inputs.exchange import Exchange
from gateway.owning.inputs.holding import holding
from gateway.owning.inputs.host_prices import hosted
from gateway.owning.inputs.machine_costs import Known, owned
from gateway.owning.inputs.rents import Rents
from gateway.owning.told import Told
from gateway.settings import HOME_PACK
from policies.scenario_file import read_scenarios
from policies.scenarios import LEDGER_DAYS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from gateway.economics.profiles import Profile
    from gateway.economics.scenario import Range
    from gateway.economics.sensitivity import Input
    from gateway.ledger.traffic import Observed
    from gateway.owning.inputs.holding import Holding
    from gateway.owning.questions import Question
    from policies.pack import Pack
    from policies.scenarios import ScenarioEntry

_EXAMPLES = "k3-cluster"
"""The bundled pack whose scenarios state all their prices, so that they can be looked at in any house."""


@dataclass(frozen=True, slots=True)
class Built:
    """A scenario with all that was told while it was put together."""

    scenario: Scenario
    ranges: Mapping[Input, Range]
    holding: Holding
    keeps_level: bool
    """False where its profile says that no number of requests keeps the service level."""
    exchange: Exchange
    told: Told


def scenarios_of(pack: Pack) -> Mapping[str, ScenarioEntry]:
    """Those of the pack's break_even.yaml."""
    return pack.scenarios


@cache
def bundled() -> Mapping[str, ScenarioEntry]:
    """Examples that come with Soleira; nobody's own figures."""
    file = HOME_PACK.with_name(_EXAMPLES) / "break_even.yaml"
    return read_scenarios(file.name, file.read_bytes()).scenarios


def ledger_models(entry: ScenarioEntry) -> tuple[str, ...] | None:
    """Whose traffic the scenario is about; None: everybody's."""
    models = entry.traffic.models
    if models == "all":
        return None
    return models or (entry.model,)


def ledger_days(entry: ScenarioEntry) -> int:
    """How far it looks back."""
    return entry.traffic.from_ledger or LEDGER_DAYS


def asks_ledger(entry: ScenarioEntry) -> bool:
    """True if the scenario itself takes from the ledger what it does not state."""
    return entry.traffic.from_ledger is not None


def built(
    question: Question, at: date, pack: Pack | None, observed: Observed | None, profiles: Mapping[str, Profile]
) -> Built:
    """The scenario of a question; BadRequest where it names what there is not, or figures that cannot be together."""
    entry = question.entry
    told = Told(question.name, at, question.overrides)
    exchange = Exchange.of(entry, pack, at)
    rents = Rents.of(entry.hardware.gpu, (*question.rents, *(() if pack is None else pack.rents)))
    known = Known({**({} if pack is None else pack.machines), **question.machines}, rents)
    holds = holding(entry, told)
    carries = carried(entry, profiles, told, _length(observed))
    try:
        scenario = Scenario(
            traffic=traffic(entry, observed, question.ledger_leads, told),
            hosted=hosted(entry, exchange, pack, told),
            owned=owned(entry, exchange, known, told),
            capacity=carries.capacity,
            holds=holds.holds if carries.keeps_level else False,
            discount_per_year=entry.discount_per_year,
        )
        tell_cached(carries.capacity, scenario.traffic.mix, told)
        found = ranges(entry, scenario, rents.offers(exchange), told)
    except ValueError as error:
        raise BadRequest(f"the scenario cannot be: {error}") from None
    if entry.discount_per_year:
        told.figure("discount_per_year", entry.discount_per_year, "share", told.stated())
    exchange.tell(told)
    scenario = replace(scenario, ranges=tuple((name, drawn) for name, drawn in found.items()))
    return Built(scenario, found, holds, carries.keeps_level, exchange, told)


def _length(observed: Observed | None) -> int | None:
    """Tokens of an average request that the house saw; None: it saw none."""
    if observed is None or not observed.tokens or not observed.requests:
        return None
    return ceil(Fraction(observed.tokens, observed.requests))
