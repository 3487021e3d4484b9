"""Holds what the owner's engines were seen to do against what was measured of them, and what a scenario expects."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.economics.scenario import ONE
from gateway.owning.notes import Note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateway.economics.profiles import Point, Profile
    from gateway.economics.scenario import Capacity, Mix
    from gateway.ledger.busy import Busy
    from gateway.ledger.traffic import Observed
    from gateway.owning.notes import Fact

SOME = 20
"""Requests, before which a speed says little."""
SLOW, FAST = Fraction(4, 5), Fraction(5, 4)
"""What is within these of what was expected is as expected."""
_MS = 1000


def notes(observed: Observed, profiles: Mapping[str, Profile], capacity: Capacity | None) -> list[Note]:
    """What there is to know of each of the owner's deployments that had traffic; profiles are by deployment."""
    return [note for busy in observed.own for note in _of(busy, profiles.get(busy.deployment), capacity)]


def expected_tps(busy: Busy, profile: Profile) -> tuple[Fraction, Fraction] | None:
    """Written tokens of a second of one request like those that were seen, by the profile; None: it does not say.

    From the slowest to the fastest of its points, up to the first one with as many requests at once as the busiest half
    hour had. Reading its prompt belongs to a request's time, as it does to what was seen.
    """
    beyond = [place for place, point in enumerate(profile.points) if point.concurrency >= busy.at_once]
    met = profile.points[: beyond[0] + 1] if beyond else profile.points
    found = [tps for tps in (_point_tps(busy, point) for point in met) if tps is not None]
    return (min(found), max(found)) if found else None


def load(mix: Mix, tps: Fraction, capacity: Capacity) -> Fraction:
    """How many replicas so many tokens of a second take."""
    computed = mix.fresh + mix.cache_write_5m + mix.cache_write_1h
    cached = mix.cached / capacity.cached_tps if capacity.cached_tps else Fraction(0)
    return tps * (computed / capacity.prefill_tps + mix.output / capacity.decode_tps + cached)


def _of(busy: Busy, profile: Profile | None, capacity: Capacity | None) -> Iterator[Note]:
    if profile is None:
        yield Note("not_measured", {"deployment": busy.deployment})
    elif busy.requests >= SOME:
        yield from _speed(busy, profile)
    if capacity is not None:
        carried = load(busy.most, busy.most_tps, capacity)
        if carried > ONE:
            facts: dict[str, Fact] = {"deployment": busy.deployment, "seen_tps": busy.most_tps, "load_share": carried}
            yield Note("carried_more", {**facts, "most_at": busy.most_at.date().isoformat()})


def _speed(busy: Busy, profile: Profile) -> Iterator[Note]:
    expected, seen = expected_tps(busy, profile), busy.output_tps
    if expected is None or seen is None:
        return
    slowest, fastest = expected
    code = "slower_than_measured" if seen < SLOW * slowest else "faster_than_measured"
    if SLOW * slowest <= seen <= FAST * fastest:
        code = "as_measured"
    facts: dict[str, Fact] = {"deployment": busy.deployment, "seen_tps": seen, "as_of": profile.as_of.isoformat()}
    yield Note(code, {**facts, "slowest_tps": slowest, "fastest_tps": fastest})


def _point_tps(busy: Busy, point: Point) -> Fraction | None:
    writing = _ms_of_a_token(point)
    if writing is None or not busy.output:
        return None
    written = Fraction(busy.output, busy.requests)
    return written * _MS / (_reading_ms(point, Fraction(busy.fresh, busy.requests)) + written * writing)


def _ms_of_a_token(point: Point) -> Fraction | None:
    if point.tpot_ms is not None:
        return point.tpot_ms
    return None if not point.decode_tps else Fraction(point.concurrency * _MS) / point.decode_tps


def _reading_ms(point: Point, prompt: Fraction) -> Fraction:
    """By the rate, else as long as it took there."""
    if point.prefill_tps:
        return prompt * _MS / point.prefill_tps
    return point.ttft_ms or Fraction(0)
