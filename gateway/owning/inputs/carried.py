"""What one replica carries: rates that the scenario states, or a profile at its service level."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.catalog.hardware import find_gpu
from gateway.catalog.models import find_model, models
from gateway.economics import profiles as curves
from gateway.economics.scenario import Capacity
from gateway.errors import BadRequest
from gateway.owning.inputs.holding import most_requests
from gateway.owning.profiles import Measured
from gateway.owning.told import Origin
from policies.problems import closest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.economics.profiles import Profile
    from gateway.economics.scenario import Mix
    from gateway.owning.figures import From
    from gateway.owning.told import Told
    from policies.scenarios import CapacityEntry, ScenarioEntry

DEFAULT_UTILISATION = Fraction(3, 4)
_ORIGINS: dict[str, From] = {"measured": "measured", "published": "published", "derived": "published"}


@dataclass(frozen=True, slots=True)
class Carries:
    """A replica's capacity, and whether it keeps the service level at all."""

    capacity: Capacity | None
    keeps_level: bool = True


def carried(
    entry: ScenarioEntry, profiles: Mapping[str, Profile], told: Told, seen_length: int | None = None
) -> Carries:
    """None where neither the scenario nor this look says what a replica does.

    `seen_length` are the tokens of an average request that the house saw.
    """
    stated = entry.capacity
    if stated is None:
        return _changed(entry, profiles, told)
    if stated.profile is None:
        return Carries(_rates(stated, told))
    return _of_profile(_Taken(entry, stated, _found(stated.profile, profiles), seen_length), told)


def _changed(entry: ScenarioEntry, profiles: Mapping[str, Profile], told: Told) -> Carries:
    """Without any capacity, unless this look has one of its own: then it needs both rates."""
    rates = [told.overrides.get(name) for name in ("prefill_tps", "decode_tps")]
    prefill, decode = rates
    if prefill is not None and decode is not None:
        nothing = Origin("default", "")
        told.chosen("prefill_tps", prefill, "tokens/s", nothing)
        told.chosen("decode_tps", decode, "tokens/s", nothing)
        return Carries(Capacity(prefill, decode, utilisation=_utilisation(None, told)))
    if prefill is not None or decode is not None:
        raise BadRequest(
            "this scenario states no capacity: change prefill_tps and decode_tps together", param="prefill_tps"
        )
    idle = [name for name in ("utilisation", "peak_to_mean") if name in told.overrides]
    if idle:
        told.note("set_without_effect", names=", ".join(idle))
    matching = [] if entry.states_no_capacity else [each.name for each in profiles.values() if _is_of(each, entry)]
    if matching:
        told.note("profiles_match", names=", ".join(sorted(set(matching))))
    return Carries(None)


def _rates(stated: CapacityEntry, told: Told) -> Capacity:
    origin = told.stated(stated)
    prefill, decode = stated.prefill_tps or Fraction(1), stated.decode_tps or Fraction(1)
    if stated.cached_tps is not None:
        told.figure("capacity.cached_tps", stated.cached_tps, "tokens/s", origin)
    return Capacity(
        prefill_tps=told.chosen("prefill_tps", prefill, "tokens/s", origin),
        decode_tps=told.chosen("decode_tps", decode, "tokens/s", origin),
        cached_tps=stated.cached_tps,
        utilisation=_utilisation(stated, told),
    )


def _utilisation(stated: CapacityEntry | None, told: Told) -> Fraction:
    if stated is not None and stated.utilisation is not None:
        return told.chosen("utilisation", stated.utilisation, "share", told.stated(stated))
    origin = Origin("default", "nobody stated it: a queue grows without end beyond about three quarters")
    return told.chosen("utilisation", DEFAULT_UTILISATION, "share", origin)


def tell_cached(capacity: Capacity | None, mix: Mix, told: Told) -> None:
    """Cached input of no stated rate takes own machines no time, which flatters them: it is a figure, and told."""
    if capacity is None or capacity.cached_tps is not None or not mix.cached:
        return
    told.figure("capacity.cached_tps", "∞", "tokens/s", Origin("default", "nobody stated it: it counts as no work"))
    told.note("cached_is_no_work", cached_share=mix.cached)


@dataclass(frozen=True, slots=True)
class _Taken:
    """A profile that a scenario plans with."""

    entry: ScenarioEntry
    stated: CapacityEntry
    profile: Profile
    seen_length: int | None

    @property
    def level(self) -> curves.Slo:
        slo = self.entry.slo
        return curves.Slo() if slo is None else curves.Slo(slo.ttft_ms, slo.tpot_ms)

    @property
    def length(self) -> int:
        """Tokens of one request: of those that the house saw, else of those that were measured."""
        return self.seen_length or curves.length(self.profile)

    @property
    def was_seen(self) -> bool:
        """True if these very machines were measured with requests as long: then memory held them."""
        is_as_long = self.length <= curves.length(self.profile)
        return self.profile.quality == "measured" and is_as_long and _is_of(self.profile, self.entry)


