"""The first look: today and the month beside their likes, what ran at home, and where the month is heading."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from gateway.db.tables import microseconds
from gateway.ledger.overview import before, home_zones, months_before, overview
from gateway.ledger.usage import Span
from gateway.settings import HOME_PACK
from policies.budgets import Budgets
from policies.load import load_pack
from tests.gateway.ledger import made_up
from tests.gateway.ledger.made_up import START, Call, added_up
from tests.gateway.ledger.samples import a_hold, a_settlement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncEngine

    from policies.pack import Pack
    from tests.db.stores import Store
    from tests.gateway.ledger.made_up import Row

SAO_PAULO = ZoneInfo("America/Sao_Paulo")
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture(scope="module")
def pack() -> Pack:
    return replace(load_pack(HOME_PACK), budgets=Budgets(zone=SAO_PAULO, holidays=("BR",)))


def at(text: str, zone: ZoneInfo = SAO_PAULO) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC)


def span(start: str, end: str, zone: ZoneInfo = SAO_PAULO) -> Span:
    return Span(at(start, zone), at(end, zone), zone)


def between(rows: Sequence[Row], start: datetime, end: datetime) -> list[Row]:
    return [row for row in rows if microseconds(start) <= row["started_at"] < microseconds(end)]


@pytest.mark.parametrize("where", [{}, {"key": ["ana"]}, {"zone": ["device"]}])
async def test_every_figure_is_the_sum_of_its_rows(
    store: Store, opened: AsyncEngine, pack: Pack, where: dict[str, list[str]]
) -> None:
    await made_up.write(store, made_up.calls(11, 250))
    names = {"key": "principal", "zone": "zone"}
    rows = [row for row in store.rows() if all(row[names[each]] in among for each, among in where.items())]
    now = at("2026-11-01T14:10")

    found = await overview(opened, pack, now, where)  # type: ignore[arg-type]  # keys that are known

    # What began within the half hour that is running counts, also what is after `now` by a clock that runs ahead.
    end = at("2026-11-01T14:30")
    month = between(rows, at("2026-11-01T00:00"), end)
    assert asdict(found.today.sums) == asdict(found.month.sums) == added_up(month)
    assert asdict(found.today.sums_before) == added_up(between(rows, at("2026-10-31T00:00"), at("2026-10-31T14:30")))
    assert asdict(found.month.sums_before) == added_up(between(rows, at("2026-10-01T00:00"), at("2026-10-01T14:30")))
    assert asdict(found.home) == added_up(row for row in month if row["zone"] == "device")
    assert asdict(found.away) == added_up(row for row in month if row["zone"] != "device")
    assert found.home + found.away == found.month.sums
    held = [
        row["held_nano_usd"]
        for row in rows
        if row["state"] == "held" and row["started_at"] <= microseconds(now) + 86_400_000_000
    ]
    assert (found.held, found.held_nano_usd) == (len(held), sum(held))
    assert found.forecast.so_far_nano_usd == added_up(month)["cost_nano_usd"]


async def test_an_empty_ledger_is_all_zeros_and_has_no_forecast(opened: AsyncEngine, pack: Pack) -> None:
    found = await overview(opened, pack, START)

    assert not any(asdict(found.month.sums).values())
    assert found.forecast.expected_nano_usd is None
    assert (found.forecast.days_seen, found.forecast.days_needed) == (0, 7)


async def test_the_forecast_knows_the_days_of_the_owners_calendar(
    store: Store, opened: AsyncEngine, pack: Pack
) -> None:
    # One call at eleven in the evening of every day from October 1st to November 16th: in UTC that is the day after.
    first = at("2026-10-01T23:00")
    holds = [replace(a_hold(f"att-{day}"), started_at=first + timedelta(days=day)) for day in range(47)]
    await made_up.write(store, [Call(hold, a_settlement(hold)) for hold in holds])

    found = await overview(opened, pack, at("2026-11-17T00:00"))

    assert found.forecast.so_far_nano_usd == 16 * 10_500_000
    assert found.forecast.expected_nano_usd == 30 * 10_500_000
    assert found.forecast.days_seen == 28
    assert [(basis.kind, basis.seen, basis.left) for basis in found.forecast.bases] == [
        ("working_day", 19, 8),
        ("weekend", 8, 4),
        ("holiday", 1, 1),
    ]


async def test_a_key_that_is_new_in_an_old_ledger_is_not_reckoned_from_before_it_was(
    store: Store, opened: AsyncEngine, pack: Pack
) -> None:
    old = replace(a_hold("att-old"), started_at=at("2026-01-01T12:00"))
    new = replace(a_hold("att-new"), started_at=at("2026-11-14T12:00"), account=made_up.ACCOUNTS[3])
    await made_up.write(store, [Call(hold, a_settlement(hold)) for hold in (old, new)])
    now = at("2026-11-17T12:00")

    assert (await overview(opened, pack, now, {"key": ["rui"]})).forecast.days_seen == 2
    assert (await overview(opened, pack, now)).forecast.days_seen == 28


def test_home_is_where_only_the_houses_own_addresses_are(pack: Pack) -> None:
    assert home_zones(pack) == {"device", "lan"}


@pytest.mark.parametrize(
    ("asked", "compared"),
    [
        (span("2026-11-17T00:00", "2026-11-17T14:30"), span("2026-11-16T00:00", "2026-11-16T14:30")),
        (span("2026-11-01T00:00", "2026-11-02T00:00"), span("2026-10-31T00:00", "2026-11-01T00:00")),
        (span("2026-11-01T00:00", "2026-11-17T14:30"), span("2026-10-01T00:00", "2026-10-17T14:30")),
        (span("2026-11-01T00:00", "2026-12-01T00:00"), span("2026-10-01T00:00", "2026-11-01T00:00")),
        (span("2026-10-01T00:00", "2027-01-01T00:00"), span("2026-07-01T00:00", "2026-10-01T00:00")),
        (span("2026-03-01T00:00", "2026-03-31T10:00"), span("2026-02-01T00:00", "2026-03-01T00:00")),
        (span("2026-11-16T00:00", "2026-11-19T00:00"), span("2026-11-09T00:00", "2026-11-12T00:00")),
        (span("2026-11-16T00:00", "2026-11-23T00:00"), span("2026-11-09T00:00", "2026-11-16T00:00")),
        (span("2026-11-03T00:00", "2026-12-03T00:00"), span("2026-10-04T00:00", "2026-11-03T00:00")),
        # The day that has 25 hours is a day, and so is the one before it.
        (
            span("2026-10-25T00:00", "2026-10-26T00:00", BERLIN),
            span("2026-10-24T00:00", "2026-10-25T00:00", BERLIN),
        ),
    ],
)
def test_a_span_is_compared_with_the_like_of_it_before(asked: Span, compared: Span) -> None:
    assert before(asked) == compared


def test_a_month_so_far_is_compared_with_the_month_before_also_on_its_first_day() -> None:
    asked = span("2026-11-01T00:00", "2026-11-01T14:30")

    assert months_before(asked) == span("2026-10-01T00:00", "2026-10-01T14:30")
