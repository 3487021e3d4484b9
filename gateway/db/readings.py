"""Meter readings: the energy that machines of the house took, stretch by stretch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from gateway.db.engine import transaction
from gateway.db.tables import meter_readings
from gateway.db.upserts import upsert

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine

_PER_STATEMENT = 100


@dataclass(frozen=True, slots=True)
class MeterReading:
    """What one machine took between two moments."""

    machine: str
    """Its name in break_even.yaml."""
    starts_at: datetime
    ends_at: datetime
    milliwatt_hours: int
    source: str
    """`import` or `prometheus`."""


async def add(engine: AsyncEngine, readings: Sequence[MeterReading]) -> None:
    """Keep the readings, all or none; one that begins where another of its machine does takes its place."""
    entry = upsert(meter_readings, engine.dialect)
    unique = list({(reading.machine, reading.starts_at): asdict(reading) for reading in readings}.values())
    async with transaction(engine) as connection:
        for start in range(0, len(unique), _PER_STATEMENT):
            await connection.execute(entry, unique[start : start + _PER_STATEMENT])


async def between(engine: AsyncEngine, machine: str, start: datetime, end: datetime) -> list[MeterReading]:
    """The machine's readings that overlap the stretch, the earliest first."""
    table = meter_readings.c
    query = (
        select(meter_readings)
        .where(table.machine == machine, table.starts_at < end, table.ends_at > start)
        .order_by(table.starts_at)
    )
    async with transaction(engine) as connection:
        rows = (await connection.execute(query)).all()
    return [MeterReading(**row._mapping) for row in rows]