def _of_profile(taken: _Taken, told: Told) -> Carries:
    profile, stated, level = taken.profile, taken.stated, taken.level
    origin = Origin(_ORIGINS[profile.quality], f"profile {profile.name}: {profile.source}", profile.as_of)
    _say_what_differs(profile, taken.entry, told)
    for name, limit in (("ttft_ms", level.ttft_ms), ("tpot_ms", level.tpot_ms)):
        if limit is not None:
            told.figure(f"slo.{name}", limit, "ms", told.stated())
    free = curves.at(profile, level)
    if free is None:
        return _below_level(profile, stated, origin, told)
    rates = _within_memory(taken, free, told)
    _say_the_level(profile, level, rates, told)
    cached = stated.cached_tps or profile.cached_tps
    if cached is not None:
        told.figure("capacity.cached_tps", cached, "tokens/s", told.stated(stated) if stated.cached_tps else origin)
    told.figure("capacity.concurrency", rates.concurrency, "requests", origin)
    return Carries(
        Capacity(
            prefill_tps=told.chosen("prefill_tps", rates.prefill_tps, "tokens/s", origin),
            decode_tps=told.chosen("decode_tps", rates.decode_tps, "tokens/s", origin),
            cached_tps=cached,
            utilisation=_utilisation(stated, told),
        )
    )


def _within_memory(taken: _Taken, free: curves.Carried, told: Told) -> curves.Carried:
    """The rates at as many requests as memory holds, and that they are: a curve of shorter requests knows no bound."""
    most = None if taken.was_seen else most_requests(taken.entry, taken.length, told.at)
    if most is None or most >= free.concurrency:
        return free
    held = curves.at(taken.profile, taken.level, most)
    hardware = taken.entry.hardware
    told.note(
        "memory_below_profile" if held is None else "memory_limits",
        concurrency=most,
        context=taken.length,
        machines=f"{hardware.count} × {hardware.gpu}",
        profile=taken.profile.name,
    )
    return held or curves.at(taken.profile, taken.level, _least(taken.profile)) or free


def _least(profile: Profile) -> int:
    """Requests of the first point that states both rates."""
    return min(point.concurrency for point in profile.points if point.prefill_tps and point.decode_tps)


def _found(name: str, profiles: Mapping[str, Profile]) -> Profile:
    profile = profiles.get(name)
    if profile is None:
        meant = closest(name, profiles)
        hint = f"did you mean {meant!r}?" if meant else "measure one with `soleira measure`"
        raise BadRequest(f"capacity.profile {name!r} is no profile; {hint}", param="capacity.profile")
    return profile


def _below_level(profile: Profile, stated: CapacityEntry, origin: Origin, told: Told) -> Carries:
    """Not even its quietest point keeps the level: at that level it carries nothing."""
    rated = [point for point in profile.points if point.prefill_tps is not None and point.decode_tps is not None]
    if not rated:
        raise BadRequest(
            f"capacity.profile {profile.name!r} has no point with both rates: state prefill_tps and decode_tps instead",
            param="capacity.profile",
        )
    first = rated[0]
    prefill = told.chosen("prefill_tps", first.prefill_tps or Fraction(1), "tokens/s", origin)
    decode = told.chosen("decode_tps", first.decode_tps or Fraction(1), "tokens/s", origin)
    return Carries(Capacity(prefill, decode, utilisation=_utilisation(stated, told)), keeps_level=False)


def _say_the_level(profile: Profile, level: curves.Slo, rates: curves.Carried, told: Told) -> None:
    """A rate without the wait that it comes with says little."""
    if level == curves.Slo() and rates.ttft_ms is not None:
        told.note("saturated_profile", profile=profile.name, concurrency=rates.concurrency, ttft_ms=rates.ttft_ms)
    elif rates.is_beyond:
        told.note("not_extrapolated", profile=profile.name, concurrency=rates.concurrency)


def _say_what_differs(profile: Profile, entry: ScenarioEntry, told: Told) -> None:
    """One of other machines is taken as it is, which is said first; BadRequest for one of another model, if known."""
    if _model(profile.model) != _model(entry.model) and _is_known(profile.model) and _is_known(entry.model):
        raise BadRequest(
            f"capacity.profile {profile.name!r} is of {find_model(profile.model).title}, and the scenario of "
            f"{find_model(entry.model).title}: name a profile of the same model, or state prefill_tps and decode_tps",
            param="capacity.profile",
        )
    if not _is_of(profile, entry):
        here = f"{entry.hardware.count} × {entry.hardware.gpu}, {entry.model} ({entry.quant})"
        there = f"{profile.gpus} × {profile.gpu}, {profile.model} ({profile.quant})"
        told.first_note("other_profile", profile=profile.name, here=here, there=there)
    if profile.quality == "derived":
        told.note("derived_profile", profile=profile.name)
    if isinstance(profile, Measured) and profile.stopped:
        told.note("stopped_profile", profile=profile.name, text=profile.stopped)
    if profile.note:
        told.note("profile_note", profile=profile.name, text=profile.note)


def _is_of(profile: Profile, entry: ScenarioEntry) -> bool:
    mine = (_gpu(entry.hardware.gpu), entry.hardware.count, _model(entry.model), entry.quant.lower())
    return mine == (_gpu(profile.gpu), profile.gpus, _model(profile.model), profile.quant.lower())


def _gpu(name: str) -> str:
    try:
        return find_gpu(name).name
    except LookupError:
        return name.lower()


def _model(name: str) -> str:
    try:
        return find_model(name).name
    except LookupError:
        return name.lower()


def _is_known(model: str) -> bool:
    return _model(model) in models()
