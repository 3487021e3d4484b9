"""`soleira break-even`: of a file without any house, of a pack, and of a house's own traffic."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gateway.settings import Settings
from gateway.supervisor import prepare
from policies.problems import PackError
from tests.gateway.test_cli import data as data
from tests.gateway.test_cli import process, read, soleira

if TYPE_CHECKING:
    from pathlib import Path

EIGHT_B200 = """\
hardware: {gpu: b200, count: 8, usd_per_gpu_hour: 7.49}       # replicas of this size are the steps
hosted: {currency: USD, per_million: {input: 1.80, cached: 0.18, output: 9.00}}
traffic: {mix: {input: 3, output: 1}, cached_share: 0.0, peak_to_mean: 1.0}
capacity: none
monthly_extra_usd: 0
"""
CARRIED = EIGHT_B200.replace("b200", "b300").replace("7.49", "7.34").replace(
    "capacity: none", "capacity: {prefill_tps: 21672, decode_tps: 5075.1, utilisation: 0.75}"
)  # fmt: skip
SCENARIO = {
    "hardware": {"gpu": "b300", "count": "8", "usd_per_gpu_hour": "7.34"},
    "hosted": {"currency": "USD", "per_million": {"input": "3", "cached": "0.3", "output": "15"}},
    "traffic": {"tokens_per_day": "100000000"},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "eight-b200.yaml"
    path.write_text(EIGHT_B200)
    return path


@pytest.fixture
def carried(tmp_path: Path) -> Path:
    path = tmp_path / "eight-b300.yaml"
    path.write_text(CARRIED)
    return path


def house(data: Path, scenarios: dict[str, object]) -> Path:
    """A house whose pack has these scenarios."""
    settings = Settings.from_environment(data, environ={})
    prepare.directories(settings)
    prepare.files(settings)
    (settings.pack / "break_even.yaml").write_text(json.dumps({"scenarios": scenarios}))
    return data


def test_a_file_is_answered_in_numbers_without_a_house(file: Path, data: Path) -> None:
    result = process("break-even", "--scenario-file", file, "--json", "--data", data)

    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["hourly_usd"], found["monthly_usd"], found["hosted_per_million_usd"]) == (59.92, 43741.60, 3.60)
    assert round(found["break_even"]["million_tokens_per_month"], 3) == 12_150.444
    assert round(found["break_even"]["million_tokens_per_day"], 3) == 399.467
    assert found["break_even"]["valid"] is True
    assert "1,440 GB" in found["break_even"]["reason"], "blanks are plain ones"
    assert found["peak_to_mean_max"] is None
    assert not data.exists()


def test_a_capacity_says_up_to_which_peak_it_pays(carried: Path) -> None:
    found = read("break-even", "--scenario-file", carried)

    assert found["break_even"]["valid"] is True
    assert round(found["peak_to_mean_max"], 3) == 1.974


def test_an_input_can_be_changed_for_one_look(carried: Path) -> None:
    found = read("break-even", "--scenario-file", carried, "--set", "peak_to_mean=2.5", "--set", "cached_share=0")

    assert found["break_even"]["valid"] is False
    assert found["verdict"] == "never"
    [peak] = [figure for figure in found["figures"] if figure["name"] == "traffic.peak_to_mean"]
    assert (peak["value"], peak["origin"]) == (2.5, "overridden")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("peak_to_mena=2", "did you mean 'peak_to_mean'?"),
        ("peak_to_mean", "should be NAME=VALUE, such as peak_to_mean=2.5"),
        ("peak_to_mean=", "should be NAME=VALUE, such as peak_to_mean=2.5"),
        ("peak_to_mean=x", "should be a number such as 2.5"),
    ],
)
def test_a_change_that_is_none_is_explained(carried: Path, change: str, problem: str) -> None:
    result = process("break-even", "--scenario-file", carried, "--set", change)

    assert result.returncode == 1
    assert problem in result.stderr
    assert "Traceback" not in result.stderr


def test_what_has_no_end_is_not_read_to_its_end() -> None:
    result = process("break-even", "--scenario-file", "/dev/zero")

    assert result.returncode == 1
    assert "/dev/zero: is larger than 512 KiB" in result.stderr


def test_a_file_that_is_wrong_is_explained_by_line_and_key(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(EIGHT_B200.replace("count: 8", "cuont: 8"))

    result = process("break-even", "--scenario-file", path)

    assert result.returncode == 1
    assert "wrong.yaml:1: hardware.cuont: is unknown; did you mean 'count'?" in result.stderr


def test_the_page_begins_with_the_verdict_and_ends_with_what_to_know(file: Path) -> None:
    shown = soleira("break-even", "--scenario-file", file).stdout

    lines = shown.splitlines()
    assert lines[0].startswith("8 × B200 with Kimi K3 (native)")
    assert lines[2] == "Never: 8 × B200 cannot hold Kimi K3 (native)."
    assert "What matters most" in shown
    assert "Figures, with where they come from and how old they are" in shown
    assert "To know" in shown


def test_the_page_shows_each_step_and_where_it_is_full(carried: Path) -> None:
    shown = soleira(
        "break-even", "--scenario-file", carried, "--set", "peak_to_mean=2.5", "--set", "tokens_per_day=400000000"
    ).stdout

    assert "is full before it pays" in shown
    assert "busiest hours: 2.5 times the average here; 1 replica pays up to 1.97" in shown
    assert "US$ 85,731" in shown
    assert "busy  of all tokens  of the written ones" in shown


def test_a_scenario_of_the_pack_is_asked_by_name(data: Path) -> None:
    house(data, {"one": SCENARIO, "two": {**SCENARIO, "title": "Another"}})

    named = read("break-even", "--scenario", "two", "--data", data)
    unnamed = process("break-even", "--data", data)
    mistyped = process("break-even", "--scenario", "tow", "--data", data)

    assert (named["scenario"], named["title"], named["verdict"]) == ("two", "Another", "not_yet")
    assert "name one with --scenario (one, two)" in unnamed.stderr
    assert "there is no scenario 'tow': did you mean 'two'?" in mistyped.stderr


def test_the_only_scenario_needs_no_name(data: Path) -> None:
    house(data, {"one": SCENARIO})

    assert read("break-even", "--data", data)["scenario"] == "one"


def test_a_pack_without_scenarios_says_how_to_add_one(data: Path) -> None:
    result = process("break-even", "--data", house(data, {}))

    assert result.returncode == 1
    assert "has no scenario: add one under `scenarios`" in result.stderr


def test_an_empty_ledger_is_said_to_be_empty(data: Path) -> None:
    house(data, {"one": {**SCENARIO, "traffic": "ledger"}})

    found = read("break-even", "--data", data)

    assert found["today"]["million_tokens_per_month"] is None
    assert "ledger_nothing" in {note["code"] for note in found["notes"]}


def test_a_stretch_of_the_ledger_that_is_none_is_explained(data: Path) -> None:
    result = process("break-even", "--from-ledger", "month", "--data", house(data, {"one": SCENARIO}))

    assert result.returncode == 1
    assert "30d" in result.stderr


def test_a_file_may_lean_on_the_pack_for_what_it_does_not_state(data: Path, tmp_path: Path) -> None:
    house(data, {})
    path = tmp_path / "leaning.yaml"
    path.write_text(EIGHT_B200.replace("usd_per_gpu_hour: 7.49", "rent: {per_gpu_hour: 40, currency: BRL}"))

    without = process("break-even", "--scenario-file", path, "--data", data)
    (data / "pack" / "prices.yaml").write_text(
        "exchange_rates: [{currency: BRL, per_usd: 5, as_of: 2026-11-30, source: bank}]\n"
    )
    within = read("break-even", "--scenario-file", path, "--data", data)

    assert "leaning.yaml:1: hardware.rent: is in BRL, for which no exchange rate is known" in without.stderr
    assert within["hourly_usd"] == 64
    assert within["brl"]["hourly"] == 320


def test_a_deployment_that_there_is_not_is_found_when_the_pack_is_read(data: Path) -> None:
    house(data, {"one": {**SCENARIO, "hosted": {"deployment": "moonshot"}}})

    result = soleira("break-even", "--data", data)

    assert isinstance(result.exception, PackError)
    assert "scenarios.one.hosted.deployment: 'moonshot' is no deployment" in str(result.exception)
