"""Scenarios as people write them: what is read, and what is refused with line, key and what to do."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import get_args

import pytest
from pydantic import ValidationError

import policies
from gateway.economics.sensitivity import INPUTS
from policies.faults import problems_of
from policies.load import load_pack
from policies.machines import BreakEvenFile, scenario_problems
from policies.problems import PackError
from policies.scenario_file import ScenarioFile, read_scenarios
from policies.scenarios import RangedInput, ScenarioEntry
from policies.source import read_source

PACKS = Path(policies.__file__).parent / "packs"

LEAST = """\
hardware: {gpu: b300, count: 8, usd_per_gpu_hour: 7.34}
hosted: {currency: USD, per_million: {input: 3.00, output: 15.00}}
"""


def read(text: str) -> ScenarioEntry:
    [entry] = read_scenarios("case.yaml", text.encode()).scenarios.values()
    return entry


def problems(text: str, rates: tuple[str, ...] = ()) -> list[str]:
    try:
        read_scenarios("case.yaml", text.encode()).check(rates, {})
    except PackError as error:
        return [str(problem) for problem in error.problems]
    return []


def test_hardware_and_a_host_are_enough() -> None:
    entry = read(LEAST)

    assert (entry.model, entry.quant) == ("kimi-k3", "native")
    assert entry.hosted.per_million is not None
    assert entry.hosted.per_million.cached is None
    assert entry.traffic.peak_to_mean is None
    assert entry.capacity is None
    assert not entry.states_no_capacity


def test_prices_stay_exact() -> None:
    assert read(LEAST).hardware.usd_per_gpu_hour == Decimal("7.34")


@pytest.mark.parametrize(("written", "meant"), [("8%", Fraction(2, 25)), ("0.08", Fraction(2, 25)), ("0", Fraction(0))])
def test_a_share_may_be_a_percentage(written: str, meant: Fraction) -> None:
    entry = read(f"{LEAST}traffic: {{growth_per_month: {written}, cached_share: {written}}}\n")

    assert (entry.traffic.growth_per_month, entry.traffic.cached_share) == (meant, meant)


def test_a_volume_may_shrink() -> None:
    assert read(f"{LEAST}traffic: {{growth_per_month: -2%}}\n").traffic.growth_per_month == Fraction(-1, 50)


def test_the_ledger_may_be_the_whole_of_the_traffic() -> None:
    entry = read(f"{LEAST}traffic: ledger\n")

    assert entry.traffic.from_ledger == 30
    assert read(f"{LEAST}traffic: {{from_ledger: 8w}}\n").traffic.from_ledger == 56


def test_no_capacity_may_be_said_outright() -> None:
    entry = read(f"{LEAST}capacity: none\n")

    assert entry.capacity is None
    assert entry.states_no_capacity


def test_a_mere_number_is_dollars() -> None:
    entry = read(f"{LEAST}software_per_month: 500\nsetup: {{amount: 20000, currency: USD}}\n")

    assert entry.software_per_month is not None
    assert (entry.software_per_month.amount, entry.software_per_month.currency) == (Decimal(500), "USD")


def test_hours_of_a_tariff_may_lie_over_midnight() -> None:
    entry = read(
        LEAST
        + "site: {currency: USD, kw: 1, tariff_per_kwh: 0.12, hours: [{from: 22, until: 5, tariff_per_kwh: 0.08}]}\n"
    )

    assert entry.site is not None
    assert entry.site.hours[0].hours == (22, 23, 0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "hardware: {gpu: b300, cuont: 8, count: 8, usd_per_gpu_hour: 7.34}\n" + LEAST.splitlines()[1],
            "case.yaml:1: hardware.cuont: is unknown; did you mean 'count'?",
        ),
        ("hardware: {gpu: b300, count: 8}\n" + LEAST.splitlines()[1], "it has none"),
        (
            "hardware: {gpu: b300, count: 8, usd_per_gpu_hour: 7, rent_from: flatkey}\n" + LEAST.splitlines()[1],
            "it has usd_per_gpu_hour and rent_from",
        ),
        (LEAST.splitlines()[0], "case.yaml:1: hosted: is missing"),
        (LEAST + "traffic: {cached_share: 80}", "case.yaml:3: traffic.cached_share: should be a share from 0 to 1"),
        (LEAST + "traffic: {peak_to_mean: 0.5}", "traffic.peak_to_mean: should be 1 or more"),
        (LEAST + "traffic: {hours: [1, 2]}", "traffic.hours: should have 24 numbers"),
        (LEAST + "traffic: {mix: {input: 0, output: 0}}", "traffic.mix: should have tokens, in or out"),
        (LEAST + "traffic: {tokens_per_day: 1, tokens_per_month: 2}", "either tokens_per_month or tokens_per_day"),
        (
            LEAST + "traffic: {from_ledger: month}",
            "traffic.from_ledger: should be a number of days or weeks, such as 30d or 8w",
        ),
        (LEAST + "traffic: {models: [kimi-k3]}", "names models, whose traffic only from_ledger looks up"),
        (
            LEAST
            + "site: {currency: USD, kw: 1, tariff_per_kwh: 0.1, hours: "
            + "[{from: 18, until: 21, tariff_per_kwh: 1}, {from: 20, until: 22, tariff_per_kwh: 2}]}",
            "site: has two tariffs for the hour from 20:00 on",
        ),
        (
            LEAST
            + "exchange_rates: [{currency: BRL, per_usd: 5, as_of: 2026-11-01, source: a}, "
            + "{currency: BRL, per_usd: 6, as_of: 2026-11-01, source: b}]",
            "exchange_rates: has a second rate of BRL as of 2026-11-01",
        ),
        (LEAST + "ranges: {cached_share: [0, 0.5, 1.5]}", "ranges: cached_share should be a share, from 0 to 1"),
        (LEAST + "ranges: {output_share: [0, 0.5, 1.1]}", "ranges: output_share should be a share, from 0 to 1"),
        (LEAST + "ranges: {peak_to_mean: [0.5, 1, 2]}", "ranges: peak_to_mean should be 1 or more"),
        (LEAST + "ranges: {decode_tps: [0, 1, 2]}", "ranges: decode_tps should be more than 0"),
        (LEAST + "capacity: {prefill_tps: 5}", "capacity: should name prefill_tps and decode_tps, or a profile"),
        (LEAST + "capacity: {prefill_tps: 5, decode_tps: 5, profile: x}", "should name either a profile, or"),
        (
            LEAST + "capacity: {prefill_tps: 5, decode_tps: 5, utilisation: 0}",
            "capacity.utilisation: should be more than 0",
        ),
        (LEAST + "slo: {ttft_ms: 2000}", "names an slo, which only a capacity with a profile can keep to"),
        (LEAST + "site: {currency: USD, tariff_per_kwh: 0.12}", "site: should name kw"),
        (LEAST + "site: {currency: USD, kw: 3}", "site: names kw and no price of it"),
        (LEAST + "site: {currency: USD, kw: 3, pue: 0.9, tariff_per_kwh: 1}", "site.pue: should be 1 or more"),
        (LEAST + "taxes: {rents: 1.1}", "taxes.rents: 'rents' is unknown; did you mean 'rent'?"),
        (LEAST + "ranges: {decode_tps: [1, 2]}", "should be three numbers, [low, most likely, high]; it has 2"),
        (LEAST + "ranges: {decode_tps: [3, 2, 1]}", "ranges.decode_tps: should rise"),
        (
            LEAST + "discount_per_year: 12",
            "discount_per_year: should be a share from 0 to 1, or a percentage such as 8%",
        ),
        ("", "case.yaml: has no scenario: add one under `scenarios`"),
        ("scenarios: {}", "has no scenario: add one under `scenarios`"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(text: str, problem: str) -> None:
    assert any(problem in found for found in problems(text)), problems(text)


@pytest.mark.parametrize(
    ("hosted", "problem"),
    [
        ("{per_million: {input: 3, output: 15}}", "hosted: should name the currency of its prices"),
        ("{currency: USD}", "hosted: should name either deployment, or currency and per_million"),
        ("{deployment: a, multiplier: 0.6}", "has its currency and multiplier from the deployment"),
        ("{deployment: a, decline_per_year: 100%}", "hosted.decline_per_year: should be less than 1"),
        (
            "{currency: USD, per_million: {input: 3, output: 15}, tiers: [{above_million_tokens: 2, factor: 0.9}, "
            "{above_million_tokens: 1, factor: 0.8}]}",
            "should have its tiers in rising order",
        ),
    ],
)
def test_a_host_s_terms_belong_together(hosted: str, problem: str) -> None:
    text = f"{LEAST.splitlines()[0]}\nhosted: {hosted}\n"

    assert any(problem in found for found in problems(text)), problems(text)


def test_every_amount_needs_a_rate_of_exchange() -> None:
    text = """\
