"""Budgets and rate limits as values: whom they count for, over which time, and how much they allow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, tzinfo
from decimal import ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Literal, get_args

from policies.problems import closest

if TYPE_CHECKING:
    from policies.alerts import Alert

Per = Literal["hour", "day", "week", "month"]
"""A budget's stretch of time, by the owner's calendar: a day begins at midnight, a week on Monday."""
Kind = Literal["key", "person", "group", "model", "zone", "collection", "tag", "house"]
"""What a budget counts for; `house` is everybody together."""
Currency = Literal["USD", "BRL", "EUR", "CNY"]
Rates = Mapping[str, tuple[tuple[date, Decimal], ...]]
"""By currency: units of it for a dollar, each from its day on, oldest first."""

KINDS: tuple[Kind, ...] = get_args(Kind)
MEASURING = "measure"
"""The tag of what `soleira measure` asks, which nobody else may use: it is left out of the house's own traffic."""
WARN_AT = (80, 100)
"""The percentages of a budget that are told where it names none."""

_PER: dict[str, Per] = {
    **dict.fromkeys(("hour", "hourly", "1h", "60m"), "hour"),
    **dict.fromkeys(("day", "daily", "1d", "24h"), "day"),
    **dict.fromkeys(("week", "weekly", "1w", "7d"), "week"),
    **dict.fromkeys(("month", "monthly", "1mo"), "month"),
}
_SECONDS = {
    **dict.fromkeys(("second", "sec", "s"), 1),
    **dict.fromkeys(("minute", "min", "m"), 60),
    **dict.fromkeys(("hour", "h"), 3600),
    **dict.fromkeys(("day", "d"), 86_400),
}
_SHARE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?/ ?([A-Za-z0-9]+)\Z")
_COUNT = re.compile(r"(\d{1,15}) ?/ ?([A-Za-z0-9]+)\Z")
_NANO = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom or what a budget or limit counts for; `name` None: each one by itself."""

    kind: Kind
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Money:
    """An amount as its owner wrote it, with the dated rates (units of the currency for a dollar) that it goes by."""

    amount: Decimal
    currency: Currency = "USD"
    rates: tuple[tuple[date, Decimal], ...] = ()
    """Oldest first; none for dollars."""

    def nano_usd(self, day: date) -> int:
        """The amount by the rate of that day (the first one before there was any); never rounded up."""
        per_usd = Decimal(1)
        if self.rates:
            per_usd = next((rate for since, rate in reversed(self.rates) if since <= day), self.rates[0][1])
        return int((self.amount * _NANO / per_usd).to_integral_value(ROUND_FLOOR))


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit of money, of tokens or of both for each stretch of time."""

    name: str
    of: Subject
    per: Per
    money: Money | None = None
    tokens: int | None = None
    hard: bool = True
    """A soft one only warns."""
    warn_at: tuple[int, ...] = WARN_AT
    """The percentages that are told, each once a stretch."""
    own: bool = False
    """True for a key's own, which is in no pack."""


@dataclass(frozen=True, slots=True)
class Rate:
    """So many in any stretch of so many seconds."""

    count: int
    seconds: int

    @property
    def per(self) -> str:
        return {1: "second", 60: "minute", 3600: "hour", 86_400: "day"}[self.seconds]


@dataclass(frozen=True, slots=True)
class RateLimit:
    """How often, how much and how many at once."""

    of: Subject
    requests: Rate | None = None
    tokens: Rate | None = None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True)
class Budgets:
    """budgets.yaml, read and checked; what stands here holds where there is none."""

    zone: tzinfo = UTC
    """The owner's time zone, a ZoneInfo; its offset is a whole number of half hours, as the ledger's sums need."""
    zone_name: str = "UTC"
    holidays: tuple[str, ...] = ()
    """Whose public holidays count: `BR`, `BR-SP`."""
    currency: Currency = "USD"
    """What pages show beside dollars."""
    tags: tuple[str, ...] = ()
    """What requests may say that they are for."""
    budgets: tuple[Budget, ...] = ()
    limits: tuple[RateLimit, ...] = ()
    cache_seconds: int | None = None
    """How long answers are kept to be given again; None: they are not."""
    alerts: tuple[Alert, ...] = ()
    """Who is told of thresholds."""


def own_budgets(key: str, usd: str | None = None, tokens: str | None = None) -> tuple[Budget, ...]:
    """A key's own budgets from the short form they are asked for in: `5/month` dollars, `1000000/day` tokens."""
    of = Subject("key", key)
    found: list[Budget] = []
    if usd is not None:
        amount, per = _share(usd, "a budget of money is an amount and its time, such as 5/month", _SHARE)
        found.append(Budget(f"{key}: money of its own", of, per, money=Money(Decimal(amount)), own=True))
    if tokens is not None:
        amount, per = _share(tokens, "a budget of tokens is a number and its time, such as 1000000/day", _COUNT)
        found.append(Budget(f"{key}: tokens of its own", of, per, tokens=int(amount), own=True))
    return tuple(found)


def own_limits(
    key: str, requests: str | None = None, tokens: str | None = None, concurrency: int | None = None
) -> tuple[RateLimit, ...]:
    """A key's own rate limits: `60/minute` requests, `100000/minute` tokens, 4 calls at once."""
    if requests is None and tokens is None and concurrency is None:
        return ()
    if concurrency is not None and concurrency < 1:
        raise ValueError("a limit of calls at once is a number from 1 on")
    return (RateLimit(Subject("key", key), _rate_or_none(requests), _rate_or_none(tokens), concurrency),)


def per_of(word: str) -> Per:
    """Read `day`, `daily`, `1d` or `24h`, which all mean a calendar day; ValueError with what is known."""
    per = _PER.get(word.lower())
    if per is None:
        raise ValueError(f"{word!r} is no time of a budget: use hour, day, week or month{_meant(word, _PER)}")
    return per


def rate_of(text: str) -> Rate:
    """Read `60/minute`; ValueError with what is meant."""
    match = _COUNT.match(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no rate: write a number and its time, such as 60/minute")
    count, word = int(match[1]), match[2].lower()
    if word not in _SECONDS:
        raise ValueError(f"{word!r} is no time of a rate: use second, minute, hour or day{_meant(word, _SECONDS)}")
    if count < 1:
        raise ValueError("a rate is at least 1: to shut a key out, revoke it")
    return Rate(count, _SECONDS[word])


def _rate_or_none(text: str | None) -> Rate | None:
    return None if text is None else rate_of(text)


def _share(text: str, meant: str, shape: re.Pattern[str]) -> tuple[str, Per]:
    match = shape.match(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is none: {meant}")
    return match[1], per_of(match[2])


def _meant(word: str, known: dict[str, Per] | dict[str, int]) -> str:
    near = closest(word, known)
    return f"; did you mean {near!r}?" if near else ""
