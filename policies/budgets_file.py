"""Budgets and rate limits as people write them: budgets.yaml."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, model_validator

from policies.alerts import AlertEntry
from policies.budgets import (
    KINDS,
    MEASURING,
    WARN_AT,
    Budget,
    Budgets,
    Currency,
    Money,
    Per,
    Rate,
    RateLimit,
    Subject,
    per_of,
    rate_of,
)
from policies.fields import Amount, Name, Strict, Word, listed
from policies.pack import QUOTES
from policies.problems import closest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from decimal import Decimal

    from policies.budgets import Rates
    from policies.problems import Problem
    from policies.source import Source

_ANY = "any"
_HALF_HOUR = 1800
_LOOKED_AT = [datetime(year, month, 1, tzinfo=UTC) for year in range(2020, 2041) for month in (1, 4, 7, 10)]
_LIMITABLE = frozenset({"key", "person", "group", "collection", "tag", "house"})


def _zone(value: object) -> ZoneInfo:
    name = str(value)
    try:
        zone = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = closest(name, {known.lower(): known for known in available_timezones()})
        meant = next((known for known in available_timezones() if known.lower() == near), None)
        hint = f"; did you mean {meant!r}?" if meant else ""
        raise ValueError(f"{name!r} is no time zone: write one such as America/Sao_Paulo{hint}") from None
    offsets = [moment.astimezone(zone).utcoffset() for moment in _LOOKED_AT]
    if any(offset is not None and offset.total_seconds() % _HALF_HOUR for offset in offsets):
        raise ValueError(
            f"{name!r} is not a whole number of half hours from UTC, which the ledger's sums cannot be cut by: "
            "take the nearest zone that is"
        )
    return zone


def _holiday(value: str) -> str:
    """A country, or one of its parts, whose holidays are known."""
    country, _, part = value.partition("-")
    library: Any = import_module("holidays")  # two tenths of a second, which only a pack that names one should take
    try:
        library.country_holidays(country, subdiv=part or None)
    except NotImplementedError:
        known = library.list_supported_countries()
        names = [country, *(f"{country}-{name}" for name in known.get(country, ()))] if part else [*known]
        near = {name.lower(): name for name in names}.get(closest(value, [name.lower() for name in names]) or "")
        hint = f"; did you mean {near!r}?" if near else ""
        raise ValueError(
            f"no holidays are known for {value!r}: write a country and, if need be, its part: BR, BR-SP, DE-BE{hint}"
        ) from None
    return value


def _subject(value: object) -> Subject:
    if value == "house":
        return Subject("house")
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError("should name one thing that is counted for, such as {key: ana}, {group: any} or house")
    kind, name = next(iter(value.items()))
    if kind not in KINDS:
        near = closest(str(kind), KINDS)
        hint = f"; did you mean {near!r}?" if near else ""
        raise ValueError(f"{kind!r} cannot be counted for: use {', '.join(KINDS)}{hint}")
    if not isinstance(name, str) or not name:
        raise ValueError(f"should name the {kind}, or say `any` for each one by itself")
    return Subject(kind, None if kind == "house" or name == _ANY else name)


def _rate(value: object) -> Rate:
    return rate_of(str(value))


def _per(value: object) -> Per:
    return per_of(str(value))


def _currency(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


def _rising(values: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(set(values)))


Zone = Annotated[ZoneInfo, PlainValidator(_zone, json_schema_input_type=str)]
Holiday = Annotated[str, AfterValidator(_holiday)]
SubjectText = Annotated[Subject, PlainValidator(_subject, json_schema_input_type=dict[str, str] | str)]
RateText = Annotated[Rate, PlainValidator(_rate, json_schema_input_type=str)]
PerText = Annotated[Per, BeforeValidator(_per)]
CurrencyText = Annotated[Currency, BeforeValidator(_currency)]
Percents = Annotated[
    tuple[Annotated[int, Field(ge=1, le=100)], ...],
    BeforeValidator(lambda value: value if isinstance(value, list | tuple) else [value]),
    AfterValidator(_rising),
]


class LimitEntry(Strict):
    """An amount of money in one currency, a number of tokens, or both."""

    usd: Amount | None = None
    brl: Amount | None = None
    eur: Amount | None = None
    cny: Amount | None = None
    tokens: Annotated[int, Field(ge=0, le=10**15)] | None = None

    @property
    def money(self) -> tuple[Currency, Decimal] | None:
        """The currency and the amount, where it names one."""
        return next(((currency, amount) for currency, amount in self._amounts() if amount is not None), None)

    @model_validator(mode="after")
    def _one_amount(self) -> Self:
        amounts = [amount for _, amount in self._amounts() if amount is not None]
        if len(amounts) > 1:
            raise ValueError("should name its amount in one currency only")
        if not amounts and self.tokens is None:
            raise ValueError("should name an amount, such as usd: 5, or a number of tokens")
        return self

    def _amounts(self) -> tuple[tuple[Currency, Decimal | None], ...]:
        return ("USD", self.usd), ("BRL", self.brl), ("EUR", self.eur), ("CNY", self.cny)


class BudgetEntry(Strict):
    """What may be spent for somebody or something in each stretch of time."""

    name: Name
    of: SubjectText
    limit: LimitEntry
    per: PerText
    hard: bool = True
    """A soft one (false) only warns."""
    warn_at: Percents = WARN_AT


class RateLimitEntry(Strict):
    """How often somebody may ask, how many tokens that may be, and how many requests at once."""

    of: SubjectText
    requests: RateText | None = None
    tokens: RateText | None = None
    concurrency: Annotated[int, Field(ge=1, le=100_000)] | None = None

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.requests is None and self.tokens is None and self.concurrency is None:
            raise ValueError("limits nothing: name requests, tokens or concurrency")
        if self.of.kind not in _LIMITABLE:
            raise ValueError(
                f"cannot count for a {self.of.kind}, which is chosen after requests are let in: "
                "limit who asks here, and a deployment by its `slots`"
            )
        return self


class CacheEntry(Strict):
    """How long an answer may be given again to the very same request of the same key."""

    seconds: Annotated[int, Field(ge=1, le=31_536_000)]


class BudgetsFile(Strict):
    time_zone: Zone = ZoneInfo("UTC")
    holidays: Annotated[tuple[Holiday, ...], BeforeValidator(listed)] = ()
    currency: CurrencyText = "USD"
    tags: Annotated[tuple[Word, ...], BeforeValidator(listed)] = ()
    budgets: tuple[BudgetEntry, ...] = ()
    limits: tuple[RateLimitEntry, ...] = ()
    cache: CacheEntry | None = None
    alerts: tuple[AlertEntry, ...] = ()


def budget_problems(source: Source, file: BudgetsFile, rates: Collection[str]) -> Iterator[Problem]:
    """Budgets need names of their own, tags that are listed, and a rate for what is not in dollars.

    `rates` names the currencies that prices.yaml gives a rate for.
    """
    names = [entry.name for entry in file.budgets]
    if MEASURING in file.tags:
        message = f"{MEASURING!r} is Soleira's own, for what `soleira measure` asks: take another word"
        yield source.problem(("tags", file.tags.index(MEASURING)), message)
    if file.currency != "USD" and file.currency not in rates:
        yield source.problem(("currency",), _without_rate(file.currency))
    for index, entry in enumerate(file.budgets):
        path = ("budgets", index)
        if entry.name in names[:index]:
            yield source.problem((*path, "name"), f"{entry.name!r} is used twice")
        money = entry.limit.money
        if money is not None and money[0] != "USD" and money[0] not in rates:
            yield source.problem((*path, "limit", money[0].lower()), _without_rate(money[0]))
        yield from _tag_problems(source, (*path, "of"), entry.of, file.tags)
    for index, limit in enumerate(file.limits):
        yield from _tag_problems(source, ("limits", index, "of"), limit.of, file.tags)


def subject_problems(
    source: Source, file: BudgetsFile, models: Mapping[str, str], zones: Collection[str]
) -> Iterator[Problem]:
    """A budget of a model or a zone must be of one that there is; `models` maps aliases, too, to models."""
    for index, entry in enumerate(file.budgets):
        name, path = entry.of.name, ("budgets", index, "of", entry.of.kind)
        if entry.of.kind == "model" and name is not None and name not in {*models, QUOTES}:
            yield source.problem(path, f"{name!r} is no model of deployments.yaml", closest(name, models))
        elif entry.of.kind == "model" and name is not None and models.get(name, name) != name:
            yield source.problem(path, f"{name!r} is another name of a model: name the model", models[name])
        if entry.of.kind == "zone" and name is not None and name not in zones:
            yield source.problem(path, f"{name!r} is no zone of rules.yaml", closest(name, zones))


def budgets_of(file: BudgetsFile, rates: Rates) -> Budgets:
    """The file as values; its problems must have been looked for."""
    return Budgets(
        zone=file.time_zone,
        zone_name=file.time_zone.key,
        holidays=file.holidays,
        currency=file.currency,
        tags=file.tags,
        budgets=tuple(_budget(entry, rates) for entry in file.budgets),
        limits=tuple(RateLimit(entry.of, entry.requests, entry.tokens, entry.concurrency) for entry in file.limits),
        cache_seconds=None if file.cache is None else file.cache.seconds,
        alerts=file.alerts,
    )


def _budget(entry: BudgetEntry, rates: Rates) -> Budget:
    money = entry.limit.money
    return Budget(
        name=entry.name,
        of=entry.of,
        per=entry.per,
        money=None if money is None else Money(money[1], money[0], rates.get(money[0], ())),
        tokens=entry.limit.tokens,
        hard=entry.hard,
        warn_at=entry.warn_at,
    )


def _tag_problems(source: Source, path: tuple[str | int, ...], of: Subject, tags: tuple[str, ...]) -> Iterator[Problem]:
    if of.kind == "tag" and of.name is not None and of.name not in tags:
        yield source.problem((*path, "tag"), f"{of.name!r} is none of this file's `tags`", closest(of.name, tags))


def _without_rate(currency: str) -> str:
    return (
        f"there is no rate for {currency}, and none is assumed: add one to prices.yaml, such as "
        f"`exchange_rates: [{{currency: {currency}, per_usd: 5.50, as_of: 2026-11-28, source: central bank}}]`"
    )
