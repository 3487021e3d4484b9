"""What the break-even depends on most, and how sure it is: one input at a time, and all of them drawn at once.

One input at a time is exact. Thousands of draws are made in floating point, on the scenario's own terms taken once from
the exact functions: costs are linear in the number of machines, prices and loads in the shares of the mix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, inf, isinf
from random import Random
from typing import TYPE_CHECKING, get_args

from gateway.economics.break_even import blended, break_even, load_per_token
from gateway.economics.scenario import HOURS_A_MONTH, MILLION, ONE, SECONDS_A_MONTH, ZERO, Cost, Mix
from policies.scenarios import RangedInput

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from gateway.economics.scenario import Capacity, Hosted, LanePrice, Owned, Range, Scenario

Input = RangedInput
INPUTS: tuple[Input, ...] = get_args(Input)
DRAWS = 20_000
SEED = 20261024

_Values = tuple[float, float, float, float, float, float, float]
"""One of each input, in the order of INPUTS."""
_ROUNDING = 1e-12
"""By which part of itself a floating-point figure may miss the exact one that it stands for."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What one input does to the break-even while all others stay, in tokens of a month; None: there is none."""

    name: Input
    low: Fraction
    high: Fraction
    tokens_at_low: Fraction | None
    tokens_at_high: Fraction | None

    @property
    def spread(self) -> Fraction | None:
        """How far apart the two ends are; None: one of them has no break-even."""
        if self.tokens_at_low is None or self.tokens_at_high is None:
            return None
        return abs(self.tokens_at_high - self.tokens_at_low)


@dataclass(frozen=True, slots=True)
class Band:
    """Break-evens of many draws, in tokens of a month."""

    p5: float | None
    p50: float | None
    p95: float | None
    """None: so many draws have no break-even."""
    probability: float | None
    """That owning is cheaper at today's volume; None where that is unknown."""
    never: float
    """The part of the draws without a break-even."""
    draws: int


def with_input(scenario: Scenario, name: Input, value: Fraction) -> Scenario:
    """The scenario with one input changed; what does not have it (a rent by the hour, a capacity) stays as it is."""
    _check(name, value)
    match name:
        case "usd_per_gpu_hour":
            return replace(scenario, owned=_rented(scenario.owned, value))
        case "price_factor":
            price = _times(scenario.hosted.price, value)
            return replace(scenario, hosted=replace(scenario.hosted, price=price))
        case "output_share":
            return _with_mix(scenario, _writing(scenario.traffic.mix, value))
        case "cached_share":
            return _with_mix(scenario, _reading(scenario.traffic.mix, value))
        case "staff_usd_per_month":
            costs = tuple(cost for cost in scenario.owned.costs if cost.line != "staff")
            owned = replace(scenario.owned, costs=(*costs, Cost("staff", value, "house")))
            return replace(scenario, owned=owned)
        case "peak_to_mean":
            # Hours that were seen have their own peak; of another one only the peak is known.
            return replace(scenario, traffic=replace(scenario.traffic, peak_to_mean=value, shape=()))
        case "decode_tps":
            capacity = scenario.capacity and replace(scenario.capacity, decode_tps=value)
            return replace(scenario, capacity=capacity)


def tornado(scenario: Scenario, ranges: Mapping[Input, Range]) -> tuple[Bar, ...]:
    """One bar for each range that has an effect, what matters most first; an end without break-even matters most."""
    as_it_is = _needed(scenario)
    bars = [
        Bar(name, drawn.low, drawn.high, *(_needed(with_input(scenario, name, end)) for end in (drawn.low, drawn.high)))
        for name, drawn in _ordered(ranges)
    ]
    changing = [bar for bar in bars if (bar.tokens_at_low, bar.tokens_at_high) != (as_it_is, as_it_is)]
    return tuple(sorted(changing, key=_reach, reverse=True))


def monte_carlo(scenario: Scenario, ranges: Mapping[Input, Range], draws: int = DRAWS, seed: int = SEED) -> Band:
    """Draw every ranged input from a triangle, in the order of INPUTS, once in each round.

    A draw is cheaper at today's volume if the fleet that carries that volume costs no more than the host.
    """
    if draws < 1:
        raise ValueError("there is at least one draw")
    terms = _Terms.of(scenario, ranges)
    drawn = [terms.drawn(values) for values in _drawn(scenario, ranges, draws, seed)]
    needed = sorted(each.needed() for each in drawn)
    today = scenario.traffic.tokens_per_month
    return Band(
        p5=_percentile(needed, 0.05),
        p50=_percentile(needed, 0.50),
        p95=_percentile(needed, 0.95),
        probability=None if today is None else sum(each.is_cheaper(float(today)) for each in drawn) / draws,
        never=sum(map(isinf, needed)) / draws,
        draws=draws,
    )


