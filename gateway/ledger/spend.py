"""What was spent: in all, and by model, zone, deployment and principal."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gateway.db import attempts
from gateway.ledger import usage
from gateway.ledger.usage import Span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.rollups import Summed
    from gateway.ledger.usage import By, Report, Where

_DIMENSIONS = ("model", "zone", "deployment", "principal")


@dataclass(frozen=True, slots=True)
class Line:
    """The settled attempts of one model, zone, deployment or principal."""

    name: str
    nano_usd: int
    attempts: int
    estimated: int
    tokens: int
    """All of them, those of every lane."""
    fresh: int
    cached: int
    output: int
    reasoning: int


@dataclass(frozen=True, slots=True)
class Spend:
    """A report, with its lines by model, zone, deployment and principal beside those that were asked for.

    What is only held is not spent yet and counts in `held_nano_usd` alone.
    """

    report: Report
    by_model: tuple[Line, ...]
    by_zone: tuple[Line, ...]
    by_deployment: tuple[Line, ...]
    by_principal: tuple[Line, ...]

    @property
    def total_nano_usd(self) -> int:
        return self.report.total.cost_nano_usd

    @property
    def held_nano_usd(self) -> int:
        return self.report.held_nano_usd

    @property
    def attempts(self) -> int:
        """Settled ones."""
        return self.report.total.attempts

    @property
    def estimated(self) -> int:
        """Of these, how many were charged at an estimate."""
        return self.report.total.estimated

    @property
    def held(self) -> int:
        """How many are under way."""
        return self.report.held

    def as_dict(self) -> dict[str, Any]:
        """The form for JSON; `total_nano_usd` comes first."""
        lines = {f"by_{name}": [asdict(line) for line in getattr(self, f"by_{name}")] for name in _DIMENSIONS}
        return {**self.report.as_dict(), "attempts": self.attempts, "estimated": self.estimated, **lines}


async def spend(
    engine: AsyncEngine, span: Span | None = None, by: By | None = None, where: Where | None = None
) -> Spend:
    """Sum the attempts that started within the span, all of them by default: every figure by one look at the sums."""
    span, filters = span or Span.open(), usage.columns(where or {})
    held = await attempts.held(engine, span.start, span.end, filters)
    names = list(dict.fromkeys((*_DIMENSIONS, *usage.columns_of(by))))
    groups = await usage.groups(engine, span, names, filters, by)
    return Spend(
        report=usage.drawn_up(span, by, groups, held),
        by_model=_lines(groups, "model"),
        by_zone=_lines(groups, "zone"),
        by_deployment=_lines(groups, "deployment"),
        by_principal=_lines(groups, "principal"),
    )


def _lines(groups: Iterable[Summed], dimension: str) -> tuple[Line, ...]:
    """One line per name, the dearest first."""
    named: dict[str, list[Summed]] = {}
    for group in groups:
        named.setdefault(group.names[dimension], []).append(group)
    lines = [_line(name, members) for name, members in named.items()]
    return tuple(sorted(lines, key=lambda line: (-line.nano_usd, line.name)))


def _line(name: str, members: list[Summed]) -> Line:
    sums = usage.summed(members)
    return Line(
        name=name,
        nano_usd=sums.cost_nano_usd,
        attempts=sums.attempts,
        estimated=sums.estimated,
        tokens=sums.tokens,
        fresh=sums.fresh,
        cached=sums.cached,
        output=sums.output,
        reasoning=sums.reasoning,
    )
