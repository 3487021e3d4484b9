"""What tokens cost, as people write it: prices.yaml, and the price of a deployment."""

from __future__ import annotations

import re
from datetime import date, time
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, PlainValidator, Tag, model_validator

from policies.budgets import Currency
from policies.fields import Amount, Engine, ModelNames, Name, Strict, Tokens, Word, Words, listed
from policies.problems import closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Origin = Literal["deployment", "prices", "map", "machine", "house"]
"""Where a price was found: at the deployment, in prices.yaml, in the map that comes with Soleira, as the marginal
price of a machine in break_even.yaml, or as what the house itself answers with."""
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

_TIME = re.compile(r"(\d{1,2}):(\d{2})\Z")


def _positive(value: Decimal) -> Decimal:
    if value == 0:
        raise ValueError("should be more than 0; what is free says so by prices of 0")
    return value


def _time_of_day(value: object) -> time:
    found = _TIME.match(str(value))
    if not found or int(found[1]) > 24 or int(found[2]) > 59 or (int(found[1]) == 24 and int(found[2])):
        raise ValueError("should be a time such as 16:30, in quotes")
    return time(int(found[1]) % 24, int(found[2]))


def _zone(value: object) -> ZoneInfo:
    try:
        return ZoneInfo(str(value))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        meant = closest(str(value), _zones_by_lower_case())
        hint = f"; did you mean {_zones_by_lower_case()[meant]!r}?" if meant else ""
        raise ValueError(f"{value!r} is no time zone such as UTC or America/Sao_Paulo{hint}") from None


@cache
def _zones_by_lower_case() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones()}


Factor = Annotated[Amount, AfterValidator(_positive)]
TimeOfDay = Annotated[time, PlainValidator(_time_of_day, json_schema_input_type=str)]
TimeZone = Annotated[ZoneInfo, PlainValidator(_zone, json_schema_input_type=str)]
Weekdays = Annotated[tuple[Weekday, ...], BeforeValidator(listed), Field(min_length=1)]


class PerMillion(Strict):
    """Prices of a million tokens by lane; what is not named costs what its lane's sum costs."""

    input: Amount
    output: Amount
    cached: Amount | None = None
    reasoning: Amount | None = None
    cache_write_5m: Amount | None = None
    """Input that is kept in the prefix cache for five minutes, or for a time that nobody states."""
    cache_write_1h: Amount | None = None
    image_input: Amount | None = None
    image_output: Amount | None = None
    audio_input: Amount | None = None
    audio_output: Amount | None = None
    embedding: Amount | None = None
    rerank: Amount | None = None

    @property
    def amounts(self) -> dict[str, Decimal]:
        """The prices that are named."""
        return {lane: amount for lane, amount in dict(self).items() if amount is not None}


class Variation(Strict):
    """Other rates than the usual ones: all of their own, or the usual ones by a factor."""

    per_million: PerMillion | None = None
    per_thousand_searches: Amount | None = None
    factor: Factor | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.per_million is None) == (self.factor is None):
            raise ValueError("should name either per_million or factor")
        if self.per_million is None and self.per_thousand_searches is not None:
            raise ValueError("should name per_thousand_searches beside per_million; a factor changes it too")
        return self


class TierEntry(Variation):
    """What a whole request costs whose prompt, cached tokens included, has more than so many tokens."""

    above: Annotated[Tokens, Field(ge=1)]


def _rising(tiers: tuple[TierEntry, ...]) -> tuple[TierEntry, ...]:
    thresholds = [tier.above for tier in tiers]
    if thresholds != sorted(set(thresholds)):
        raise ValueError("should be in rising order of `above`, each once")
    return tiers


Tiers = Annotated[tuple[TierEntry, ...], AfterValidator(_rising)]


class ServiceTierEntry(Variation):
    """What a request costs that was served under `flex`, `priority`, `batch`."""

    tiers: Tiers | None = None
    """Left out: those of the price where this is a factor, none where it names rates of its own."""


class HoursEntry(Variation):
    """What requests cost that are made at a time of day: from the one until before the other, over midnight too."""

    from_: TimeOfDay = Field(alias="from")
    to: TimeOfDay
    time_zone: TimeZone = ZoneInfo("UTC")
    weekdays: Weekdays | None = None
    """Left out: every day."""