def _check(name: Input, value: Fraction) -> None:
    """Refuse what the input cannot be."""
    if name in ("output_share", "cached_share") and not 0 <= value <= 1:
        raise ValueError(f"{name} is a share from 0 to 1, not {float(value):g}")
    if name == "peak_to_mean" and value < 1:
        raise ValueError(f"the busiest hour is no quieter than the average one: {name} is 1 or more, not {value}")
    if name == "decode_tps" and value <= 0:
        raise ValueError(f"{name} is more than 0, not {float(value):g}")
    if value < 0:
        raise ValueError(f"{name} is not below 0, as {float(value):g} is")


def _ordered(ranges: Mapping[Input, Range]) -> Iterator[tuple[Input, Range]]:
    """The ranges in the order of INPUTS."""
    for name in INPUTS:
        if drawn := ranges.get(name):
            if not drawn.low <= drawn.mode <= drawn.high:
                raise ValueError(f"the range of {name} is not in order: low, most likely, high")
            _check(name, drawn.low)
            _check(name, drawn.high)
            yield name, drawn


def _needed(scenario: Scenario) -> Fraction | None:
    answer = break_even(scenario)
    return answer.tokens_per_month if answer.valid else None


def _reach(bar: Bar) -> tuple[int, Fraction]:
    """How much a bar matters: ends without break-even first, then how far apart the ends are."""
    return (bar.tokens_at_low, bar.tokens_at_high).count(None), bar.spread or ZERO


def _rented(owned: Owned, usd_per_gpu_hour: Fraction) -> Owned:
    """At another rent: taxes and reserved shares on it stay in proportion."""
    if owned.usd_per_gpu_hour is None:
        return owned
    if owned.usd_per_gpu_hour:
        factor = usd_per_gpu_hour / owned.usd_per_gpu_hour
        costs = tuple(
            replace(cost, usd_per_month=cost.usd_per_month * factor) if cost.line == "rent" else cost
            for cost in owned.costs
        )
    else:
        others = tuple(cost for cost in owned.costs if cost.line != "rent")
        costs = (*others, Cost("rent", owned.gpus * usd_per_gpu_hour * HOURS_A_MONTH))
    return replace(owned, costs=costs, usd_per_gpu_hour=usd_per_gpu_hour)


def _times(price: LanePrice, factor: Fraction) -> LanePrice:
    return replace(
        price,
        fresh=price.fresh * factor,
        output=price.output * factor,
        cached=price.cached * factor,
        cache_write_5m=price.cache_write_5m * factor,
        cache_write_1h=price.cache_write_1h * factor,
    )


def _with_mix(scenario: Scenario, mix: Mix) -> Scenario:
    return replace(scenario, traffic=replace(scenario.traffic, mix=mix))


def _writing(mix: Mix, output_share: Fraction) -> Mix:
    """With another share of output; the lanes of the input keep their proportions."""
    read = ONE - output_share
    if not mix.prompt:
        return Mix(fresh=read, output=output_share)
    return _mix(mix, fresh_and_writes=read / mix.prompt, cached=mix.cached * read / mix.prompt, output=output_share)


def _reading(mix: Mix, cached_share: Fraction) -> Mix:
    """With another share of the input read from a cache; the other lanes of the input keep their proportions."""
    cached, rest = mix.prompt * cached_share, mix.prompt - mix.cached
    if not rest:
        return Mix(fresh=mix.prompt - cached, output=mix.output, cached=cached)
    return _mix(mix, fresh_and_writes=(mix.prompt - cached) / rest, cached=cached, output=mix.output)


def _mix(mix: Mix, fresh_and_writes: Fraction, cached: Fraction, output: Fraction) -> Mix:
    return Mix(
        fresh=mix.fresh * fresh_and_writes,
        output=output,
        cached=cached,
        cache_write_5m=mix.cache_write_5m * fresh_and_writes,
        cache_write_1h=mix.cache_write_1h * fresh_and_writes,
    )


def _drawn(scenario: Scenario, ranges: Mapping[Input, Range], draws: int, seed: int) -> Iterator[_Values]:
    """Values of all inputs, round by round; what has no range is what the scenario has, and takes no draw."""
    triangular = Random(seed).triangular  # noqa: S311  # repeatable on purpose
    values = [float(value) for value in _as_they_are(scenario)]
    triangles = [
        (INPUTS.index(name), float(drawn.low), float(drawn.high), float(drawn.mode)) for name, drawn in _ordered(ranges)
    ]
    for _ in range(draws):
        for place, low, high, mode in triangles:
            values[place] = triangular(low, high, mode)
        rate, factor, output, cached, staff, peak, decode = values
        yield rate, factor, output, cached, staff, peak, decode


