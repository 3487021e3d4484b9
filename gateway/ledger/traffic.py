"""The house's own traffic as a break-even asks for it: lanes, cache, busiest hours, growth, what privacy keeps home."""

from __future__ import annotations

import re
from calendar import monthrange
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime, timedelta, tzinfo
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from gateway.db import edges, rollups
from gateway.db.volumes import volumes
from gateway.economics import calendar
from gateway.economics.scenario import HOURS_A_MONTH, Mix
from gateway.errors import BadRequest
from gateway.ledger import chat_lanes, days, loads, usage
from gateway.ledger.busy import Busy, busy
from gateway.ledger.chat_lanes import FOLDED, NOBODY_S, asked, summed
from gateway.ledger.overview import home_zones
from gateway.ledger.own_zones import own_deployments, own_zones
from gateway.ledger.paid import Paid, Prices, paid, prices_of
from gateway.ledger.usage import Span
from policies.labels import Label

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.rollups import Summed
    from gateway.db.volumes import Volume
    from policies.pack import Pack

Enough = Literal["yes", "nothing", "short", "few"]
"""Whether it says much. `nothing`: no tokens; `short`: less than a week; `few`: less than a hundred requests."""
NoGrowth = Literal["short", "gaps"]
"""Why growth is not known. `short`: less than four whole weeks; `gaps`: one of the weeks had no traffic."""

A_WEEK = 7
A_HUNDRED = 100
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_WINDOW = re.compile(r"(\d{1,4})([dwm])\Z")
_MOST_DAYS = 3700
_MONTHS_A_YEAR = 12
_NAMES = ("deployment", "model", "zone", "tag")


@dataclass(frozen=True, slots=True)
class ModelTraffic:
    """One model's part."""

    tokens: int
    requests: int
    mix: Mix
    cached_share: Fraction | None
    """Of the input; None: there was none."""
    paid: Paid

    def as_dict(self) -> dict[str, Any]:
        """The form for JSON."""
        return {
            "tokens": self.tokens,
            "requests": self.requests,
            "mix": {name: float(share) for name, share in asdict(self.mix).items()},
            "cached_share": _number(self.cached_share),
            "paid": self.paid.as_dict(),
        }


