"""What the owner does about meters, on the admin socket."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from gateway.api.auth import CurrentRuntime
from gateway.ledger import energy

router = APIRouter(prefix="/energy")


class Readings(BaseModel):
    """A file of meter readings."""

    model_config = ConfigDict(extra="forbid")

    text: str
    machine: str | None = None


class Meters(BaseModel):
    """Whose meter is to be read; null: all."""

    model_config = ConfigDict(extra="forbid")

    machine: str | None = None


@router.post("/import")
async def import_readings(readings: Readings, runtime: CurrentRuntime) -> list[dict[str, Any]]:
    """Keep the readings of a file, all or none."""
    pack = runtime.packs.current.pack
    taken = await energy.take_in(runtime.engine, pack, readings.text, readings.machine)
    return [each.as_dict() for each in taken]


@router.post("/read")
async def read_meters(meters: Meters, runtime: CurrentRuntime) -> list[dict[str, Any]]:
    """Ask the Prometheus servers that the pack names."""
    taken = await energy.read_meters(runtime.engine, runtime.packs.current.pack, runtime.now(), meters.machine)
    return [each.as_dict() for each in taken]