class TokenPrice(Strict):
    """A price, with where it was read and when; one of zero must say so, for nothing is free by oversight."""

    currency: Currency
    per_million: PerMillion
    per_thousand_searches: Amount | None = None
    """Search units of a reranker that counts those."""
    tiers: Tiers = ()
    service_tiers: dict[Word, ServiceTierEntry] = Field(default_factory=dict)
    hours: tuple[HoursEntry, ...] = ()
    """The first that the moment lies in holds."""
    multiplier: Factor = Decimal(1)
    """What is paid of these prices: a reseller's 0.60."""
    source: Name | None = None
    as_of: date | None = None

    @property
    def is_free(self) -> bool:
        return not any(any(amounts) for amounts in self._all_amounts())

    def _all_amounts(self) -> Iterator[tuple[Decimal, ...]]:
        yield (*self.per_million.amounts.values(), self.per_thousand_searches or Decimal(0))
        for variation in self._variations():
            if variation.per_million is not None:
                yield (*variation.per_million.amounts.values(), variation.per_thousand_searches or Decimal(0))

    def _variations(self) -> Iterator[Variation]:
        yield from self.tiers
        yield from self.hours
        for tier in self.service_tiers.values():
            yield tier
            yield from tier.tiers or ()

    @model_validator(mode="after")
    def _zero_is_meant(self) -> Self:
        if self.is_free and not (self.source and self.as_of):
            raise ValueError("is zero: say where that comes from (source) and since when it holds (as_of)")
        return self


class OwnedPrice(Strict):
    """The marginal price of a machine in break_even.yaml."""

    owned: Word


class Like(Strict):
    """A model's price at an engine: one of prices.yaml, else of the map that comes with Soleira."""

    engine: Engine
    model: Name


class ResoldPrice(Strict):
    """What a reseller takes of another's price, on every lane."""

    like: Like
    multiplier: Factor
    source: Name | None = None
    as_of: date | None = None


def _kind_of_price(value: object) -> str:
    keys = value if isinstance(value, dict) else getattr(value, "model_fields_set", ())
    return next((kind for key, kind in (("owned", "machine"), ("like", "resold")) if key in keys), "tokens")


PriceEntry = Annotated[
    Annotated[TokenPrice, Tag("tokens")]
    | Annotated[OwnedPrice, Tag("machine")]
    | Annotated[ResoldPrice, Tag("resold")],
    Discriminator(_kind_of_price),
]


class _Listed(Strict):
    """What an engine charges for an upstream model, for all deployments that name no price."""

    engine: Engine
    model: Name
    from_: date | None = Field(None, alias="from")
    """The first day (UTC) on which it holds. Of several that hold the newest goes before."""
    until: date | None = None
    """The last day on which it holds; afterwards an older one that has no end holds again."""
    retires_on: date | None = None
    """The day the operator takes the model away."""

    @model_validator(mode="after")
    def _some_day(self) -> Self:
        if self.from_ and self.until and self.until < self.from_:
            raise ValueError(f"ends on {self.until}, before it begins on {self.from_}")
        return self


class ListedPrice(TokenPrice, _Listed):
    pass


class ListedResoldPrice(ResoldPrice, _Listed):
    pass


Listed = Annotated[
    Annotated[ListedPrice, Tag("tokens")] | Annotated[ListedResoldPrice, Tag("resold")],
    Discriminator(lambda value: "resold" if _kind_of_price(value) == "resold" else "tokens"),
]


def _not_dollars(value: Currency) -> Currency:
    if value == "USD":
        raise ValueError("is USD, which everything is counted in: a dollar is a dollar")
    return value


class ExchangeRate(Strict):
    """Units of a currency for a dollar, as the owner counts them from a day on."""

    currency: Annotated[Currency, AfterValidator(_not_dollars)]
    per_usd: Factor
    as_of: date
    source: Name


class Surcharge(Strict):
    """What the owner pays on top of a provider's price: a tax, a fee. Nothing of the kind is assumed."""

    name: Name
    percent: Factor
    on: Literal["price", "total"] = "price"
    """Of what: of the price alone, or of the price with the surcharges that are written before this one."""
    engines: Annotated[tuple[Engine, ...], BeforeValidator(listed), Field(min_length=1)] | None = None
    zones: Words | None = None
    deployments: ModelNames | None = None
    from_: date | None = Field(None, alias="from")
    until: date | None = None
    """The last day on which it is paid."""
    source: Name | None = None

    @model_validator(mode="after")
    def _for_whom(self) -> Self:
        if self.engines is None and self.zones is None and self.deployments is None:
            raise ValueError("should say whose price it is paid on: engines, zones or deployments")
        return self

    def concerns(self, engine: str, zone: str, deployment: str) -> bool:
        """True if it is paid on this deployment: on all that it names, where it names several kinds."""
        named = ((self.engines, engine), (self.zones, zone), (self.deployments, deployment))
        return all(words is None or word in words for words, word in named)

    def is_paid_on(self, day: date) -> bool:
        return (self.from_ is None or self.from_ <= day) and (self.until is None or day <= self.until)


class PricesFile(Strict):
    prices: tuple[Listed, ...] = ()
    exchange_rates: tuple[ExchangeRate, ...] = ()
    surcharges: tuple[Surcharge, ...] = ()
    """In the order in which they are reckoned."""


def rate_on(rates: Iterable[ExchangeRate], currency: str, day: date) -> ExchangeRate | None:
    """The rate that holds on a day: the newest until then, before the first that one; None if there is none."""
    known = sorted((rate for rate in rates if rate.currency == currency), key=lambda rate: rate.as_of)
    held = [rate for rate in known if rate.as_of <= day]
    return held[-1] if held else known[0] if known else None
