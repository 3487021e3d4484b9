"""The figures of the cost page, gathered for one view of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from gateway.db.tables import BUCKET
from gateway.economics import calendar
from gateway.ledger import budgets, machines, overview, usage
from gateway.ledger.usage import Span, Sums

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.dashboard.costs.view import View
    from gateway.ledger.budgets import Standing
    from gateway.ledger.machines import MachineCost
    from gateway.ledger.overview import Overview
    from gateway.ledger.usage import Line, Report
    from gateway.runtime import Runtime
    from policies.pack import Pack

DEAREST = 10
"""How many lines a breakdown shows at first."""
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Group:
    """One line of the breakdown, beside what it came to in the stretch before."""

    name: str
    sums: Sums
    before_nano_usd: int


@dataclass(frozen=True, slots=True)
class Board:
    """All that the page shows."""

    view: View
    opening: Overview
    picture: Report
    """By day, week or month, each divided by zone."""
    before: Report | None
    """The stretch before, by the same steps; None: no comparison was asked for."""
    groups: tuple[Group, ...]
    hidden: int
    """How many groups are left out."""
    standings: tuple[Standing, ...]
    machines: tuple[MachineCost, ...]
    """Machines of one's own over these days so far; none where a filter is set, for they cost the same either way."""

    @property
    def idle_nano_usd(self) -> int:
        return sum(machine.idle_nano_usd for machine in self.machines)

    @property
    def owned_nano_usd(self) -> int:
        """All that machines of one's own cost, used or not."""
        return sum(machine.allocated_nano_usd for machine in self.machines)

    @property
    def total(self) -> Sums:
        return self.picture.total

    @property
    def zones(self) -> dict[str, Sums]:
        """What each zone came to."""
        found: dict[str, Sums] = {}
        for line in self.picture.lines:
            for part in line.parts:
                found[part.name] = found.get(part.name, Sums()) + part.sums
        return found

    @property
    def bars(self) -> list[tuple[Line, int | None]]:
        """Each bar with what the one at its place came to before; months differ in how many days they have."""
        then = [line.sums.cost_nano_usd for line in self.before.lines] if self.before else []
        return [(line, then[place] if place < len(then) else None) for place, line in enumerate(self.picture.lines)]


async def gather(runtime: Runtime, view: View, now: datetime) -> Board:
    """Read everything that the view shows."""
    pack, engine = runtime.packs.current.pack, runtime.engine
    opening, shown, before, groups, standing, owned = await asyncio.gather(
        overview.overview(engine, pack, now, view.filters),
        picture(engine, view, pack.budgets.zone),
        _before(engine, view, pack.budgets.zone),
        breakdown(engine, view, pack.budgets.zone),
        budgets.state(engine, pack, now),
        machines_of(engine, pack, view, now),
    )
    kept = groups if view.all else groups[:DEAREST]
    return Board(view, opening, shown, before, tuple(kept), len(groups) - len(kept), tuple(standing), owned)


def span(view: View, zone: tzinfo) -> Span:
    """From the first day's beginning to the last one's end, by the owner's calendar."""
    return Span(calendar.start_of(view.first, zone), calendar.start_of(view.last + _DAY, zone), zone)


async def picture(engine: AsyncEngine, view: View, zone: tzinfo) -> Report:
    """The bars of a view, each divided by zone."""
    return await usage.report(engine, span(view, zone), view.step, view.filters, parts="zone")


async def breakdown(engine: AsyncEngine, view: View, zone: tzinfo) -> Sequence[Group]:
    """The lines of a view, the dearest first."""
    now = await usage.report(engine, span(view, zone), view.by, view.filters)
    if not view.compare:
        return [Group(line.name, line.sums, 0) for line in now.lines]
    then = await usage.report(engine, overview.before(span(view, zone)), view.by, view.filters)
    costs = {line.name: line.sums.cost_nano_usd for line in then.lines}
    present = [Group(line.name, line.sums, costs.pop(line.name, 0)) for line in now.lines]
    return present + [Group(name, Sums(), cost) for name, cost in costs.items()]


async def _before(engine: AsyncEngine, view: View, zone: tzinfo) -> Report | None:
    if not view.compare:
        return None
    return await usage.report(engine, overview.before(span(view, zone)), view.step, view.filters)


async def machines_of(engine: AsyncEngine, pack: Pack, view: View, now: datetime) -> tuple[MachineCost, ...]:
    """What machines of one's own cost over the view's days, as far as they are over."""
    whole = span(view, pack.budgets.zone)
    so_far = now - (now - whole.start) % BUCKET
    if view.where or so_far <= whole.start or not any(machine.has_costs for machine in pack.machines.values()):
        return ()
    return tuple(await machines.report(engine, pack, whole.start, min(whole.end, so_far)))
