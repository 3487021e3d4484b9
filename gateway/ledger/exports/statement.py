"""A month's statement: what each person's keys come to, what the house bears, and to whom the money goes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateway.catalog.load import EMBEDDER
from gateway.db import attempts
from gateway.db.tables import BUCKET
from gateway.economics.calendar import day_of, month
from gateway.ledger import days, machines
from gateway.ledger.exports.offers import OWN_MACHINES, offer_of, offers_of
from gateway.ledger.usage import Span, Sums, summed
from policies.pack import QUOTES
from policies.prices import rate_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.rollups import Summed
    from gateway.ledger.exports.offers import Offers
    from gateway.ledger.machines import MachineCost
    from policies.pack import Pack
    from policies.prices import ExchangeRate

_BUILT_IN = frozenset({QUOTES, "demonstration", EMBEDDER})
"""Deployments of every house, in no pack."""
_A_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Bill:
    """What goes under one name.

    `sums.principal_nano_usd` is what callers bear and `sums.house_nano_usd` what the house does; both are with the
    owner's cost lines, which `sums.surcharge_nano_usd` says of the two together.
    """

    name: str
    sums: Sums
    parts: tuple[Bill, ...] = ()
    """Of a person: each key; of a provider: each deployment."""

    def as_dict(self) -> dict[str, Any]:
        """The form for JSON."""
        own: dict[str, Any] = {
            "name": self.name,
            "due_nano_usd": self.sums.principal_nano_usd,
            "house_nano_usd": self.sums.house_nano_usd,
            "surcharge_nano_usd": self.sums.surcharge_nano_usd,
            "tokens": self.sums.tokens,
            "attempts": self.sums.attempts,
            "estimated": self.sums.estimated,
        }
        return {**own, "parts": [part.as_dict() for part in self.parts]} if self.parts else own


@dataclass(frozen=True, slots=True)
class Statement:
    """One month, by the owner's calendar. Each list adds up to `total`, to the last digit; the dearest comes first."""

    month: str
    """`2026-11`."""
    span: Span
    total: Sums
    people: tuple[Bill, ...]
    """Each with their keys."""
    providers: tuple[Bill, ...]
    """Whom the money goes to, each with the deployments, own machines left out."""
    own: tuple[Bill, ...]
    """The deployments on machines of the house, at what a token more costs there."""
    machines: tuple[MachineCost, ...]
    """What the machines cost in all, used and idle, as far as the month has passed; no part of the total."""
    held_nano_usd: int
    held: int
    """Attempts of the month that are under way: the statement is not final before they are settled."""
    ended: bool
    currency: str
    """The owner's, beside dollars."""
    rate: ExchangeRate | None
    """The owner's rate for it on the month's last day so far; None for dollars."""

    @property
    def is_final(self) -> bool:
        """The month has ended, and nothing of it is under way."""
        return self.ended and self.held == 0

    def as_dict(self) -> dict[str, Any]:
        """The form for JSON; `total_nano_usd` comes first."""
        rate = self.rate
        return {
            "total_nano_usd": self.total.cost_nano_usd,
            "due_nano_usd": self.total.principal_nano_usd,
            "house_nano_usd": self.total.house_nano_usd,
            "surcharge_nano_usd": self.total.surcharge_nano_usd,
            "own_nano_usd": sum(bill.sums.cost_nano_usd for bill in self.own),
            "month": self.month,
            "from": self.span.start.isoformat(),
            "to": self.span.end.isoformat(),
            "time_zone": str(self.span.zone),
            "final": self.is_final,
            "held": self.held,
            "held_nano_usd": self.held_nano_usd,
            "currency": self.currency,
            "per_usd": None if rate is None else str(rate.per_usd),
            "per_usd_as_of": None if rate is None else rate.as_of.isoformat(),
            "tokens": self.total.tokens,
            "attempts": self.total.attempts,
            "estimated": self.total.estimated,
            "people": [bill.as_dict() for bill in self.people],
            "providers": [bill.as_dict() for bill in self.providers],
            "own_machines": [bill.as_dict() for bill in self.own],
            "machines": [machine.as_dict() for machine in self.machines],
        }


async def statement(engine: AsyncEngine, pack: Pack, year: int, number: int, now: datetime) -> Statement:
    """The statement of a month (1 to 12), as it stands now."""
    zone = pack.budgets.zone
    span = Span(*month(year, number, zone), zone)
    held = await attempts.held(engine, span.start, span.end)
    groups = await days.sums(engine, zone, span.start, span.end, ("person", "principal", "deployment"))
    today = day_of(now, zone)
    hosted, own = _by_place(groups, offers_of(pack, today))
    return Statement(
        month=f"{year:04}-{number:02}",
        span=span,
        total=summed(groups),
        people=_bills(groups, _person, _key),
        providers=hosted,
        own=own,
        machines=tuple(await machines.report(engine, pack, span.start, _so_far(span, now))),
        held_nano_usd=held.nano_usd,
        held=held.attempts,
        ended=now >= span.end,
        currency=pack.budgets.currency,
        rate=rate_on(pack.exchange_rates, pack.budgets.currency, min(today, day_of(span.end - _A_MOMENT, zone))),
    )


def _so_far(span: Span, now: datetime) -> datetime:
    """The end of what has passed of the span, in whole half hours."""
    passed = max(now, span.start) - span.start
    return min(span.start + passed // BUCKET * BUCKET, span.end)


def _by_place(groups: Iterable[Summed], offers: Offers) -> tuple[tuple[Bill, ...], tuple[Bill, ...]]:
    """What was paid to providers, each with its deployments, and what ran on machines of the house."""
    hosted: list[Summed] = []
    own: list[Summed] = []
    for group in groups:
        (own if _provider(group, offers) == OWN_MACHINES else hosted).append(group)
    providers = _bills(hosted, lambda group: _provider(group, offers), _deployment)
    return providers, _bills(own, _deployment)


def _person(group: Summed) -> str:
    return group.names["person"] or group.names["principal"]


def _key(group: Summed) -> str:
    return group.names["principal"]


def _deployment(group: Summed) -> str:
    return group.names["deployment"]


def _provider(group: Summed, offers: Offers) -> str:
    name = _deployment(group)
    return offer_of(offers, name, "house" if name in _BUILT_IN else None).provider


def _bills(
    groups: Iterable[Summed], name_of: Callable[[Summed], str], part_of: Callable[[Summed], str] | None = None
) -> tuple[Bill, ...]:
    """One bill for each name, the dearest first."""
    named: defaultdict[str, list[Summed]] = defaultdict(list)
    for group in groups:
        named[name_of(group)].append(group)
    bills = [
        Bill(name, summed(members), () if part_of is None else _bills(members, part_of))
        for name, members in named.items()
    ]
    return tuple(sorted(bills, key=lambda bill: (-bill.sums.cost_nano_usd, bill.name)))
