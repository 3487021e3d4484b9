"""Takes in what meters saw: out of files, and from Prometheus where the owner named a server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

import structlog

from gateway.db import readings
from gateway.db.readings import MeterReading
from gateway.errors import NotFound
from gateway.ledger import meter_files
from gateway.ledger.meter_files import MeterFile
from gateway.ledger.prometheus import LONGEST, STEP, MeterUnread, Sample, samples

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from sqlalchemy.ext.asyncio import AsyncEngine

    from policies.load import Pack
    from policies.machines import Machine, PrometheusMeter

log = structlog.get_logger()

SOURCE = "prometheus"
READ_EVERY = timedelta(minutes=30)
"""Also the longest reading: what a page shows of today is at most this old."""
_AT_FIRST = timedelta(days=30)
"""How far back a meter is read that was never read before."""
_MILLIWATT_SECONDS_A_WATT_HOUR = 3600
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Taken:
    """What was added of one machine's readings."""

    machine: str
    readings: int
    milliwatt_hours: int
    starts_at: datetime
    ends_at: datetime

    def as_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "machine": self.machine,
            "readings": self.readings,
            "milliwatt_hours": self.milliwatt_hours,
            "starts_at": self.starts_at.isoformat(),
            "ends_at": self.ends_at.isoformat(),
        }


async def take_in(engine: AsyncEngine, pack: Pack, text: str, machine: str | None = None) -> list[Taken]:
    """Keep the readings of a file, all or none; a reading that begins where another does takes its place."""
    found = meter_files.read(MeterFile(text, pack.budgets.zone, pack.machines.keys(), machine))
    await readings.add(engine, found)
    return _taken(found)


async def read_meters(engine: AsyncEngine, pack: Pack, now: datetime, machine: str | None = None) -> list[Taken]:
    """Ask every Prometheus that the pack names for what was drawn since it was last asked.

    MeterUnread at the first that cannot be read; what others said until then is kept.
    """
    meters = dict(_meters(pack))
    if machine is not None and machine not in meters:
        raise NotFound(f"break_even.yaml names no Prometheus meter for a machine {machine!r}")
    taken: list[Taken] = []
    for name, meter in meters.items():
        if machine in (None, name):
            taken += _taken(await _read(engine, name, meter, now))
    return taken


async def follow(
    engine: AsyncEngine,
    pack: Callable[[], Pack],
    now: Callable[[], datetime],
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Read the meters of the pack in force every half hour, until cancelled; without any, nobody is asked."""
    while True:
        await wait((READ_EVERY - (now() - _EPOCH) % READ_EVERY + STEP).total_seconds())
        for name, meter in _meters(pack()):
            try:
                await _read(engine, name, meter, now())
            except MeterUnread as failure:
                log.warning("meter_not_read", machine=name, failure=str(failure))


def integrated(machine: str, seen: Iterable[Sample]) -> list[MeterReading]:
    """Samples as readings of half an hour at most; where samples are missing, there is no reading."""
    stretches = groupby(_runs(seen), key=lambda sample: sample[0])
    return [_reading(machine, [sample for _, sample in run]) for _, run in stretches]


def _meters(pack: Pack) -> Iterator[tuple[str, PrometheusMeter]]:
    for name, machine in pack.machines.items():
        if meter := _meter(machine):
            yield name, meter


def _meter(machine: Machine) -> PrometheusMeter | None:
    """The one that is named last, which is the one that counts now."""
    named = [energy.prometheus for energy in machine.energy or () if energy.prometheus is not None]
    return named[-1] if named else None


async def _read(engine: AsyncEngine, machine: str, meter: PrometheusMeter, now: datetime) -> list[MeterReading]:
    """Read on from where readings end, up to the last half hour that is over."""
    end = now - (now - _EPOCH) % READ_EVERY
    before = await readings.between(engine, machine, end - _AT_FIRST, end)
    start = max((reading.ends_at for reading in before), default=end - _AT_FIRST)
    found: list[MeterReading] = []
    while start < end:
        until = min(start + LONGEST, end)
        part = integrated(machine, await samples(meter, start, until))
        await readings.add(engine, part)
        found += part
        start = until
    return found


def _runs(seen: Iterable[Sample]) -> Iterator[tuple[tuple[int, int], Sample]]:
    """Each sample with what tells its run: its half hour, and a number that goes up at each gap."""
    gaps, expected = 0, _EPOCH
    for sample in seen:
        if sample.at != expected:
            gaps += 1
        expected = sample.at + STEP
        yield ((sample.at - _EPOCH) // READ_EVERY, gaps), sample


def _reading(machine: str, run: Sequence[Sample]) -> MeterReading:
    watt_seconds = sum(Fraction(sample.watts) for sample in run) * int(STEP.total_seconds())
    energy = round(watt_seconds * 1000 / _MILLIWATT_SECONDS_A_WATT_HOUR)
    return MeterReading(machine, run[0].at, run[-1].at + STEP, energy, SOURCE)


def _taken(found: Sequence[MeterReading]) -> list[Taken]:
    by_machine = groupby(sorted(found, key=lambda each: (each.machine, each.starts_at)), key=lambda each: each.machine)
    return [
        Taken(
            machine,
            len(rows),
            sum(row.milliwatt_hours for row in rows),
            rows[0].starts_at,
            max(row.ends_at for row in rows),
        )
        for machine, rows in ((machine, list(rows)) for machine, rows in by_machine)
    ]