def _as_they_are(scenario: Scenario) -> tuple[Fraction, ...]:
    """What the scenario has of each input; of what it has not, a value that changes nothing."""
    owned, mix = scenario.owned, scenario.traffic.mix
    return (
        owned.usd_per_gpu_hour or ZERO,
        ONE,
        mix.output,
        mix.cached / mix.prompt if mix.prompt else ZERO,
        sum((c.usd_per_month for c in owned.costs if c.line == "staff"), ZERO),
        scenario.traffic.peak_to_mean,
        scenario.capacity.decode_tps if scenario.capacity else ONE,
    )


@dataclass(frozen=True, slots=True)
class _Terms:
    """What a scenario's costs, prices and loads are made of; pairs are of each machine and of the house."""

    fixed: tuple[float, float]
    rent: tuple[float, float]
    """For each dollar of rent by the hour, if that is drawn; else it is fixed."""
    staff: float
    """Of the house, for each dollar of staff, if that is drawn; else it is fixed."""
    least_replicas: int
    spares: int
    prices: tuple[float, float, float]
    """Of one token, retries included: input that no cache holds, cached input, output."""
    bill: _Bill
    loads: tuple[float, float, float]
    """Seconds of a token, as prices are; the last at one token a second."""
    busy_seconds: float
    """Of one replica in a month; 0: it cannot hold the model, infinite: machines carry any load."""

    @classmethod
    def of(cls, scenario: Scenario, drawn: Collection[Input]) -> _Terms:
        owned, hosted, capacity = scenario.owned, scenario.hosted, scenario.capacity
        lanes = (_uncached(scenario.traffic.mix), Mix(ZERO, ZERO, cached=ONE), Mix(ZERO, ONE))
        fresh_price, cached_price, output_price = (float(blended(hosted, lane) / MILLION) for lane in lanes)
        draws_rent = "usd_per_gpu_hour" in drawn and owned.usd_per_gpu_hour is not None
        draws_staff = "staff_usd_per_month" in drawn
        moving = {"rent": draws_rent, "staff": draws_staff}
        rented = _rented(owned, ONE).costs if draws_rent else ()
        return cls(
            fixed=_sums(cost for cost in owned.costs if not moving.get(cost.line)),
            rent=_sums(cost for cost in rented if cost.line == "rent"),
            staff=float(draws_staff),
            least_replicas=owned.least_replicas,
            spares=owned.spares,
            prices=(fresh_price, cached_price, output_price),
            bill=_Bill.of(hosted),
            loads=_loads(capacity, lanes[0]),
            busy_seconds=_busy_seconds(capacity, scenario.holds),
        )

    def drawn(self, values: _Values) -> _Draw:
        """The scenario at one draw of all inputs."""
        rate, factor, output, cached_share, staff, peak, decode_tps = values
        cached = (1 - output) * cached_share
        fresh = 1 - output - cached
        machine = self.fixed[0] + self.rent[0] * rate
        house = self.fixed[1] + self.rent[1] * rate + self.staff * staff
        load = fresh * self.loads[0] + cached * self.loads[1] + output * self.loads[2] / decode_tps
        return _Draw(
            least_replicas=self.least_replicas,
            usd_per_replica=machine,
            rest_usd=house + self.spares * machine,
            usd_per_token=factor * (fresh * self.prices[0] + cached * self.prices[1] + output * self.prices[2]),
            bill=self.bill,
            carried=self._carried(peak * load),
        )

    def _carried(self, seconds: float) -> float:
        """In tokens of a month, by a replica of which each token takes so many seconds in the busiest hour."""
        if seconds:
            return self.busy_seconds / seconds
        return inf if self.busy_seconds else 0.0


@dataclass(frozen=True, slots=True)
class _Draw:
    """A scenario with all inputs drawn."""

    least_replicas: int
    usd_per_replica: float
    rest_usd: float
    """Of the house and of the spare machines."""
    usd_per_token: float
    bill: _Bill
    carried: float
    """By each replica, in tokens of a month."""

    def needed(self) -> float:
        """The smallest volume of the first valid step; infinite: there is none."""
        replicas = self._first_paid()
        if replicas is None:
            return inf
        return self.bill.volume_of(self._owned_usd(replicas), self.usd_per_token)

    def is_cheaper(self, tokens: float) -> bool:
        """Whether the fleet that carries so many tokens costs no more than the host."""
        if not self.carried:
            return False
        replicas = max(self.least_replicas, _whole(tokens / self.carried))
        return self._owned_usd(replicas) <= self.bill.usd(tokens, self.usd_per_token) * (1 + _ROUNDING)

    def _owned_usd(self, replicas: int) -> float:
        return self.rest_usd + self.usd_per_replica * replicas

    def _first_paid(self) -> int | None:
        """The first number of replicas whose full load costs no less at the host.

        On each straight part of the host's bill its gain is a straight line over the number of replicas.
        """
        if not self.carried:
            return None
        if isinf(self.carried):
            return self.least_replicas
        found = (self._first_paid_of(*line) for line in self.bill.lines())
        return min((replicas for replicas in found if replicas is not None), default=None)

    def _first_paid_of(self, factor: float, constant: float) -> int | None:
        """Where `constant` and `factor` times what is charged by the token reach what the fleet costs."""
        per_token = factor * self.usd_per_token
        for piece, end in self.bill.pieces:
            low = max(self.least_replicas, _whole(piece.begins / self.carried))
            gain = per_token * piece.factor * self.carried - self.usd_per_replica
            short = self.rest_usd - constant - per_token * (piece.charged - piece.factor * piece.begins)
            if gain * low < short - abs(short) * _ROUNDING:
                if gain <= 0:
                    continue
                low = max(low, _whole(short / gain))
            if low * self.carried <= end:
                return low
        return None