@dataclass(frozen=True, slots=True)
class Observed:
    """Chat traffic between two moments; what nothing was seen of is None, never 0.

    Embeddings and reranking are counted apart. Answers out of the response cache, quotes, and what `soleira measure`
    asked are left out: none of them would be work for a model that somebody wants.
    """

    start: datetime
    end: datetime
    """Whole hours after `start`."""
    zone: tzinfo
    tokens: int = 0
    requests: int = 0
    """Attempts that reached a model, also those that it did not finish."""
    mix: Mix | None = None
    peak_to_mean: Fraction | None = None
    """The busiest hours over the average one: the 99th percentile where there are many, else the busiest."""
    busiest_to_mean: Fraction | None = None
    """The single busiest hour over the average one."""
    busiest_at: datetime | None = None
    shape: tuple[Fraction, ...] = ()
    """Each hour's load over the average one, in order; empty where there was none."""
    hours: tuple[Fraction, ...] = ()
    """The part of an average day's tokens in each hour of the owner's clock, 24 of them; empty if some hour of the day
    was never seen."""
    growth: loads.Growth | None = None
    growth_weeks: int = 0
    """How many whole weeks there are."""
    no_growth: NoGrowth | None = "short"
    forced_share: Fraction | None = None
    """Of all tokens, those whose label no zone of anybody else admits; None: no token's label is known."""
    unlabelled_share: Fraction | None = None
    """Of all tokens, those of which no label is known: whether they are forced nobody knows."""
    home_share: Fraction | None = None
    """Of all tokens, what ran in the house itself."""
    own_share: Fraction | None = None
    """Of all tokens, what ran on machines of the owner's, in the house or elsewhere; the rest was paid to hosts."""
    estimated_share: Fraction | None = None
    """Of all requests, those whose tokens were estimated, since nobody counted them."""
    paid: Paid = field(default_factory=Paid)
    own: tuple[Busy, ...] = ()
    """The deployments on machines of the owner's."""
    by_model: Mapping[str, ModelTraffic] = field(default_factory=dict)
    """Most tokens first."""
    other_tokens: int = 0
    """Of embeddings and reranking: no part of all the above."""
    searches: int = 0
    running_tokens: int = 0
    """Of the hour that is running, where nothing but that was asked: no part of all the above, since it is not over."""

    @property
    def days(self) -> Fraction:
        """Of 24 hours."""
        return Fraction((self.end - self.start) // _HOUR, 24)

    @property
    def tokens_per_month(self) -> Fraction | None:
        """Of 730 hours, all lanes; None: not an hour was seen."""
        return self.tokens * HOURS_A_MONTH / (self.days * 24) if self.days else None

    @property
    def cached_share(self) -> Fraction | None:
        """Of the input; None: there was none."""
        return _cached_share(self.mix)

    @property
    def output_share(self) -> Fraction | None:
        """Of all tokens."""
        return None if self.mix is None else self.mix.output

    @property
    def growth_per_month(self) -> Fraction | None:
        """None: `no_growth` says why."""
        return None if self.growth is None else self.growth.per_month

    @property
    def as_of(self) -> date:
        """The day of the last hour, by the owner's calendar."""
        return calendar.day_of(max(self.start, self.end - _HOUR), self.zone)

    @property
    def enough(self) -> Enough:
        if not self.tokens:
            return "nothing"
        if self.days < A_WEEK:
            return "short"
        return "yes" if self.requests >= A_HUNDRED else "few"

    @property
    def is_enough(self) -> bool:
        return self.enough == "yes"

    def as_dict(self) -> dict[str, Any]:
        """The form for JSON: numbers; amounts in dollars, null where nothing is known."""
        return {
            "from": self.start.astimezone(self.zone).isoformat(),
            "to": self.end.astimezone(self.zone).isoformat(),
            "days": float(self.days),
            "enough": self.enough,
            "tokens": self.tokens,
            "requests": self.requests,
            "tokens_per_month": _number(self.tokens_per_month),
            "mix": None if self.mix is None else {name: float(share) for name, share in asdict(self.mix).items()},
            "cached_share": _number(self.cached_share),
            "output_share": _number(self.output_share),
            "peak_to_mean": _number(self.peak_to_mean),
            "busiest_to_mean": _number(self.busiest_to_mean),
            "busiest_at": None if self.busiest_at is None else self.busiest_at.astimezone(self.zone).isoformat(),
            "hours": [float(share) for share in self.hours],
            "growth_per_month": _number(self.growth_per_month),
            "growth_between": None if self.growth is None else [float(self.growth.low), float(self.growth.high)],
            "growth_weeks": self.growth_weeks,
            "no_growth": self.no_growth,
            "forced_share": _number(self.forced_share),
            "unlabelled_share": _number(self.unlabelled_share),
            "home_share": _number(self.home_share),
            "own_share": _number(self.own_share),
            "estimated_share": _number(self.estimated_share),
            "paid": self.paid.as_dict(),
            "own": [busy.as_dict() for busy in self.own],
            "models": {name: part.as_dict() for name, part in self.by_model.items()},
            "other_tokens": self.other_tokens,
            "searches": self.searches,
            "running_tokens": self.running_tokens,
        }


async def observed(
    engine: AsyncEngine,
    pack: Pack,
    span: Span,
    models: Collection[str] | None = None,
    now: datetime | None = None,
) -> Observed:
    """What the ledger saw of these models (None: of all) in the whole hours of a span, none of them after `now`.

    Models may be named by their aliases. The day on which they were first asked is left out, as it is part of one; but
    if it is all that there is, it counts from its first hour on.
    """
    filters = {} if models is None else {"model": _named(models, pack)}
    whole = await _whole_hours(engine, span, now)
    halves = await volumes(engine, whole.start, whole.end, tuple(FOLDED), filters, NOBODY_S)
    whole = await _since_first_asked(engine, whole, halves, filters)
    if whole.start >= whole.end:
        return Observed(
            whole.start,
            whole.start,
            span.zone,
            running_tokens=await _running_tokens(engine, whole.start, span, filters),
        )
    later = [half for half in halves if whole.start <= half.bucket < whole.end]
    groups = await usage.groups(engine, whole, [*_NAMES, "label"], filters)
    daily = await days.sums(engine, span.zone, whole.start, whole.end, _NAMES, filters, "day")
    seen = _Seen(whole, pack, asked(groups), later, asked(daily))
    found = replace(seen.observed(), own=await busy(engine, seen.own, later))
    if found.tokens:
        return found
    return replace(found, running_tokens=await _running_tokens(engine, whole.end, span, filters))


def since(text: str, now: datetime, zone: tzinfo) -> Span:
    """The span of `30d`, `8w` or `3m`: so many whole days, weeks or months before today, and today's full hours."""
    found = _WINDOW.match(text.strip())
    if found is None or not int(found[1]):
        raise BadRequest(f"{text!r} is no stretch of time: write 30d, 8w or 3m", param="from_ledger")
    today, number = calendar.day_of(now, zone), int(found[1])
    first = _months_back(today, number) if found[2] == "m" else today - number * (7 if found[2] == "w" else 1) * _DAY
    if (today - first).days > _MOST_DAYS:
        raise BadRequest(f"{text!r} is more than ten years: write 30d, 8w or 3m", param="from_ledger")
    return Span(calendar.start_of(first, zone), calendar.window(now, "hour", zone)[0], zone)


def _months_back(day: date, number: int) -> date:
    """The same day so many months before, or the last one of a shorter month."""
    months = day.year * _MONTHS_A_YEAR + day.month - 1 - number
    year, month = max(1, months // _MONTHS_A_YEAR), months % _MONTHS_A_YEAR + 1
    return date(year, month, min(day.day, monthrange(year, month)[1]))


def _named(models: Collection[str], pack: Pack) -> list[str]:
    """The models as the ledger calls them."""
    asked = set(models)
    meant = {spec.model for spec in pack.deployments if not asked.isdisjoint({spec.model, *spec.aliases})}
    return sorted(asked | meant) or [""]


async def _whole_hours(engine: AsyncEngine, span: Span, now: datetime | None) -> Span:
    """The hours that lie whole in the span and have passed; without a start it begins with what was asked first."""
    first = span.starts or await rollups.first(engine)
    last = span.ends or await edges.last(engine)
    if first is None or last is None:
        first = last = first or last or now or span.start
    hour, next_hour = calendar.window(first, "hour", span.zone)
    start = hour if span.starts in (None, hour) else next_hour
    return _cut(Span(start, max(start, last if now is None else min(last, now)), span.zone), start)


def _cut(span: Span, start: datetime) -> Span:
    """The span from another start on, in whole hours."""
    return Span(start, start + max(0, (span.end - start) // _HOUR) * _HOUR, span.zone)


async def _running_tokens(
    engine: AsyncEngine, start: datetime, span: Span, filters: Mapping[str, Sequence[str]]
) -> int:
    """Of chats from the end of the last whole hour on."""
    groups = await usage.groups(engine, Span.open(start, None, span.zone), ["model", "tag"], filters)
    return sum(chat_lanes.tokens(group.measures) for group in asked(groups))


async def _since_first_asked(
    engine: AsyncEngine, span: Span, halves: Sequence[Volume], filters: Mapping[str, Sequence[str]]
) -> Span:
    """The span without the time in which nobody asked yet, and without the part of a day on which somebody began to."""
    if not halves or await _was_asked_before(engine, span, filters):
        return span
    first = halves[0].bucket
    midnight, next_midnight = calendar.day(calendar.day_of(first, span.zone), span.zone)
    if first == midnight:
        return _cut(span, first)
    if halves[-1].bucket >= next_midnight and next_midnight + _DAY <= span.end:
        return _cut(span, next_midnight)
    hour, _ = calendar.window(first, "hour", span.zone)
    return _cut(span, max(span.start, hour))


async def _was_asked_before(engine: AsyncEngine, span: Span, filters: Mapping[str, Sequence[str]]) -> bool:
    """The week before says so of most houses, without reading all that the ledger has."""
    week_before = span.start - A_WEEK * _DAY
    for start, end in ((week_before, span.start), (None, week_before)):
        earlier = await usage.groups(engine, Span.open(start, end, span.zone), ["model", "tag"], filters)
        if any(chat_lanes.tokens(group.measures) for group in asked(earlier)):
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the ledger has of a span, of what somebody asked of a model."""

    span: Span
    pack: Pack
    groups: Sequence[Summed]
    """By label, in all."""
    halves: Sequence[Volume]
    daily: Sequence[Summed]
    """By day."""

    def observed(self) -> Observed:
        measures, chats = summed(self.groups), self.chats
        found = Observed(
            start=self.span.start,
            end=self.span.end,
            zone=self.span.zone,
            tokens=chat_lanes.tokens(measures),
            requests=_requests(chats),
            mix=chat_lanes.mix(measures),
            other_tokens=sum(measures[lane] for lane in chat_lanes.OTHERS),
            searches=measures["searches"],
        )
        return self._divided(self._over_time(found)) if chats else found

    @property
    def chats(self) -> list[Summed]:
        """The groups that have tokens."""
        return [group for group in self.groups if chat_lanes.tokens(group.measures)]

    @property
    def own(self) -> list[Summed]:
        """Of these, what ran on machines of the owner's."""
        is_own = _owned(self.pack)
        return [group for group in self.chats if is_own(group.names)]

    def _over_time(self, found: Observed) -> Observed:
        if not self.halves:  # all of it was settled after they were read
            return found
        start, end, zone = found.start, found.end, found.zone
        buckets: dict[datetime, int] = defaultdict(int)
        for half in self.halves:
            buckets[half.bucket] += half.tokens
        shape = loads.shape(loads.hourly(buckets, start, end))
        weeks = loads.weekly(buckets, start, end, zone)
        growth = loads.growth(weeks)
        return replace(
            found,
            shape=shape,
            peak_to_mean=loads.peak(shape),
            busiest_to_mean=max(shape),
            busiest_at=start + shape.index(max(shape)) * _HOUR,
            hours=loads.by_clock(buckets, start, end, zone),
            growth=growth,
            growth_weeks=len(weeks),
            no_growth=None if growth else "short" if len(weeks) < loads.WEEKS else "gaps",
        )

    def _divided(self, found: Observed) -> Observed:
        home, zones, is_own, chats = home_zones(self.pack), own_zones(self.pack), _owned(self.pack), self.chats
        hosted = [group for group in self.daily if not is_own(group.names)]
        prices = prices_of(self.pack, found.as_of)
        known = _part(chats, lambda names: _label(names["label"]) is not None)
        return replace(
            found,
            forced_share=_part(chats, lambda names: _is_forced(names["label"], self.pack, zones)) if known else None,
            unlabelled_share=1 - known,
            home_share=_part(chats, lambda names: names["zone"] in home),
            own_share=_part(chats, is_own),
            estimated_share=Fraction(summed(chats)["estimated"], max(1, found.requests)),
            paid=paid(hosted, prices),
            by_model=_by_model(chats, hosted, prices),
        )


def _owned(pack: Pack) -> Callable[[Mapping[str, str]], bool]:
    """Tells what ran on machines of the owner's, by the names of its zone and deployment."""
    zones, deployments = own_zones(pack), own_deployments(pack)
    return lambda names: names["zone"] in zones or names["deployment"] in deployments


def _part(groups: Iterable[Summed], belongs: Callable[[Mapping[str, str]], bool]) -> Fraction:
    """Of all the groups' tokens, those of the groups that belong."""
    whole = inside = 0
    for group in groups:
        counted = chat_lanes.tokens(group.measures)
        whole += counted
        inside += counted * belongs(group.names)
    return Fraction(inside, whole)


def _is_forced(text: str, pack: Pack, own: Collection[str]) -> bool:
    """True if no zone of anybody else admits the label."""
    label = _label(text)
    return label is not None and all(zone in own for zone in pack.cleared(label))


def _label(text: str) -> Label | None:
    """None if there is none, or none that can be read any more."""
    try:
        return Label.parse(text)
    except ValueError:
        return None


def _by_model(chats: Iterable[Summed], hosted: Sequence[Summed], prices: Prices) -> dict[str, ModelTraffic]:
    groups: dict[str, list[Summed]] = defaultdict(list)
    for group in chats:
        groups[group.names["model"]].append(group)
    models = {
        model: _model(members, [day for day in hosted if day.names["model"] == model], prices)
        for model, members in groups.items()
    }
    return dict(sorted(models.items(), key=lambda model: (-model[1].tokens, model[0])))


def _model(groups: Sequence[Summed], hosted: Iterable[Summed], prices: Prices) -> ModelTraffic:
    measures = summed(groups)
    mix = chat_lanes.mix(measures)
    assert mix is not None  # noqa: S101 - for the type checker: the groups have tokens
    return ModelTraffic(chat_lanes.tokens(measures), _requests(groups), mix, _cached_share(mix), paid(hosted, prices))


def _cached_share(mix: Mix | None) -> Fraction | None:
    return mix.cached / mix.prompt if mix is not None and mix.prompt else None


def _requests(groups: Iterable[Summed]) -> int:
    measures = summed(groups)
    return measures["attempts"] - measures["from_cache"]


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
