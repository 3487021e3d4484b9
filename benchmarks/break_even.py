"""How long a break-even question takes, part by part and as a command: `python -m benchmarks.break_even`."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from gateway.economics.break_even import break_even
from gateway.economics.horizon import first_cheaper_month, savings
from gateway.economics.hybrid import hybrid
from gateway.economics.scenario import (
    DAYS_A_MONTH,
    HOURS_A_MONTH,
    MILLION,
    Capacity,
    Cost,
    Hosted,
    LanePrice,
    Mix,
    Owned,
    Purchase,
    Range,
    Scenario,
    Traffic,
    VolumeTier,
)
from gateway.economics.sensitivity import DRAWS, monte_carlo, tornado

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.economics.sensitivity import Input

RANGES: dict[Input, Range] = {
    "usd_per_gpu_hour": Range(Fraction("3.48"), Fraction("7.34"), Fraction("14.04")),
    "price_factor": Range(Fraction("0.6"), Fraction(1), Fraction(1)),
    "output_share": Range(Fraction("0.1"), Fraction("0.25"), Fraction("0.5")),
    "cached_share": Range(Fraction(0), Fraction("0.5"), Fraction("0.95")),
    "staff_usd_per_month": Range(Fraction(0), Fraction(7_500), Fraction(20_000)),
    "peak_to_mean": Range(Fraction("1.5"), Fraction(2), Fraction(4)),
    "decode_tps": Range(Fraction(2_067), Fraction(5_075), Fraction(6_000)),
}
VOLUME = 120 * MILLION * DAYS_A_MONTH
_PRICE = LanePrice(Fraction(3), Fraction(15), Fraction("0.30"), Fraction(3), Fraction(3))
_RENTED = Owned((Cost("rent", 8 * Fraction("7.34") * HOURS_A_MONTH),), 8, Fraction("7.34"), spares=1)
_BOUGHT = replace(
    _RENTED, costs=(Cost("energy", Fraction(1_500)),), purchase=Purchase(Fraction(450_000), 36, Fraction(90_000))
)
_TRAFFIC = Traffic(
    Mix.of(Fraction(3), Fraction(1), Fraction("0.4")), VOLUME, Fraction(2), growth_per_month=Fraction("0.04")
)
PLAIN = Scenario(_TRAFFIC, Hosted(_PRICE), _RENTED)
"""Arithmetic alone."""
STAIRS = replace(PLAIN, capacity=Capacity(Fraction(21_672), Fraction("5075.1")))
TIERED = replace(
    STAIRS,
    hosted=Hosted(
        _PRICE,
        tiers=tuple(
            VolumeTier(Fraction(at) * MILLION, Fraction(10 - at // 5_000, 10)) for at in (5_000, 10_000, 20_000)
        ),
        decline_per_year=Fraction("0.30"),
        retry_overhead=Fraction("0.02"),
        minimum_usd=Fraction(10_000),
    ),
)


def main() -> None:
    """Ask each question often, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=40, help="how often each question is asked, at least 2")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--commands", type=int, default=5, help="how often the command is started; 0: never")
    chosen = parser.parse_args()
    table = Table("what", "p50 ms", "p95 ms", title="One break-even question")
    for name, ask in questions(chosen.draws).items():
        table.add_row(name, *timed(ask, max(2, chosen.times)))
    if chosen.commands:
        table.add_row("soleira break-even --scenario-file", *command(max(2, chosen.commands)))
    Console().print(table)


def questions(draws: int) -> dict[str, Callable[[], object]]:
    """What an answer is made of."""
    seen = replace(STAIRS, traffic=replace(_TRAFFIC, shape=_hours(30 * 24)))
    bought = replace(TIERED, owned=_BOUGHT)
    return {
        "break-even, arithmetic alone": lambda: break_even(PLAIN),
        "break-even over replicas": lambda: break_even(STAIRS),
        "break-even with tiers and a least bill": lambda: break_even(TIERED),
        "hybrid from the peak alone": lambda: hybrid(STAIRS, VOLUME),
        "hybrid from the hours of 30 days": lambda: hybrid(seen, VOLUME),
        "the first cheaper month of 120": lambda: first_cheaper_month(TIERED, VOLUME / 10),
        "savings of 36 months": lambda: savings(bought, VOLUME, 36),
        f"tornado of {len(RANGES)} inputs": lambda: tornado(STAIRS, RANGES),
        f"{draws:,} draws, arithmetic alone": lambda: monte_carlo(PLAIN, RANGES, draws),
        f"{draws:,} draws over replicas": lambda: monte_carlo(STAIRS, RANGES, draws),
        f"{draws:,} draws with tiers and a least bill": lambda: monte_carlo(TIERED, RANGES, draws),
    }


def timed(ask: Callable[[], object], times: int) -> tuple[str, str]:
    """The median and the 95th percentile, in milliseconds."""
    seconds = []
    for _ in range(times):
        began = perf_counter()
        ask()
        seconds.append(perf_counter() - began)
    cuts = quantiles(seconds, n=100, method="inclusive")
    return f"{cuts[49] * 1000:.2f}", f"{cuts[94] * 1000:.2f}"


def command(times: int) -> tuple[str, str]:
    """The whole of it, from its start, on a scenario in a file."""
    scenario = {
        "hardware": {"gpu": "b300", "count": 8, "usd_per_gpu_hour": 7.34},
        "hosted": {"currency": "USD", "per_million": {"input": 3.00, "cached": 0.30, "output": 15.00}},
        "traffic": {"mix": {"input": 3, "output": 1}, "cached_share": 0.4, "peak_to_mean": 2.0},
        "capacity": {"prefill_tps": 21672, "decode_tps": 5075.1, "utilisation": 0.75},
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_text(json.dumps(scenario))
        asked = [sys.executable, "-m", "gateway.cli", "break-even", "--scenario-file", str(file), "--json"]
        return timed(lambda: subprocess.run(asked, check=True, stdout=subprocess.DEVNULL), times)


def _hours(number: int) -> tuple[Fraction, ...]:
    """Loads of hours, busier by day, over their mean."""
    chance = random.Random(1)
    loads = [Fraction(chance.randint(1, 20) + 30 * (8 <= hour % 24 < 20)) for hour in range(number)]
    mean = sum(loads, Fraction(0)) / number
    return tuple(load / mean for load in loads)


if __name__ == "__main__":
    main()
