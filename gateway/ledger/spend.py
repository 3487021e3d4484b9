"""What was spent: in all, and by model, zone, deployment and principal."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gateway.db import attempts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.attempts import Group


@dataclass(frozen=True, slots=True)
class Line:
    """The settled attempts of one model, zone, deployment or principal."""

    name: str
    nano_usd: int
    attempts: int
    estimated: int
    fresh: int
    cached: int
    output: int
    reasoning: int


@dataclass(frozen=True, slots=True)
class Spend:
    """All attempts since a moment. What is only held is not spent yet and counts in `held_nano_usd` alone."""

    total_nano_usd: int
    held_nano_usd: int
    attempts: int
    """Settled ones."""
    estimated: int
    """Of these, how many were charged at an estimate."""
    held: int
    by_model: tuple[Line, ...]
    by_zone: tuple[Line, ...]
    by_deployment: tuple[Line, ...]
    by_principal: tuple[Line, ...]

    def as_dict(self) -> dict[str, object]:
        """The form for JSON; `total_nano_usd` comes first."""
        return asdict(self)


async def spend(engine: AsyncEngine, since: datetime | None = None) -> Spend:
    """Sum the attempts that started at `since` or later; all of them by default."""
    groups = await attempts.groups(engine, since)
    settled = [group for group in groups if group.state != "held"]
    held = [group for group in groups if group.state == "held"]
    return Spend(
        total_nano_usd=sum(group.cost_nano_usd for group in settled),
        held_nano_usd=sum(group.held_nano_usd for group in held),
        attempts=sum(group.attempts for group in settled),
        estimated=sum(group.estimated for group in settled),
        held=sum(group.attempts for group in held),
        by_model=_lines(settled, lambda group: group.model),
        by_zone=_lines(settled, lambda group: group.zone),
        by_deployment=_lines(settled, lambda group: group.deployment),
        by_principal=_lines(settled, lambda group: group.principal),
    )


def _lines(groups: Iterable[Group], name_of: Callable[[Group], str]) -> tuple[Line, ...]:
    """One line per name, the dearest first."""
    named: defaultdict[str, list[Group]] = defaultdict(list)
    for group in groups:
        named[name_of(group)].append(group)
    lines = [_line(name, members) for name, members in named.items()]
    return tuple(sorted(lines, key=lambda line: (-line.nano_usd, line.name)))


def _line(name: str, members: list[Group]) -> Line:
    return Line(
        name=name,
        nano_usd=sum(group.cost_nano_usd for group in members),
        attempts=sum(group.attempts for group in members),
        estimated=sum(group.estimated for group in members),
        fresh=sum(group.fresh for group in members),
        cached=sum(group.cached for group in members),
        output=sum(group.output for group in members),
        reasoning=sum(group.reasoning for group in members),
    )