hardware: {gpu: b300, count: 8, capex: {amount: 2000000, currency: BRL, life_months: 36}}
hosted: {currency: CNY, per_million: {input: 20, output: 100}, minimum_per_month: {amount: 100, currency: EUR}}
staff: {hours_per_month: 10, rate: 90, currency: BRL}
"""

    assert [found.split(": ")[1] for found in problems(text)] == [
        "hardware.capex",
        "hosted.currency",
        "hosted.minimum_per_month",
        "staff",
    ]
    assert [found.split(": ")[1] for found in problems(text, rates=("BRL", "EUR"))] == ["hosted.currency"]
    assert (
        problems(
            f"{text}exchange_rates: [{{currency: BRL, per_usd: 5.5, as_of: 2026-11-30, source: bank}}]\n",
            ("CNY", "EUR"),
        )
        == []
    )


def test_a_file_may_hold_several_and_machines_beside_them() -> None:
    file = read_scenarios(
        "break_even.yaml",
        b"""\
machines:
  node:
    marginal: {currency: USD, per_million: {input: 0.03, output: 0.12}}
    rent: {per_hour: 58.72, currency: USD}
scenarios:
  one:
    hardware: {gpu: b300, count: 8, machine: node}
    hosted: {currency: USD, per_million: {input: 3.00, output: 15.00}}
  two:
    hardware: {gpu: b300, count: 8, machine: nodes}
    hosted: {currency: USD, per_million: {input: 3.00, output: 15.00}}
