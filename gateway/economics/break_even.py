"""From which volume on owning machines is cheaper than paying somebody for the same tokens.

Owning is a staircase: each replica more is paid for at once and carries so many tokens more. A host's bill is a line
that may bend (volume tiers, a least bill) and never falls. Between bends both are straight, so that where they cross is
divided for, not searched for.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise
from math import ceil, floor
from typing import TYPE_CHECKING, Literal

from gateway.economics.scenario import HOURS_A_MONTH, MILLION, SECONDS_A_MONTH, ZERO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateway.economics.scenario import Capacity, Hosted, Mix, Owned, Scenario

Why = Literal["cheaper", "arithmetic", "never", "does_not_hold"]
"""`cheaper`: from there on it is, and the machines carry it; `arithmetic`: as if they carried any load, for nothing is
known of what they do; `never`: at no number of machines, since they are full before they are paid; `does_not_hold`: a
replica cannot hold the model, so that it carries nothing."""
Tokens = Literal["total", "output"]
"""Over which tokens a cost is divided: all of them, or those alone that were written."""

MOST_INTERVALS = 32
"""So many are told; where a replica earns hardly more than it costs there may be thousands."""
_FIRST_STEPS = 3
"""Steps that are told in any case."""


@dataclass(frozen=True, slots=True)
class Step:
    """So many replicas: what they cost, from which volume on that is cheaper, up to which they carry it."""

    replicas: int
    machines: int
    """With the spare ones."""
    usd_per_month: Fraction
    needed_tokens: Fraction | None
    """Of a month, at which the host costs as much; None: the host costs less at any volume."""
    most_tokens: Fraction | None
    """Of a month, which they carry at the peak; None: unknown."""

    @property
    def is_valid(self) -> bool:
        """True if there is a volume that they carry and that costs more at the host."""
        if self.needed_tokens is None:
            return False
        return self.most_tokens is None or self.needed_tokens <= self.most_tokens


@dataclass(frozen=True, slots=True)
class Interval:
    """Volumes of a month, in tokens, at which owning costs no more than hosted."""

    first: Fraction
    last: Fraction | None
    """None: every greater volume."""

    def __contains__(self, tokens: Fraction) -> bool:
        return self.first <= tokens and (self.last is None or tokens <= self.last)


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The answer to a scenario."""

    hourly_usd: Fraction
    """Of the least fleet, what is rented by the hour; without rent its month over 730."""
    monthly_usd: Fraction
    """Of the least fleet, everything."""
    hosted_per_million_usd: Fraction
    """Of the mix, today, before volume tiers."""
    tokens_per_month: Fraction | None
    """The smallest volume of the first valid step; where none is, what arithmetic says of the first step."""
    valid: bool
    why: Why
    steps: tuple[Step, ...]
    """By rising number: the first ones, and the first valid one with those around it. Others are left out."""
    intervals: tuple[Interval, ...]
    peak_to_mean_max: Fraction | None
    """Up to which busiest hours the first step's arithmetic volume is carried; None without capacity."""
    known_up_to: Fraction | None = None
    """The volume up to which the intervals are told, where there are more than `MOST_INTERVALS`; None: all are."""


def break_even(scenario: Scenario) -> BreakEven:
    """Answer a scenario: owning at the number of replicas that each volume takes, against the host's bill."""
    owned, hosted, mix = scenario.owned, scenario.hosted, scenario.traffic.mix
    stairs = _Stairs.of(scenario)
    steps = tuple(stairs.step(replicas) for replicas in _told(stairs))
    intervals = tuple(islice(_intervals(stairs), MOST_INTERVALS + 1))
    valid = bool(intervals)
    paid = next((step for step in steps if step.is_valid), steps[0])
    return BreakEven(
        hourly_usd=_hourly_usd(owned),
        monthly_usd=owned.monthly(owned.least_replicas),
        hosted_per_million_usd=blended(hosted, mix),
        tokens_per_month=paid.needed_tokens,
        valid=valid,
        why=_why(scenario, valid),
        steps=steps,
        intervals=intervals[:MOST_INTERVALS],
        peak_to_mean_max=_peak_to_mean_max(steps[0], scenario.traffic.peak_to_mean),
        known_up_to=intervals[MOST_INTERVALS - 1].last if len(intervals) > MOST_INTERVALS else None,
    )


