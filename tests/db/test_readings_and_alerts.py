"""Meter readings are kept once each; an alert belongs to whoever claims it first."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from gateway.db import alerts, readings
from gateway.db.readings import MeterReading
from tests.gateway.ledger.samples import NOON

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

HOUR = timedelta(hours=1)
READING = MeterReading("k3-node", NOON, NOON + HOUR, 850_000, "import")


async def test_readings_come_back_in_their_order_where_they_overlap(opened: AsyncEngine) -> None:
    later = [replace(READING, starts_at=NOON + n * HOUR, ends_at=NOON + (n + 1) * HOUR) for n in range(250)]
    await readings.add(opened, [*reversed(later), replace(READING, machine="other")])

    assert await readings.between(opened, "k3-node", NOON, NOON + 250 * HOUR) == later
    assert await readings.between(opened, "k3-node", NOON + HOUR / 2, NOON + HOUR) == [READING]
    assert await readings.between(opened, "nobody", NOON, NOON + HOUR) == []


async def test_a_reading_takes_the_place_of_one_that_began_in_the_same_moment(opened: AsyncEngine) -> None:
    newer = replace(READING, milliwatt_hours=900_000)
    await readings.add(opened, [READING])
    await readings.add(opened, [READING, newer])

    assert await readings.between(opened, "k3-node", NOON, NOON + HOUR) == [newer]


async def test_of_many_who_claim_an_alert_one_has_it(opened: AsyncEngine) -> None:
    claims = await asyncio.gather(*(alerts.claim(opened, "w:80", NOON) for _ in range(6)))

    assert sorted(claims) == [False] * 5 + [True]
    assert await alerts.claim(opened, "w:100", NOON) is True
    await alerts.release(opened, "w:80")
    assert await alerts.claim(opened, "w:80", NOON) is True
