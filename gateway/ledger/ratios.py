"""How much deployments think: thinking tokens for each visible one, as their traffic shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.db import rollups
from gateway.db.tables import BUCKET

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.catalog.deployments import Deployment
    from gateway.db.rollups import Summed
    from gateway.wire.lanes import Usage

SEEDED_OVER = timedelta(days=30)
"""How far back the ledger is asked when a process starts."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ENOUGH = 1_000
"""Visible tokens before which a ratio says little."""
_RECENT = 2_000_000
"""Visible tokens after which what was seen before counts half: models and efforts change."""


@dataclass(slots=True)
class _Seen:
    visible: int = 0
    thinking: int = 0

    def add(self, visible: int, thinking: int) -> None:
        self.visible += visible
        self.thinking += thinking
        if self.visible > _RECENT:
            self.visible //= 2
            self.thinking //= 2


class Ratios:
    """Sums over what was answered, of each deployment and of each model wherever it ran.

    Engines that do not count thoughts apart show none, which is no sign that none were there. A ratio is known where
    thoughts were counted, and where the pack states a model's capabilities and thinking is not among them.
    """

    def __init__(self) -> None:
        self._deployments: dict[str, _Seen] = {}
        self._models: dict[str, _Seen] = {}

    def seed(self, sums: Iterable[Summed]) -> None:
        """Begin with the ledger's sums by deployment and model."""
        for summed in sums:
            names, measures = summed.names, summed.measures
            self._add(names["deployment"], names["model"], measures["output"], measures["reasoning"])

    def note(self, deployment: Deployment, usage: Usage) -> None:
        """Take note of an answer whose usage the upstream said."""
        if not usage.estimated:
            self._add(deployment.name, deployment.model, usage.output, usage.reasoning)

    def of(self, deployment: Deployment) -> Fraction | None:
        """Thinking tokens for each visible one; None if that is not known."""
        if not _may_think(deployment):
            return Fraction(0)
        for seen in (self._deployments.get(deployment.name), self._models.get(deployment.model)):
            if seen is not None and seen.visible >= _ENOUGH and seen.thinking:
                return Fraction(seen.thinking, seen.visible)
        return None

    def _add(self, deployment: str, model: str, visible: int, thinking: int) -> None:
        self._deployments.setdefault(deployment, _Seen()).add(visible, thinking)
        self._models.setdefault(model, _Seen()).add(visible, thinking)


async def seeded(engine: AsyncEngine, now: datetime) -> Ratios:
    """Ratios that begin with what the ledger has of the last days."""
    end = now - (now - _EPOCH) % BUCKET + BUCKET
    ratios = Ratios()
    ratios.seed(await rollups.sums(engine, end - SEEDED_OVER, end, by=("deployment", "model")))
    return ratios


def _may_think(deployment: Deployment) -> bool:
    return deployment.capabilities is None or "reasoning" in deployment.capabilities
