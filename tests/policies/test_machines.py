"""Machines in break_even.yaml: what is taken, and what is refused with the line and what to do."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

import policies
from policies.faults import problems_of
from policies.load import load_pack
from policies.machines import BreakEvenFile, Machine, currency_problems
from policies.source import read_source
from tests.policies.conftest import Refused

PACKS = Path(policies.__file__).parent / "packs"

MARGINAL = """\
machines:
  node:
    marginal: {currency: USD, per_million: {input: 0.03, output: 0.12}}
"""


def read(text: str) -> Machine:
    return BreakEvenFile.model_validate(read_source("break_even.yaml", (MARGINAL + text).encode()).tree).machines[
        "node"
    ]


def wrong(text: str) -> list[str]:
    source = read_source("break_even.yaml", (MARGINAL + text).encode())
    try:
        file = BreakEvenFile.model_validate(source.tree)
    except ValidationError as error:
        return [str(problem) for problem in problems_of(source, BreakEvenFile, error)]
    return [str(problem) for problem in currency_problems(source, file, ["EUR"])]


def test_a_machine_may_say_all_that_it_costs() -> None:
    machine = read(
        """\
    count: 3
    slots: 64
    capex: {amount: 2400000, currency: USD, life_months: 36, residual: 20%, from: 2026-09-01}
    rent: {per_hour: 58.72, currency: USD}
    energy:
      - {kw: 44.8, pue: 1.4, tariff_per_kwh: 0.92, currency: BRL, until: 2026-10-31}
      - tariff_per_kwh: 1.01
        currency: BRL
        from: 2026-11-01
        prometheus: {url: "http://192.168.1.5:9090", query: 'sum(shelly_power_watts{room="rack"})'}
    staff: {hours_per_month: 80, rate: 93.75, currency: USD}
"""
    )

    assert machine.has_costs
    assert machine.capex is not None
    assert machine.capex[0].written_off == Decimal(1_920_000)
    assert machine.energy is not None
    assert [energy.tariff_per_kwh for energy in machine.energy] == [Decimal("0.92"), Decimal("1.01")]
    assert machine.energy[0].until == date(2026, 10, 31)


def test_a_machine_may_say_its_marginal_price_alone() -> None:
    machine = read("")

    assert not machine.has_costs
    assert machine.count == 1


def test_what_is_left_may_be_an_amount() -> None:
    machine = read("    capex: {amount: 2400000, currency: USD, life_months: 36, residual: 480000, from: 2026-09-01}\n")

    assert machine.capex is not None
    assert machine.capex[0].written_off == Decimal(1_920_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("    capex: {amount: 1, currency: USD, life_months: 36}\n", "capex.from: is missing"),
        ("    capex: {amount: 5, currency: USD, life_months: 0, from: 2026-01-01}\n", "life_months"),
        ("    capex: {amount: 5, currency: USD, life_months: 9, residual: 6, from: 2026-01-01}\n", "more than the 5"),
        ("    capex: {amount: 5, currency: USD, life_months: 9, residual: 120%, from: 2026-01-01}\n", "such as 20%"),
        ("    capex: {amount: 5, currency: USD, life_months: 9, residual: half, from: 2026-01-01}\n", "such as 480000"),
        ("    capex: {amount: 5, life_months: 9, from: 2026-01-01}\n", "capex.currency: is missing"),
        ("    capex: {amount: 0, currency: USD, life_months: 9, from: 2026-01-01}\n", "should be more than 0"),
        ("    rent: {currency: USD}\n", "either per_hour or per_month"),
        ("    rent: {per_hour: 1, per_month: 2, currency: USD}\n", "either per_hour or per_month"),
        ("    rent: {per_our: 1, currency: USD}\n", "did you mean 'per_hour'?"),
        ("    rent: {per_hour: 1, currency: USD, from: 2026-02-01, until: 2026-01-01}\n", "before it begins"),
        ("    energy: {tariff_per_kwh: 1, currency: USD}\n", "kw, prometheus, or `import: true`"),
        ("    energy: {tariff_per_kwh: 1, currency: USD, kw: 1, pue: 0.9}\n", "should be 1 or more"),
        (
            "    energy: [{tariff_per_kwh: 1, currency: USD, kw: 1}, {tariff_per_kwh: 2, currency: USD, kw: 1}]\n",
            "two entries for",
        ),
        ("    energy: {tariff_per_kwh: 1, currency: BRL, kw: 1}\n", "energy: is in BRL, for which no exchange"),
        ("    staff: {hours_per_month: 10, currency: USD}\n", "staff.rate: is missing"),
        ("    watts: 3\n", "is unknown"),
    ],
)  # fmt: skip
def test_what_makes_no_cost_is_refused_with_its_place(text: str, said: str) -> None:
    (problem,) = wrong(text)

    assert said in problem
    assert problem.startswith("break_even.yaml:4: machines.node")


@pytest.mark.parametrize(
    ("url", "is_taken"),
    [
        ("http://127.0.0.1:9090", True),
        ("http://192.168.1.5:9090/", True),
        ("https://prometheus.lan", True),
        ("http://100.64.0.3:9090", True),
        ("http://8.8.8.8:9090", False),
        ("http://169.254.169.254", False),
        ("http://user:word@192.168.1.5", False),
        ("ftp://192.168.1.5", False),
        ("192.168.1.5:9090", False),
        ("http://192.168.1.5:9090/?x=1", False),
    ],
)
def test_meters_are_asked_in_the_house_alone(url: str, is_taken: bool) -> None:
    text = f'    energy: {{tariff_per_kwh: 1, currency: USD, prometheus: {{url: "{url}", query: power}}}}\n'

    assert (wrong(text) == []) is is_taken


@pytest.mark.parametrize("name", ["home", "office", "k3-cluster"])
def test_the_costs_that_stand_ready_in_a_shipped_pack_are_correct(name: str) -> None:
    text = (PACKS / name / "break_even.yaml").read_text()
    ready = "machines|scenarios|our-k3| .*|capex|energy|staff|rent|count|slots"
    taken_in = re.sub(rf"(?m)^( *)# ((?:{ready}):?)", r"\1\2", text)

    file = BreakEvenFile.model_validate(read_source("break_even.yaml", taken_in.encode()).tree)

    assert any(machine.has_costs for machine in file.machines.values())
    assert any(entry.traffic.from_ledger for entry in file.scenarios.values())


def test_a_shipped_pack_claims_no_costs_that_are_not_its_reader_s() -> None:
    for folder in PACKS.glob("*/rules.yaml"):
        pack = load_pack(folder.parent)
        assert not any(machine.has_costs for machine in pack.machines.values())


def test_a_pack_with_a_cost_in_an_unknown_currency_does_not_load(refused: Refused) -> None:
    problems = refused(break_even=MARGINAL + "    rent: {per_month: 500, currency: BRL}\n")

    assert [problem.key for problem in problems] == ["machines.node.rent"]