""",
    )

    assert list(file.scenarios) == ["one", "two"]
    with pytest.raises(
        PackError, match=r"break_even.yaml:10: scenarios.two.hardware.machine: 'nodes' .* mean 'node'\?"
    ):
        file.check((), {})


def test_a_file_of_one_is_called_as_the_file_is() -> None:
    file = read_scenarios("folder/at-home.yaml", LEAST.encode())

    assert isinstance(file, ScenarioFile)
    assert list(file.scenarios) == ["at-home"]


def test_a_pack_s_scenarios_name_deployments_and_machines_that_there_are() -> None:
    source = read_source(
        "break_even.yaml",
        b"""\
scenarios:
  one:
    hardware: {gpu: b300, count: 8, machine: k3}
    hosted: {deployment: moonshot-k}
""",
    )
    file = BreakEvenFile.model_validate(source.tree)

    found = [str(problem) for problem in scenario_problems(source, file, ["moonshot-k3"], [])]

    assert found == [
        "break_even.yaml:3: scenarios.one.hardware.machine: 'k3' is no machine of this file",
        "break_even.yaml:4: scenarios.one.hosted.deployment: 'moonshot-k' is no deployment; "
        "did you mean 'moonshot-k3'?",
    ]


@pytest.mark.parametrize("name", ["home", "office", "k3-cluster"])
def test_a_scenario_in_a_pack_is_loaded_with_it(name: str, tmp_path: Path) -> None:
    for file in (PACKS / name).glob("*.yaml"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "break_even.yaml").write_text(
        (PACKS / name / "break_even.yaml").read_text().split("\nscenarios:")[0]
        + "\nscenarios:\n  mine:\n"
        + "".join(f"    {line}\n" for line in LEAST.splitlines())
    )

    pack = load_pack(tmp_path)

    assert pack.scenarios["mine"].hardware.gpu == "b300"


def test_what_may_be_uncertain_is_what_the_arithmetic_draws() -> None:
    assert get_args(RangedInput) == INPUTS


def test_days_are_kept() -> None:
    entry = read(LEAST.replace("7.34}", "7.34, source: index, as_of: 2026-10-24}"))

    assert (entry.hardware.source, entry.hardware.as_of) == ("index", date(2026, 10, 24))


def test_a_share_refuses_what_is_no_number() -> None:
    source = read_source("x.yaml", f"{LEAST}traffic: {{forced_share: some}}".encode())

    with pytest.raises(ValidationError) as caught:
        ScenarioEntry.model_validate(source.tree)

    [problem] = problems_of(source, ScenarioEntry, caught.value)
    assert "should be a number such as 0.08, or a percentage such as 8%" in str(problem)
