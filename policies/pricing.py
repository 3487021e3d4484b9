"""Finds what each deployment costs: at the deployment itself, else in prices.yaml, else in the bundled map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from policies.price_map import bundled
from policies.prices import Like, ListedPrice, OwnedPrice, ResoldPrice, TokenPrice
from policies.problems import closest
from policies.schema import DeploymentSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from policies.machines import BreakEvenFile
    from policies.price_map import MapRow, PriceMap
    from policies.prices import ListedResoldPrice, Origin, PricesFile
    from policies.problems import Problem
    from policies.schema import DeploymentEntry, DeploymentsFile
    from policies.source import Path, Source
    from policies.zones import Zone

_COUNT_SEARCHES = ("cohere.com", "cohere.ai")
"""Hosts whose rerankers count search units, which no price of tokens covers."""


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One price, the days on which it holds, and what a reseller takes of it."""

    price: TokenPrice
    origin: Origin
    starts_on: date | None = None
    ends_on: date | None = None
    multiplier: Decimal = Decimal(1)
    """On top of the price's own."""
    retires_on: date | None = None


@dataclass(frozen=True, slots=True)
class Priced:
    """A deployment with all that it costs over time."""

    spec: DeploymentSpec
    rows: tuple[PriceRow, ...]
    """By their first days: of those that hold the last does. Where none holds, `otherwise` does, if there is one."""
    otherwise: PriceRow | None = None


@dataclass(frozen=True)
class Lists:
    """What there is to find prices in."""

    prices: PricesFile

    @cached_property
    def map(self) -> PriceMap:
        """Read only where a price is nowhere else."""
        return bundled()

    def rows(self, engine: str, model: str) -> tuple[PriceRow, ...]:
        """What prices.yaml says, by first days."""
        found = [entry for entry in self.prices.prices if (entry.engine, entry.model) == (engine, model)]
        rows = [row for entry in found for row in self._listed(entry)]
        return tuple(sorted(rows, key=lambda row: row.starts_on or date.min))

    def resold(self, price: ResoldPrice, origin: Origin) -> tuple[PriceRow, ...]:
        """The rows of what it is like, at the reseller's share; none if that is nowhere."""
        return tuple(
            PriceRow(
                _seen(row.price, price),
                origin,
                row.starts_on,
                row.ends_on,
                row.multiplier * price.multiplier,
                row.retires_on,
            )
            for row in self._like(price.like)
        )

    def _like(self, like: Like) -> tuple[PriceRow, ...]:
        """Prices that are written out, for a share of a share could go round in circles; else the map's."""
        written = [entry for entry in self.prices.prices if isinstance(entry, ListedPrice)]
        found = [_row(entry) for entry in written if (entry.engine, entry.model) == (like.engine, like.model)]
        if found:
            return tuple(sorted(found, key=lambda row: row.starts_on or date.min))
        listed = self.map.listed(like.engine, like.model)
        return () if listed is None else (_of_map(listed),)

    def _listed(self, entry: ListedPrice | ListedResoldPrice) -> tuple[PriceRow, ...]:
        if isinstance(entry, ListedPrice):
            return (_row(entry),)
        return tuple(_within(row, entry) for row in self.resold(entry, "prices") if _meet(row, entry))


def priced(
    source: Source, deployments: DeploymentsFile, prices: PricesFile, machines: BreakEvenFile
) -> Iterator[Priced | Problem]:
    """Each deployment with its prices, or the problem that it has none."""
    lists = Lists(prices)
    for index, entry in enumerate(deployments.deployments):
        path = ("deployments", index)
        found = _owned(source, path, entry, machines) if isinstance(entry.price, OwnedPrice) else None
        yield found or _priced(source, path, entry, lists)


