"""`soleira spend`: the exact total first, by anything, for any time, alone and beside a running house."""

from __future__ import annotations

import asyncio
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from gateway.cli import app
from gateway.errors import BadRequest
from gateway.settings import HOME_PACK, Settings
from gateway.supervisor import prepare
from tests.db.stores import Store
from tests.gateway.ledger import made_up
from tests.gateway.ledger.made_up import added_up
from tests.gateway.test_cli import gateway as gateway

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

RATES = """
exchange_rates:
  - {currency: BRL, per_usd: 5.00, as_of: 2026-01-02, source: the bank's}
  - {currency: BRL, per_usd: 5.4321, as_of: 2026-10-01, source: the bank's}
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A house in São Paulo with a ledger of 100 calls; its owner knows what a dollar costs."""
    settings = Settings.from_environment(tmp_path / "house", environ={})
    prepare.directories(settings)
    shutil.copytree(HOME_PACK, settings.pack)
    (settings.pack / "budgets.yaml").write_text("time_zone: America/Sao_Paulo\n")
    with (settings.pack / "prices.yaml").open("a") as prices:
        prices.write(RATES)
    prepare.files(settings)
    asyncio.run(made_up.write(ledger(settings.data), made_up.calls(9, 100)))
    return settings.data


def ledger(data: Path) -> Store:
    path = data / "ledger.db"
    return Store(f"sqlite+aiosqlite:///{path}", path)


def spend(data: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["spend", "--data", str(data), *options])


def told(data: Path, *options: str) -> Any:
    result = spend(data, *options, "--json")
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


def test_json_begins_with_the_total_that_the_rows_come_to(data: Path) -> None:
    total = told(data)

    assert next(iter(total.items())) == ("total_nano_usd", added_up(ledger(data).rows())["cost_nano_usd"])
    assert sum(line["nano_usd"] for line in total["by_principal"]) == total["total_nano_usd"]


def test_a_span_is_of_the_owners_days_and_lines_are_by_what_is_asked(data: Path) -> None:
    found = told(data, "--from", "2026-10-30", "--to", "2026-10-31", "--by", "day", "--where", "key=ana")

    assert [line["name"] for line in found["lines"]] == ["2026-10-30", "2026-10-31"]
    assert found["from"] == "2026-10-30T00:00:00-03:00"
    assert sum(line["nano_usd"] for line in found["lines"]) == found["total_nano_usd"] > 0
    assert [line["name"] for line in found["by_principal"]] == ["ana"]


@pytest.mark.usefixtures("gateway")
def test_a_running_house_tells_the_same_as_its_files(data: Path) -> None:
    asked = ("--from", "2026-10-30", "--by", "person", "--where", "zone=hosted", "--where", "tag=")

    beside = told(data, *asked)

    rows = [row for row in ledger(data).rows() if row["zone"] == "hosted" and not row["tag"]]
    since = 1_793_329_200_000_000  # the midnight of São Paulo
    among = [row for row in rows if row["started_at"] >= since]
    assert beside["total_nano_usd"] == added_up(among)["cost_nano_usd"] > 0
    assert {line["name"] for line in beside["lines"]} == {row["person"] for row in among if row["state"] != "held"}


def test_other_money_is_shown_at_the_owners_newest_rate(data: Path) -> None:
    total = told(data, "--currency", "brl")
    shown = spend(data, "--currency", "BRL", "--by", "zone").stdout

    assert total["currency"]["code"] == "BRL"
    assert (total["currency"]["per_usd"], total["currency"]["as_of"]) == ("5.4321", "2026-10-01")
    assert total["currency"]["total"] == exactly(total["total_nano_usd"] * 54321)
    assert shown.startswith("R$ ")
    assert "at 5.4321 BRL for a dollar, the owner's rate of 2026-10-01" in shown
    assert "currency" not in told(data)


def exactly(units: int) -> str:
    """Ten-thousandths of nano-dollars, as an amount."""
    whole, rest = divmod(units, 10**13)
    return f"{whole}.{rest:013}".rstrip("0").rstrip(".")


def test_a_currency_without_a_rate_is_refused(data: Path) -> None:
    refused = spend(data, "--currency", "EUR")

    assert isinstance(refused.exception, BadRequest)
    assert str(refused.exception) == (
        "there is no exchange rate for 'EUR' (USD, BRL): write it under exchange_rates in prices.yaml"
    )


def test_people_read_a_table_with_tokens(data: Path) -> None:
    by_tag = spend(data, "--by", "tag").stdout.splitlines()
    plain = spend(data).stdout

    assert by_tag[0].startswith("US$ ")
    assert by_tag[0].endswith(" tokens")
    assert "By tag" in by_tag
    assert any("(none)" in line and " tokens" in line for line in by_tag)
    assert "By model" in plain
    assert "By zone" in plain
    assert "several lines" in spend(data, "--by", "collection").stdout


def test_a_wrong_pack_keeps_nobody_from_the_total(data: Path) -> None:
    (data / "pack" / "rules.yaml").write_text("oops: [")

    assert told(data)["attempts"] > 0
    assert spend(data, "--by", "day").exit_code == 1
