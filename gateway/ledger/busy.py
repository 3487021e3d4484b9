"""What the owner's deployments were seen to do: how fast, and how much in their busiest half hour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gateway.db import rollups
from gateway.db.tables import BUCKET
from gateway.economics.scenario import Mix
from gateway.ledger import chat_lanes
from gateway.ledger.chat_lanes import asked, summed

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.rollups import Summed
    from gateway.db.volumes import Volume

_SECONDS = int(BUCKET.total_seconds())
_MS = 1000


@dataclass(frozen=True, slots=True)
class Busy:
    """One deployment. An attempt counts in the half hour that it began in, with all its tokens."""

    deployment: str
    model: str
    """The one that it had most tokens of, if it served several over time."""
    tokens: int
    output: int
    requests: int
    """Attempts, also those that failed."""
    fresh: int
    """Input that was computed."""
    busy_ms: int
    """Of all requests together, waiting for a slot included."""
    most: Mix
    """What its busiest half hour was made of."""
    most_tps: Fraction
    """All tokens of a second in it."""
    most_at: datetime
    at_once: Fraction
    """How many requests were under way in it, on average."""

    @property
    def output_tps(self) -> Fraction | None:
        """Written tokens of a second of one request, from its first moment to its last; None: nothing was written."""
        return Fraction(self.output * _MS, self.busy_ms) if self.output and self.busy_ms else None

    def as_dict(self) -> dict[str, Any]:
        """The form for JSON."""
        return {
            "deployment": self.deployment,
            "model": self.model,
            "tokens": self.tokens,
            "requests": self.requests,
            "busy_ms": self.busy_ms,
            "output_tps_of_one_request": None if self.output_tps is None else float(self.output_tps),
            "busiest_half_hour": self.most_at.isoformat(),
            "busiest_tps": float(self.most_tps),
            "busiest_requests_at_once": float(self.at_once),
        }


async def busy(engine: AsyncEngine, chats: Iterable[Summed], volumes: Iterable[Volume]) -> tuple[Busy, ...]:
    """Each deployment of the groups; `volumes` are of the same time, of these deployments and others."""
    found: dict[str, list[Summed]] = defaultdict(list)
    for group in chats:
        found[group.names["deployment"]].append(group)
    busiest: dict[str, Volume] = {}
    for volume in volumes:
        if volume.deployment in found and volume.tokens >= busiest.get(volume.deployment, volume).tokens:
            busiest[volume.deployment] = volume
    return tuple([await _busy(engine, found[name], most) for name, most in sorted(busiest.items())])


async def _busy(engine: AsyncEngine, groups: Sequence[Summed], most: Volume) -> Busy:
    models = sorted({group.names["model"] for group in groups})
    where = {"deployment": [most.deployment], "model": models}
    half = await rollups.sums(engine, most.bucket, most.bucket + BUCKET, ("model", "tag"), where)
    then, total = summed(asked(half)), summed(groups)
    mix, lanes = chat_lanes.mix(then), chat_lanes.folded(total)
    assert mix is not None  # noqa: S101 - for the type checker: the busiest half hour has tokens
    return Busy(
        deployment=most.deployment,
        model=max(models, key=lambda model: _tokens_of(model, groups)),
        tokens=chat_lanes.tokens(total),
        output=lanes["output"],
        requests=total["attempts"] - total["from_cache"],
        fresh=lanes["fresh"] + lanes["cache_write_5m"] + lanes["cache_write_1h"],
        busy_ms=total["busy_ms"],
        most=mix,
        most_tps=Fraction(chat_lanes.tokens(then), _SECONDS),
        most_at=most.bucket,
        at_once=Fraction(then["busy_ms"], _SECONDS * _MS),
    )


def _tokens_of(model: str, groups: Iterable[Summed]) -> int:
    return sum(chat_lanes.tokens(group.measures) for group in groups if group.names["model"] == model)
