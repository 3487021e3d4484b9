"""What own machines cost over time, out of the pack, the meters and the ledger's busy time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from gateway.db import readings
from gateway.db.readings import MeterReading
from gateway.ledger.machines import MachineCost, report
from gateway.wire.lanes import Usage
from policies.load import load_pack
from tests.gateway.ledger.samples import a_hold, a_settlement, deployment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from policies.load import Pack
    from tests.db.stores import Store

NANO = 10**9
START, END = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
RULES = """\
default_label: internal
zones:
  device: {clearance: secret, addresses: loopback}
  lan: {clearance: secret, addresses: private}
rules: [{name: at home, route: {zones: [device, lan]}}]
"""
DEPLOYMENTS = """\
deployments:
  - {name: our-k3, model: kimi-k3, engine: vllm, base_url: "http://10.20.0.5:8000/v1", zone: lan, slots: 2, price: {owned: node}}
  - {name: spare-k3, model: kimi-k3, engine: vllm, base_url: "http://10.20.0.6:8000/v1", zone: lan, slots: 2, price: {owned: node}}
"""  # noqa: E501
MARGINAL = "    marginal: {currency: USD, per_million: {input: 0.03, output: 0.12}}\n"
RATES = """\
exchange_rates:
  - {currency: BRL, per_usd: 5.00, as_of: 2026-09-01, source: bank}
  - {currency: BRL, per_usd: 6.00, as_of: 2026-11-16, source: bank}
"""


@pytest.fixture
def pack_with(tmp_path: Path) -> Callable[[str], Pack]:
    """A pack whose machine `node` costs what the lines say."""

    def written(lines: str) -> Pack:
        folder = tmp_path / "pack"
        folder.mkdir(exist_ok=True)
        files = {
            "rules": RULES,
            "deployments": DEPLOYMENTS,
            "prices": RATES,
            "break_even": f"machines:\n  node:\n{MARGINAL}{lines}",
        }
        for name, content in files.items():
            (folder / f"{name}.yaml").write_text(content)
        return load_pack(folder)

    return written


async def busy(store: Store, seconds: int, usage: Usage = Usage(fresh=600_000, output=400_000)) -> None:  # noqa: B008
    async with store.writer() as writer:
        hold = replace(a_hold(on=deployment("our-k3")), started_at=START + timedelta(days=3))
        settled = replace(a_settlement(hold, usage), cost_nano_usd=66_000_000, total_ms=seconds * 1000)
        await writer.hold(hold)
        await writer.settle(settled)


async def only(opened: AsyncEngine, pack: Pack) -> MachineCost:
    [found] = await report(opened, pack, START, END)
    return found


async def test_each_line_of_a_month_is_its_own(
    store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]
) -> None:
    pack = pack_with(
        """\
    capex: {amount: 2400000, currency: USD, life_months: 36, residual: 20%, from: 2026-09-01}
    rent: {per_hour: 0.50, currency: USD}
    energy: {kw: 44.8, pue: 1.4, tariff_per_kwh: 0.12, currency: USD}
    staff: {hours_per_month: 80, rate: 93.75, currency: USD}
"""
    )

    found = await only(opened, pack)

    assert found.capital_nano_usd == 53_333_333_333_333
    assert found.rent_nano_usd == 360 * NANO
    assert found.energy_nano_usd == 5_419_008_000_000  # 44.8 kW x 1.4 x 720 h x 0.12
    assert found.staff_nano_usd == 7_500 * NANO
    assert found.allocated_nano_usd == found.used_nano_usd + found.idle_nano_usd == found.idle_nano_usd
    assert [found.assumed_kwh, found.metered_kwh, found.unmetered_hours] == [Decimal("45158.4"), 0, 0]


async def test_busy_time_over_the_slots_is_what_was_used(
    store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]
) -> None:
    await busy(store, seconds=72 * 3600)

    found = await only(opened, pack_with("    rent: {per_month: 1000, currency: USD}\n"))

    assert found.deployments == ("our-k3", "spare-k3")
    assert found.capacity_ms == 4 * 720 * 3600 * 1000
    assert (found.used_nano_usd, found.idle_nano_usd) == (25 * NANO, 975 * NANO)
    assert found.marginal_nano_usd == 66_000_000
    assert (found.tokens, found.full_nano_usd_per_million) == (1_000_000, 1000 * NANO)


async def test_slots_of_each_machine_may_be_stated(
    store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]
) -> None:
    await busy(store, seconds=72 * 3600)

    found = await only(opened, pack_with("    count: 2\n    slots: 1\n    rent: {per_month: 500, currency: USD}\n"))

    assert found.allocated_nano_usd == 1000 * NANO
    assert found.used_nano_usd == 50 * NANO


async def test_meters_are_counted_in_place_of_kilowatts(
    store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]
) -> None:
    await readings.add(opened, [MeterReading("node", START, START + timedelta(hours=100), 250_500_000, "import")])
    pack = pack_with("    energy: {tariff_per_kwh: 2, currency: USD, kw: 1, import: true}\n")

    found = await only(opened, pack)

    assert (found.metered_kwh, found.assumed_kwh) == (Decimal("250.5"), Decimal(620))
    assert found.energy_nano_usd == 1741 * NANO


async def test_what_no_meter_saw_is_said(store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]) -> None:
    found = await only(opened, pack_with("    energy: {tariff_per_kwh: 2, currency: USD, import: true}\n"))

    assert [found.energy_nano_usd, found.unmetered_hours] == [0, 720]


async def test_reais_are_counted_at_the_owner_s_rate_of_the_day(
    store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]
) -> None:
    pack = pack_with(
        """\
    capex: {amount: 36000, currency: BRL, life_months: 36, from: 2026-09-01}
    rent: {per_hour: 30, currency: BRL}
"""
    )

    found = await only(opened, pack)

    assert found.capital_nano_usd == 200 * NANO  # bought at 5.00, whatever came later
    assert found.rent_nano_usd == 360 * 6 * NANO + 360 * 5 * NANO


async def test_a_machine_that_says_its_marginal_price_alone_is_not_free(
    store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]
) -> None:
    assert await report(opened, pack_with(""), START, END) == []


async def test_parts_of_a_month_come_to_the_month(
    store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]
) -> None:
    pack = pack_with("    rent: {per_month: 1000, currency: BRL}\n    count: 3\n")
    middle = START + timedelta(days=7, hours=5)

    parts = [(await report(opened, pack, *span))[0] for span in ((START, middle), (middle, END))]

    whole = await only(opened, pack)
    assert abs(sum(part.allocated_nano_usd for part in parts) - whole.allocated_nano_usd) <= 1


async def test_it_is_told_as_json_too(store: Store, opened: AsyncEngine, pack_with: Callable[[str], Pack]) -> None:
    told = (await only(opened, pack_with("    rent: {per_month: 1000, currency: USD}\n"))).as_dict()

    assert told["allocated_usd"] == "1000"
    assert told["full_nano_usd_per_million"] is None
    assert told["idle_nano_usd"] == 1000 * NANO
