"""What is asked of the model: as the scenario states it, as the ledger saw it, or assumed and said so."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.economics.scenario import DAYS_A_MONTH, ONE, ZERO, Mix, Traffic
from gateway.owning.told import DEFAULT, Origin

if TYPE_CHECKING:
    from gateway.ledger.traffic import Observed
    from gateway.owning.told import Told
    from policies.scenarios import ScenarioEntry, TrafficEntry

DEFAULT_OUTPUT = Fraction(1, 4)
"""Three tokens in for one out, the mix that price comparisons are usually made at."""
DEFAULT_PEAK = Fraction(2)
_HOURS_A_DAY = 24


def traffic(entry: ScenarioEntry, observed: Observed | None, ledger_leads: bool, told: Told) -> Traffic:
    """Every part from where it is known best."""
    asked = _Asked(entry.traffic, observed, ledger_leads, told)
    _say_what_was_seen(asked)
    mix = _mix(asked)
    peak, shape = _peak(asked)
    return Traffic(
        mix=mix,
        tokens_per_month=_volume(asked),
        peak_to_mean=peak,
        shape=shape,
        growth_per_month=_growth(asked),
        forced_share=_forced(asked),
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """Where to look, and what to tell."""

    entry: TrafficEntry
    observed: Observed | None
    ledger_leads: bool
    told: Told

    @property
    def ledger(self) -> Origin:
        """Where figures of the ledger come from."""
        if self.observed is None:
            return DEFAULT
        days = f"{float(self.observed.days):g} days"
        return Origin("ledger", f"the house's own ledger, {days} until {self.observed.as_of}", self.observed.as_of)

    def found(self, stated: Fraction | None, seen: Fraction | None, default: Fraction) -> tuple[Fraction, Origin]:
        """The value that counts, and where it comes from."""
        by_scenario = None if stated is None else (stated, self.told.stated(self.entry))
        by_ledger = None if seen is None else (seen, self.ledger)
        first, second = (by_ledger, by_scenario) if self.ledger_leads else (by_scenario, by_ledger)
        return first or second or (default, DEFAULT)


def _say_what_was_seen(asked: _Asked) -> None:
    seen, told = asked.observed, asked.told
    if seen is None:
        return
    if not seen.tokens and seen.running_tokens:
        told.note("ledger_running", tokens=seen.running_tokens)
    elif not seen.is_enough:
        told.note(f"ledger_{seen.enough}", days=seen.days, requests=seen.requests)
    if seen.tokens and seen.unlabelled_share:
        told.note("unlabelled", unlabelled_share=seen.unlabelled_share)
    if seen.tokens and seen.estimated_share:
        told.note("estimated", estimated_share=seen.estimated_share)


def _mix(asked: _Asked) -> Mix:
    """Shares of tokens by lane; cache writes are known of the ledger alone."""
    told, stated, seen = asked.told, asked.entry.mix, asked.observed
    written = None if stated is None else stated.output / (stated.input + stated.output)
    output, output_origin = asked.found(written, None if seen is None else seen.output_share, DEFAULT_OUTPUT)
    cached, cached_origin = asked.found(asked.entry.cached_share, None if seen is None else seen.cached_share, ZERO)
    output = told.chosen("output_share", output, "share", output_origin)
    cached = told.chosen("cached_share", cached, "share", cached_origin)
    for code, origin in (("default_mix", output_origin), ("default_cached_share", cached_origin)):
        if origin is DEFAULT:
            told.note(code)
    base = None if seen is None else seen.mix
    if base is None or cached_origin.kind != "ledger":
        return Mix.of(ONE - output, output, cached)
    return _like(base, output, cached)


def _like(base: Mix, output: Fraction, cached: Fraction) -> Mix:
    """Other shares of output and cache; what was written to a cache stays in proportion to the computed input."""
    prompt, computed = ONE - output, base.prompt - base.cached
    if not computed:
        return Mix.of(prompt, output, cached)
    part = prompt * (1 - cached) / computed
    return Mix(
        fresh=base.fresh * part,
        output=output,
        cached=prompt * cached,
        cache_write_5m=base.cache_write_5m * part,
        cache_write_1h=base.cache_write_1h * part,
    )


def _peak(asked: _Asked) -> tuple[Fraction, tuple[Fraction, ...]]:
    """The busiest hour, and the loads that it is one of where they are known."""
    seen, told = asked.observed, asked.told
    day = asked.entry.hours
    whole = sum(day or (), ZERO)
    loads = tuple(hour * _HOURS_A_DAY / whole for hour in day or ())
    stated = asked.entry.peak_to_mean or (max(loads) if loads else None)
    peak, origin = asked.found(stated, None if seen is None else seen.peak_to_mean, DEFAULT_PEAK)
    shape = seen.shape if seen is not None and origin.kind == "ledger" else loads if origin.kind == "stated" else ()
    if origin is DEFAULT:
        told.note("default_peak", peak_to_mean=DEFAULT_PEAK)
    chosen = told.chosen("peak_to_mean", max(ONE, peak), "x", origin)
    is_shape_s_own = "peak_to_mean" not in told.overrides and (
        origin.kind == "ledger" or asked.entry.peak_to_mean is None
    )
    return chosen, shape if is_shape_s_own else ()


def _volume(asked: _Asked) -> Fraction | None:
    """Tokens of a month; None: nobody knows."""
    entry, seen, told = asked.entry, asked.observed, asked.told
    stated = entry.tokens_per_month
    if entry.tokens_per_day is not None:
        stated = entry.tokens_per_day * DAYS_A_MONTH
    changed = told.overrides.get("tokens_per_day")
    seen_volume = seen.tokens_per_month if seen is not None and seen.tokens else None
    volume, origin = asked.found(stated, seen_volume, ZERO)
    if changed is not None:
        volume, origin = changed * DAYS_A_MONTH, Origin("overridden", "changed for this look")
    if origin is DEFAULT:
        told.note("no_volume" if seen is None else "no_volume_seen")
        return None
    told.figure("traffic.tokens_per_month", volume, "tokens/month", origin)
    return volume


def _growth(asked: _Asked) -> Fraction:
    seen, told = asked.observed, asked.told
    growth, origin = asked.found(asked.entry.growth_per_month, None if seen is None else seen.growth_per_month, ZERO)
    if origin is DEFAULT:
        origin = Origin("default", "nobody stated it: the volume stays")
        if seen is not None and seen.tokens and "growth_per_month" not in told.overrides:
            told.note(f"no_growth_{seen.no_growth or 'short'}", weeks=seen.growth_weeks)
    return told.chosen("growth_per_month", growth, "share", origin)


def _forced(asked: _Asked) -> Fraction:
    seen = asked.observed
    share, origin = asked.found(asked.entry.forced_share, None if seen is None else seen.forced_share, ZERO)
    if origin is DEFAULT:
        origin = Origin("default", "nobody stated it: all of it may go to the host")
    forced = asked.told.chosen("forced_share", share, "share", origin)
    if forced:
        asked.told.note("forced_home", forced_share=forced)
    return forced