@dataclass(frozen=True, slots=True)
class _Piece:
    """Volumes of a month in which each further token is charged alike."""

    begins: float
    charged: float
    """How many tokens at the list price are due where it begins."""
    factor: float
    """What a further one is charged, as a part of the list price."""


@dataclass(frozen=True, slots=True)
class _Bill:
    """How a host makes a month's bill of what it charges by the token."""

    pieces: tuple[tuple[_Piece, float], ...]
    """By rising volume, each with where it ends."""
    minimum_usd: float
    premium: float

    @classmethod
    def of(cls, hosted: Hosted) -> _Bill:
        pieces = [_Piece(0.0, 0.0, 1.0)]
        for tier in hosted.tiers:
            begins = float(tier.above_tokens / (1 + hosted.retry_overhead))
            before = pieces[-1]
            charged = before.charged + (begins - before.begins) * before.factor
            pieces.append(_Piece(begins, charged, float(tier.factor)))
        ends = [*(piece.begins for piece in pieces[1:]), inf]
        return cls(tuple(zip(pieces, ends, strict=True)), float(hosted.minimum_usd), float(hosted.privacy_premium))

    def lines(self) -> Iterator[tuple[float, float]]:
        """The bill is the greater of these: a factor on what is charged by the token, and what is due beside it."""
        yield 1 + self.premium, 0.0
        if self.minimum_usd:
            yield self.premium, self.minimum_usd

    def usd(self, tokens: float, usd_per_token: float) -> float:
        piece = next(piece for piece, end in self.pieces if tokens <= end)
        charged = usd_per_token * (piece.charged + (tokens - piece.begins) * piece.factor)
        return max(charged, self.minimum_usd) + charged * self.premium

    def volume_of(self, usd: float, usd_per_token: float) -> float:
        """The smallest volume whose bill is so high; infinite: none is."""
        charged = min((usd - constant) / factor if factor else inf for factor, constant in self.lines())
        if usd <= self.minimum_usd or charged <= 0:
            return 0.0
        if not usd_per_token:
            return inf
        tokens = charged / usd_per_token
        for piece, end in self.pieces:
            if piece.factor and piece.begins + (tokens - piece.charged) / piece.factor <= end:
                return piece.begins + (tokens - piece.charged) / piece.factor
        return inf


def _uncached(mix: Mix) -> Mix:
    """The lanes of the input that no cache holds, in the proportions that they have."""
    rest = mix.prompt - mix.cached
    if not rest:
        return Mix(ONE, ZERO)
    return Mix(mix.fresh / rest, ZERO, ZERO, mix.cache_write_5m / rest, mix.cache_write_1h / rest)


def _sums(costs: Iterable[Cost]) -> tuple[float, float]:
    """Of each machine, and of the house."""
    told = list(costs)
    machine, house = (sum((c.usd_per_month for c in told if c.scope == scope), ZERO) for scope in ("machine", "house"))
    return float(machine), float(house)


def _loads(capacity: Capacity | None, uncached: Mix) -> tuple[float, float, float]:
    if capacity is None:
        return 0.0, 0.0, 0.0
    fresh, cached = (load_per_token(capacity, lane) for lane in (uncached, Mix(ZERO, ZERO, cached=ONE)))
    return float(fresh), float(cached), float(load_per_token(capacity, Mix(ZERO, ONE)) * capacity.decode_tps)


def _busy_seconds(capacity: Capacity | None, holds: bool | None) -> float:
    if capacity is None:
        return inf
    return 0.0 if holds is False else float(capacity.utilisation * SECONDS_A_MONTH)


def _whole(replicas: float) -> int:
    return ceil(replicas * (1 - _ROUNDING))


def _percentile(rising: Sequence[float], part: float) -> float | None:
    """Between the two values around it, in proportion; None where the upper one is infinite."""
    place = part * (len(rising) - 1)
    below, above = rising[floor(place)], rising[ceil(place)]
    return None if isinf(above) else below + (above - below) * (place - floor(place))