def currency_problems(source: Source, deployments: DeploymentsFile, prices: PricesFile) -> Iterator[Problem]:
    """A price in another currency needs a rate: what it comes to is never guessed."""
    for index, entry in enumerate(deployments.deployments):
        for key, price in (("price", entry.price), ("replies", entry.replies.price)):
            if isinstance(price, TokenPrice) and not _has_rate(price.currency, prices):
                path = ("deployments", index, "price") if key == "price" else ("deployments", index, "replies", "price")
                yield source.problem((*path, "currency"), _without_rate(price.currency))


def machine_problems(source: Source, machines: BreakEvenFile, prices: PricesFile) -> Iterator[Problem]:
    for name, machine in machines.machines.items():
        if not _has_rate(machine.marginal.currency, prices):
            path = ("machines", name, "marginal", "currency")
            yield source.problem(path, _without_rate(machine.marginal.currency))


def price_problems(source: Source, prices: PricesFile) -> Iterator[Problem]:
    """Prices must be of days of their own, in currencies with a rate; of a day a currency has one rate."""
    lists = Lists(prices)
    yield from _repeated_prices(source, prices)
    for index, entry in enumerate(prices.prices):
        if isinstance(entry, ListedPrice):
            if not _has_rate(entry.currency, prices):
                yield source.problem(("prices", index, "currency"), _without_rate(entry.currency))
        elif not lists.resold(entry, "prices"):
            yield _unlike(source, ("prices", index, "like"), entry.like, lists)
    days = [(rate.currency, rate.as_of) for rate in prices.exchange_rates]
    for index, day in enumerate(days):
        if day in days[:index]:
            yield source.problem(("exchange_rates", index), f"is a second rate of {day[0]} as of {day[1]}")


def surcharge_problems(
    source: Source, prices: PricesFile, deployments: DeploymentsFile, zones: Mapping[str, Zone]
) -> Iterator[Problem]:
    """Surcharges must be paid on something that there is."""
    names = [entry.name for entry in deployments.deployments]
    for index, surcharge in enumerate(prices.surcharges):
        for key, words, known, kind in (
            ("zones", surcharge.zones, list(zones), "zone of rules.yaml"),
            ("deployments", surcharge.deployments, names, "deployment"),
        ):
            for word in words or ():
                if word not in known:
                    path = ("surcharges", index, key)
                    yield source.problem(path, f"{word!r} is no {kind}", closest(word, known))


def _owned(source: Source, path: Path, entry: DeploymentEntry, machines: BreakEvenFile) -> Priced | Problem:
    owned = entry.price.owned if isinstance(entry.price, OwnedPrice) else ""
    machine = machines.machines.get(owned)
    if machine is None:
        message = f"{owned!r} is no machine of break_even.yaml: add it there, or take out its '#'"
        return source.problem((*path, "price", "owned"), message, closest(owned, machines.machines))
    return _found(entry, (PriceRow(machine.marginal, "machine"),), owned=owned)


def _priced(source: Source, path: Path, entry: DeploymentEntry, lists: Lists) -> Priced | Problem:
    if isinstance(entry.price, ResoldPrice):
        rows = lists.resold(entry.price, "deployment")
        if not rows:
            return _unlike(source, (*path, "price", "like"), entry.price.like, lists)
        return _counted(source, path, _found(entry, rows))
    if isinstance(entry.price, TokenPrice):
        return _counted(source, path, _found(entry, (PriceRow(entry.price, "deployment"),)))
    rows = lists.rows(entry.engine, entry.upstream_model)
    if rows and _always_holds(rows):
        return _counted(source, path, _found(entry, rows))
    in_map = lists.map.called_at(entry.base_url, entry.engine, entry.upstream_model)
    otherwise = None if in_map is None else _of_map(in_map)
    if rows:
        return _counted(source, path, _found(entry, rows, otherwise))
    if otherwise is not None:
        return _counted(source, path, _found(entry, (otherwise,)))
    return source.problem(path, _unpriced(entry))


def _always_holds(rows: tuple[PriceRow, ...]) -> bool:
    return any(row.starts_on is None and row.ends_on is None for row in rows)


