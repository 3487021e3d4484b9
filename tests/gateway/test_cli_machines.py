"""`soleira energy` and `soleira machines`, with a running house and without one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gateway.settings import Settings
from gateway.supervisor import prepare
from tests.gateway.test_cli import data as data
from tests.gateway.test_cli import gateway as gateway
from tests.gateway.test_cli import read, soleira

if TYPE_CHECKING:
    from pathlib import Path

MACHINES = {
    "node": {
        "marginal": {"currency": "USD", "per_million": {"input": "0.03", "output": "0.12"}},
        "energy": {"tariff_per_kwh": "0.50", "currency": "USD", "import": "true"},
        "rent": {"per_hour": "1", "currency": "USD"},
    }
}
READINGS = "start;end;kwh\n2026-11-01;2026-11-02;12,5\n2026-11-02;2026-11-03;10\n"


@pytest.fixture(params=["alone", "running"])
def house(request: pytest.FixtureRequest, data: Path) -> Path:
    """A house whose pack has a machine; a command finds it running, or opens its files itself."""
    settings = Settings.from_environment(data, environ={})
    prepare.directories(settings)
    prepare.files(settings)
    (settings.pack / "break_even.yaml").write_text(json.dumps({"machines": MACHINES}))
    if request.param == "running":
        request.getfixturevalue("gateway")
    return data


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "meter.csv"
    path.write_text(READINGS)
    return path


def test_readings_come_out_as_they_were_brought(house: Path, file: Path) -> None:
    taken = read("energy", "import", file, "--machine", "node", "--data", house)
    listed = read("energy", "list", "--from", "2026-11-01", "--to", "2026-11-02", "--data", house)
    shown = soleira("energy", "list", "--from", "2026-11-01", "--to", "2026-11-02", "--data", house)

    assert [(row["machine"], row["readings"], row["milliwatt_hours"]) for row in taken] == [("node", 2, 22_500_000)]
    assert [row["milliwatt_hours"] for row in listed] == [12_500_000, 10_000_000]
    assert "12.5 kWh  node  (import)" in shown.stdout


def test_a_machine_s_cost_is_shown_line_by_line(house: Path, file: Path) -> None:
    soleira("energy", "import", file, "--machine", "node", "--data", house)

    [found] = read("machines", "--from", "2026-11-01", "--to", "2026-11-02", "--data", house)
    shown = soleira("machines", "--from", "2026-11-01", "--to", "2026-11-02", "--data", house)

    assert found["rent_nano_usd"] == 48 * 10**9
    assert found["energy_nano_usd"] == 11_250_000_000
    assert found["allocated_usd"] == "59.25"
    assert found["idle_nano_usd"] == found["allocated_nano_usd"]
    assert "node  US$ 59.25" in shown.stdout
    assert "US$ 48.00" in shown.stdout


def test_energy_that_no_meter_saw_is_told(house: Path) -> None:
    shown = soleira("machines", "--from", "2026-11-01", "--to", "2026-11-01", "--data", house)

    assert "the energy of 24 hours is missing" in shown.stdout


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (READINGS.replace("12,5", "x"), ("--machine", "node"), "line 2: 'x' should be an amount"),
        (READINGS, ("--machine", "nod"), "'nod' is no machine of break_even.yaml; did you mean 'node'?"),
        (READINGS, (), "says not of which machine it is"),
    ],
)
def test_a_file_that_cannot_be_taken_in_says_why(
    house: Path, file: Path, text: str, options: tuple[str, ...], said: str
) -> None:
    file.write_text(text)

    refused = soleira("energy", "import", file, *options, "--data", house)

    assert refused.exit_code != 0
    assert said in str(refused.exception)
    assert read("energy", "list", "--from", "2026-11-01", "--to", "2026-11-30", "--data", house) == []


def test_without_a_meter_nothing_is_asked(house: Path) -> None:
    assert "nothing new to read" in soleira("energy", "read", "--data", house).stdout


def test_a_file_that_is_not_there_is_named(data: Path, tmp_path: Path) -> None:
    refused = soleira("energy", "import", tmp_path / "none.csv", "--data", data)

    assert "cannot be read" in str(refused.exception)


def test_a_house_without_machines_says_what_to_write(data: Path) -> None:
    assert "capex, rent, energy, staff" in soleira("machines", "--data", data).stdout