def is_cheaper(scenario: Scenario, tokens: Fraction) -> bool:
    """Whether owning costs no more than hosted at a month's volume: true in every interval, and nowhere else."""
    if scenario.capacity is not None and scenario.holds is False:
        return False
    return owned_usd(scenario, tokens) <= hosted_usd(scenario.hosted, scenario.traffic.mix, tokens)


def blended(hosted: Hosted, mix: Mix) -> Fraction:
    """What a million tokens of the mix cost at the host, in dollars, with retries, before tiers and premium."""
    price = hosted.price
    listed = (
        mix.fresh * price.fresh
        + mix.cached * price.cached
        + mix.output * price.output
        + mix.cache_write_5m * price.cache_write_5m
        + mix.cache_write_1h * price.cache_write_1h
    )
    return listed * (1 + hosted.retry_overhead)


def hosted_usd(hosted: Hosted, mix: Mix, tokens: Fraction) -> Fraction:
    """What a month's tokens cost at the host, in dollars: tiers, retries, premium and least bill included.

    The premium is of what the tokens cost, not of a least bill that they do not reach.
    """
    return bill(hosted, mix)(tokens)


def bill(hosted: Hosted, mix: Mix) -> Callable[[Fraction], Fraction]:
    """`hosted_usd` of many volumes."""
    by_token = _charged(hosted, mix)

    def usd(tokens: Fraction) -> Fraction:
        charged = _on(by_token, tokens)
        return max(charged, hosted.minimum_usd) + charged * hosted.privacy_premium

    return usd


def implied_premium(scenario: Scenario, tokens: Fraction) -> Fraction | None:
    """What a private token would have to be worth over a hosted one for owning to cost no more at a volume.

    A part of the host's price; 0 where owning is cheaper as it is, None where the tokens cost nothing at the host.
    """
    hosted = scenario.hosted
    charged = _on(_charged(hosted, scenario.traffic.mix), tokens)
    if not charged:
        return None
    return max(ZERO, (owned_usd(scenario, tokens) - max(charged, hosted.minimum_usd)) / charged)


def load_per_token(capacity: Capacity, mix: Mix) -> Fraction:
    """Seconds of one replica that a token of the mix takes; what is written to a cache is computed first."""
    computed = mix.fresh + mix.cache_write_5m + mix.cache_write_1h
    cached = ZERO if capacity.cached_tps is None else mix.cached / capacity.cached_tps
    return computed / capacity.prefill_tps + mix.output / capacity.decode_tps + cached


def load(capacity: Capacity, mix: Mix, tokens: Fraction, replicas: int = 1) -> Fraction:
    """The part of the month for which so many replicas are busy with its tokens; above 1 they never finish."""
    return tokens * load_per_token(capacity, mix) / (SECONDS_A_MONTH * replicas)


def most_tokens(capacity: Capacity, mix: Mix, peak_to_mean: Fraction, replicas: int) -> Fraction | None:
    """The month's tokens that so many replicas carry through the busiest hour; None: nothing of the mix takes time."""
    seconds = load_per_token(capacity, mix)
    if not seconds:
        return None
    return replicas * capacity.utilisation * SECONDS_A_MONTH / (peak_to_mean * seconds)


def replicas_for(capacity: Capacity, mix: Mix, peak_to_mean: Fraction, tokens: Fraction) -> int:
    """How many replicas a month's tokens take, at least 1."""
    most = most_tokens(capacity, mix, peak_to_mean, 1)
    return 1 if most is None else max(1, ceil(tokens / most))


