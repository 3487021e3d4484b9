"""Between which values the inputs of a scenario may lie: as it states them, else assumed and said so."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.catalog.models import find_model
from gateway.economics.scenario import ONE, ZERO, Range
from gateway.economics.sensitivity import INPUTS
from gateway.owning.inputs.list_prices import listed
from gateway.owning.told import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gateway.economics.scenario import Scenario
    from gateway.economics.sensitivity import Input
    from gateway.owning.inputs.rents import Offer
    from gateway.owning.told import Told
    from policies.scenarios import ScenarioEntry

_Assumed = tuple["Input", Range, Origin]

_UNITS: dict[str, str] = {
    "usd_per_gpu_hour": "USD/GPU-h",
    "staff_usd_per_month": "USD/month",
    "peak_to_mean": "x",
    "decode_tps": "tokens/s",
    "price_factor": "x",
}
_LEAST_FACTOR = Fraction(3, 5)
_FACTORS = (Fraction(4, 5), Fraction(6, 5))
_NEAR = Origin("default", "half of it, or of what it leaves of the whole, to either side of what is known")
_OUTPUT = (Fraction(1, 10), Fraction(1, 2))
_CACHED = Fraction(19, 20)
_STAFF = Fraction(1, 2)
"""Of what machines cost in a month: half a position for one node of eight."""
_RATES = (Fraction(7, 10), Fraction(13, 10))
_PEAK = (Fraction(1, 2), Fraction(3, 2))


def ranges(entry: ScenarioEntry, scenario: Scenario, offers: Sequence[Offer], told: Told) -> dict[Input, Range]:
    """One for each input that is uncertain and known at all, in the order of INPUTS."""
    found: dict[Input, tuple[Range, Origin]] = {}
    for name, assumed, origin in _assumed(entry, scenario, offers, told):
        if assumed.low < assumed.high:
            found[name] = (assumed, origin)
    for name, (low, mode, high) in entry.ranges.items():
        found[name] = (Range(low, mode, high), told.stated())
    ordered = {name: found[name] for name in INPUTS if name in found and _applies(name, scenario)}
    for name, (drawn, origin) in ordered.items():
        for end, value in (("low", drawn.low), ("high", drawn.high)):
            told.figure(f"ranges.{name}.{end}", value, _UNITS.get(name, "share"), origin)
    return {name: drawn for name, (drawn, _) in ordered.items()}


def _applies(name: Input, scenario: Scenario) -> bool:
    """A rent that is not paid and a rate that is unknown cannot be drawn."""
    if name == "usd_per_gpu_hour":
        return scenario.owned.usd_per_gpu_hour is not None
    if name in ("decode_tps", "peak_to_mean"):
        return scenario.capacity is not None
    return True


def _assumed(entry: ScenarioEntry, scenario: Scenario, offers: Sequence[Offer], told: Told) -> Iterator[_Assumed]:
    """Around what the scenario has: a part of what is known, and as wide as such figures are of what is not."""
    mix, peak = scenario.traffic.mix, scenario.traffic.peak_to_mean
    yield from _rents(entry, scenario, offers, told)
    yield _prices(entry, scenario)
    if told.is_known("traffic.output_share"):
        yield "output_share", _near(mix.output), _NEAR
    else:
        guess = Origin("default", "how far traffic of different kinds lies apart")
        yield "output_share", _around(_OUTPUT[0], mix.output, _OUTPUT[1]), guess
    cached = mix.cached / mix.prompt if mix.prompt else ZERO
    if told.is_known("traffic.cached_share"):
        yield "cached_share", _near(cached), _NEAR
    else:
        agents = "from none to the 95 % and more that agents reach (aarora79 harness, September 2026)"
        yield "cached_share", _around(ZERO, cached, _CACHED), Origin("default", agents)
    yield _staff(scenario)
    around_peak = _around(max(ONE, 1 + (peak - 1) * _PEAK[0]), peak, 1 + (peak - 1) * _PEAK[1])
    yield "peak_to_mean", around_peak, Origin("default", "half to one and a half of what it is above the mean")
    if scenario.capacity is not None:
        rate = scenario.capacity.decode_tps
        yield (
            "decode_tps",
            Range(rate * _RATES[0], rate, rate * _RATES[1]),
            Origin("default", "a model of one number is right within 30 % at best (aiconfigurator issue 1396)"),
        )


def _prices(entry: ScenarioEntry, scenario: Scenario) -> _Assumed:
    """A reseller may take less than a maker lists; what somebody pays already is discounted once."""
    price = scenario.hosted.price
    if entry.hosted.multiplier == 1 and listed(_model(entry.model)) == (price.fresh, price.output):
        text = "its maker's list price, of which resellers take down to 0.60 (Flatkey, 24 October 2026); a fifth above"
        return "price_factor", Range(_LEAST_FACTOR, ONE, _FACTORS[1]), Origin("default", text)
    text = "a fifth to either side: it is not the list price of the model's maker, of which a reseller takes a part"
    return "price_factor", Range(_FACTORS[0], ONE, _FACTORS[1]), Origin("default", text)


def _model(name: str) -> str:
    try:
        return find_model(name).name
    except LookupError:
        return name


def _near(share: Fraction) -> Range:
    """Of a share that is known: half of it, or half of what it leaves, to either side."""
    reach = min(share, 1 - share) / 2
    return Range(share - reach, share, share + reach)


def _staff(scenario: Scenario) -> _Assumed:
    """Up to twice what is stated; where nothing is, up to half of what the machines cost."""
    owned = scenario.owned
    staff = sum((cost.usd_per_month for cost in owned.costs if cost.line == "staff"), ZERO)
    if staff:
        return "staff_usd_per_month", Range(ZERO, staff, 2 * staff), Origin("default", "none to twice as much")
    half = owned.monthly(owned.least_replicas) * _STAFF
    origin = Origin("default", "none to half of what the machines cost")
    return "staff_usd_per_month", Range(ZERO, ZERO, half), origin


def _rents(entry: ScenarioEntry, scenario: Scenario, offers: Sequence[Offer], told: Told) -> Iterator[_Assumed]:
    """Of a rent out of the catalog from the cheapest to the dearest there: whose price it is matters most.

    What somebody states is an offer of their own: it lies near itself.
    """
    mode = scenario.owned.usd_per_gpu_hour
    if mode is None:
        return
    if entry.hardware.rent_from is None or "usd_per_gpu_hour" in told.overrides:
        stated = Origin("default", "a fifth to either side of what is stated")
        yield "usd_per_gpu_hour", Range(mode * _FACTORS[0], mode, mode * _FACTORS[1]), stated
        return
    low, high = offers[0], offers[-1]
    source = f"the cheapest and the dearest rent that is known: {low.rent.said.source}; {high.rent.said.source}"
    day, around = min(low.rent.said.as_of, high.rent.said.as_of), (low.usd_per_gpu_hour, high.usd_per_gpu_hour)
    yield "usd_per_gpu_hour", _around(around[0], mode, around[1]), Origin("default", source, day)


def _around(low: Fraction, mode: Fraction, high: Fraction) -> Range:
    """What the scenario has is the most likely, and within."""
    return Range(min(low, mode), mode, max(high, mode))