def _found(
    entry: DeploymentEntry, rows: tuple[PriceRow, ...], otherwise: PriceRow | None = None, owned: str | None = None
) -> Priced:
    spec = DeploymentSpec.model_validate({**dict(entry), "price": rows[-1].price, "owned": owned})
    return Priced(spec, rows, otherwise)


def _counted(source: Source, path: Path, found: Priced) -> Priced | Problem:
    """A reranker that counts searches needs the price of one."""
    spec = found.spec
    host = urlsplit(spec.base_url).hostname or ""
    counts = "rerank" in spec.capabilities and host.endswith(_COUNT_SEARCHES)
    if counts and any(row.price.per_thousand_searches is None and not row.price.is_free for row in found.rows):
        message = f"{host} counts the searches of a reranker: state what a thousand cost (per_thousand_searches)"
        return source.problem((*path, "price"), message)
    return found


def _repeated_prices(source: Source, prices: PricesFile) -> Iterator[Problem]:
    seen: set[tuple[str, str, date | None]] = set()
    for index, price in enumerate(prices.prices):
        day = (price.engine, price.model, price.from_)
        if day in seen:
            since = "without `from`" if price.from_ is None else f"from {price.from_}"
            yield source.problem(
                ("prices", index),
                f"is a second price of {price.model!r} at {price.engine!r} {since}: say when it begins",
            )
        seen.add(day)


def _row(entry: ListedPrice) -> PriceRow:
    return PriceRow(entry, "prices", entry.from_, entry.until, retires_on=entry.retires_on)


def _of_map(row: MapRow) -> PriceRow:
    return PriceRow(row.price, "map", retires_on=row.retires_on)


def _seen(listed: TokenPrice, reseller: ResoldPrice) -> TokenPrice:
    """The listed price with what is known of when the reseller's share was looked up."""
    days = [day for day in (listed.as_of, reseller.as_of) if day is not None]
    source = " of ".join(word for word in (reseller.source, listed.source) if word) or None
    return listed.model_copy(update={"source": source, "as_of": min(days, default=None)})


def _meet(row: PriceRow, entry: ListedResoldPrice) -> bool:
    begins = [day for day in (row.starts_on, entry.from_) if day is not None]
    ends = [day for day in (row.ends_on, entry.until) if day is not None]
    return not begins or not ends or max(begins) <= min(ends)


def _within(row: PriceRow, entry: ListedResoldPrice) -> PriceRow:
    """The row on those of its days that the entry is of."""
    begins = [day for day in (row.starts_on, entry.from_) if day is not None]
    ends = [day for day in (row.ends_on, entry.until) if day is not None]
    retires = entry.retires_on or row.retires_on
    return replace(row, starts_on=max(begins, default=None), ends_on=min(ends, default=None), retires_on=retires)


def _unlike(source: Source, path: Path, like: Like, lists: Lists) -> Problem:
    models = [entry.model for entry in lists.prices.prices if entry.engine == like.engine]
    message = (
        f"no price of {like.model!r} at {like.engine!r} is written out in prices.yaml, nor is it in the bundled map"
    )
    return source.problem((*path, "model"), message, closest(like.model, models))


def _has_rate(currency: str, prices: PricesFile) -> bool:
    return currency == "USD" or any(rate.currency == currency for rate in prices.exchange_rates)


def _without_rate(currency: str) -> str:
    return (
        f"is {currency}, for which no exchange rate is known: add to prices.yaml "
        f"`exchange_rates: [{{currency: {currency}, per_usd: …, as_of: …, source: …}}]`"
    )


def _unpriced(entry: DeploymentEntry) -> str:
    return (
        f"the price of {entry.name!r} is unknown, and unknown is never free: add `price` here, or an entry for "
        f"engine {entry.engine!r} and model {entry.upstream_model!r} to prices.yaml; the bundled map has none for it "
        f"at this address"
    )