def replicas_at(scenario: Scenario, tokens: Fraction) -> int:
    """How many replicas are paid for at a month's volume: those it takes, and no fewer than the owner keeps."""
    least, traffic = scenario.owned.least_replicas, scenario.traffic
    if scenario.capacity is None:
        return least
    return max(least, replicas_for(scenario.capacity, traffic.mix, traffic.peak_to_mean, tokens))


def owned_usd(scenario: Scenario, tokens: Fraction) -> Fraction:
    """What owning costs in a month at a volume: the fleet that carries it, spare machines included."""
    return scenario.owned.monthly(replicas_at(scenario, tokens))


def usd_per_million(
    monthly_usd: Fraction, capacity: Capacity, mix: Mix, utilisation: Fraction, of: Tokens = "total"
) -> Fraction:
    """What a million tokens cost on one replica that costs so much a month and is so busy: of all, or of the written.

    ValueError where no token is written, takes time or is asked for: there is nothing to divide by.
    """
    seconds = load_per_token(capacity, mix)
    part = mix.output if of == "output" else Fraction(1)
    if not seconds or not part or utilisation <= 0:
        raise ValueError("a cost per million tokens takes tokens that are computed, and a machine that is used")
    return monthly_usd * MILLION * seconds / (utilisation * SECONDS_A_MONTH * part)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A straight part of a host's bill, until the next one begins."""

    first: Fraction
    """In tokens of a month."""
    usd: Fraction
    """There."""
    usd_per_token: Fraction
    """From there on."""

    def at(self, tokens: Fraction) -> Fraction:
        return self.usd + self.usd_per_token * (tokens - self.first)


_Bill = tuple[_Piece, ...]


def _charged(hosted: Hosted, mix: Mix) -> _Bill:
    """By the token: retries and tiers, whose volumes are of the tokens that are charged."""
    usd_per_token = blended(hosted, mix) / MILLION
    pieces = [_Piece(ZERO, ZERO, usd_per_token)]
    for tier in hosted.tiers:
        first = tier.above_tokens / (1 + hosted.retry_overhead)
        pieces.append(_Piece(first, pieces[-1].at(first), usd_per_token * tier.factor))
    return tuple(pieces)


def _bill(hosted: Hosted, mix: Mix) -> _Bill:
    """All that `hosted_usd` counts, as straight parts."""
    charged = _charged(hosted, mix)
    reached = _volume_of(charged, hosted.minimum_usd)
    bends = sorted({piece.first for piece in charged} | ({reached} if reached is not None else set()))

    def piece(first: Fraction) -> _Piece:
        is_above = reached is not None and first >= reached
        slope = charged[_index(charged, first)].usd_per_token
        return _Piece(first, hosted_usd(hosted, mix, first), slope * (is_above + hosted.privacy_premium))

    return tuple(piece(first) for first in bends)


def _index(bill: _Bill, tokens: Fraction) -> int:
    return bisect_right(bill, tokens, key=lambda piece: piece.first) - 1


def _on(bill: _Bill, tokens: Fraction) -> Fraction:
    return bill[_index(bill, tokens)].at(tokens)


def _with_ends(bill: _Bill) -> Iterator[tuple[_Piece, Fraction | None]]:
    """Each part with where it ends; the last one does not."""
    for piece, following in pairwise(bill):
        yield piece, following.first
    yield bill[-1], None


def _volume_of(bill: _Bill, usd: Fraction) -> Fraction | None:
    """The smallest volume that is charged so much; None: none is."""
    for piece, end in _with_ends(bill):
        if piece.usd >= usd:
            return piece.first
        if piece.usd_per_token > 0:
            tokens = piece.first + (usd - piece.usd) / piece.usd_per_token
            if end is None or tokens <= end:
                return tokens
    return None


@dataclass(frozen=True, slots=True)
class _Stairs:
    """Owning over volume, beside a host's bill."""

    owned: Owned
    bill: _Bill
    carried: Fraction | None
    """By each replica, in tokens of a month; None: any volume, 0: nothing."""

    @classmethod
    def of(cls, scenario: Scenario) -> _Stairs:
        return cls(scenario.owned, _bill(scenario.hosted, scenario.traffic.mix), _carried(scenario))

    def step(self, replicas: int) -> Step:
        most = None if self.carried is None else replicas * self.carried
        machines = replicas + self.owned.spares
        return Step(replicas, machines, self.owned.monthly(replicas), self.needed(replicas), most)

    def needed(self, replicas: int) -> Fraction | None:
        return _volume_of(self.bill, self.owned.monthly(replicas))

    def first_paid(self, start: int, carried: Fraction) -> int | None:
        """The first number of replicas from `start` on whose full load costs no less at the host."""
        return self._first(start, carried, ahead=0, is_paid=True)

    def first_gap(self, start: int, carried: Fraction) -> int | None:
        """The first number from `start` on whose full load does not yet pay for one replica more."""
        return self._first(start, carried, ahead=1, is_paid=False)

    def _first(self, start: int, carried: Fraction, *, ahead: int, is_paid: bool) -> int | None:
        """Where the bill for a full load, less what `ahead` more replicas cost, changes its sign.

        On each straight part of the bill that is a straight line over the number of replicas: it is divided for.
        """
        per_machine = self.owned.monthly(2) - self.owned.monthly(1)
        for piece, end in _with_ends(self.bill):
            low = max(start, ceil(piece.first / carried))
            gain = piece.at(low * carried) - self.owned.monthly(low + ahead)
            rise = piece.usd_per_token * carried - per_machine
            found: int | None = low
            if (gain >= 0) != is_paid:
                found = _until_crossed(gain, rise, low)
            if found is not None and (end is None or found * carried <= end):
                return found
        return None


def _until_crossed(gain: Fraction, rise: Fraction, low: int) -> int | None:
    """The first number after `low` at which a line that is `gain` at it and rises so much a step has the other sign."""
    if gain < 0:
        return low + ceil(-gain / rise) if rise > 0 else None
    return low + floor(gain / -rise) + 1 if rise < 0 else None


def _told(stairs: _Stairs) -> list[int]:
    """The numbers of replicas worth telling of."""
    least = stairs.owned.least_replicas
    if not stairs.carried:
        return [least]
    paid = stairs.first_paid(least, stairs.carried)
    around = () if paid is None else range(max(least, paid - 1), paid + _FIRST_STEPS)
    return sorted({*range(least, least + _FIRST_STEPS), *around})


def _intervals(stairs: _Stairs) -> Iterator[Interval]:
    """By rising volume. They end where the replicas are full and one more is not paid yet."""
    least, carried = stairs.owned.least_replicas, stairs.carried
    if carried is None and (needed := stairs.needed(least)) is not None:
        yield Interval(needed, None)
    if not carried:
        return
    replicas = stairs.first_paid(least, carried)
    while replicas is not None and (needed := stairs.needed(replicas)) is not None:
        full = stairs.first_gap(replicas, carried)
        yield Interval(needed, None if full is None else full * carried)
        replicas = None if full is None else stairs.first_paid(full + 1, carried)


def _carried(scenario: Scenario) -> Fraction | None:
    """By one replica, in tokens of a month; None: any volume, as far as is known."""
    if scenario.capacity is None:
        return None
    if scenario.holds is False:
        return ZERO
    return most_tokens(scenario.capacity, scenario.traffic.mix, scenario.traffic.peak_to_mean, 1)


def _hourly_usd(owned: Owned) -> Fraction:
    if owned.usd_per_gpu_hour is None:
        return owned.monthly(owned.least_replicas) / HOURS_A_MONTH
    return owned.usd_per_gpu_hour * owned.gpus * (owned.least_replicas + owned.spares)


def _why(scenario: Scenario, valid: bool) -> Why:
    if scenario.capacity is None:
        return "arithmetic" if valid else "never"
    if scenario.holds is False:
        return "does_not_hold"
    return "cheaper" if valid else "never"


def _peak_to_mean_max(step: Step, peak_to_mean: Fraction) -> Fraction | None:
    if not step.most_tokens or not step.needed_tokens:
        return None
    return peak_to_mean * step.most_tokens / step.needed_tokens
