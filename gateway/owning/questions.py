"""What is asked: a scenario, and figures that are changed for one look."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from gateway.errors import BadRequest
from policies.amounts import fraction
from policies.problems import closest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from policies.machines import Machine
    from policies.scenarios import RentRow, ScenarioEntry

Override = Literal[
    "usd_per_gpu_hour",
    "replicas",
    "staff_usd_per_month",
    "input",
    "cached",
    "output",
    "decline_per_year",
    "tokens_per_day",
    "output_share",
    "cached_share",
    "peak_to_mean",
    "growth_per_month",
    "forced_share",
    "prefill_tps",
    "decode_tps",
    "utilisation",
]
"""The inputs that can be changed for one look, in the order in which they are shown."""

_MUCH = Fraction(10**15 - 1)


@dataclass(frozen=True, slots=True)
class Limits:
    """In what an input is measured, and from where to where it makes sense."""

    unit: str
    """As `Figure.unit` has it."""
    least: Fraction
    most: Fraction
    is_whole: bool = False


OVERRIDES: dict[Override, Limits] = {
    "usd_per_gpu_hour": Limits("USD/GPU-h", Fraction(1, 10_000), Fraction(10_000)),
    "replicas": Limits("replicas", Fraction(1), Fraction(10_000), is_whole=True),
    "staff_usd_per_month": Limits("USD/month", Fraction(0), Fraction(10**9)),
    "input": Limits("USD/M tokens", Fraction(0), Fraction(100_000)),
    "cached": Limits("USD/M tokens", Fraction(0), Fraction(100_000)),
    "output": Limits("USD/M tokens", Fraction(0), Fraction(100_000)),
    "decline_per_year": Limits("share", Fraction(0), Fraction(99, 100)),
    "tokens_per_day": Limits("tokens/day", Fraction(1), _MUCH),
    "output_share": Limits("share", Fraction(0), Fraction(1)),
    "cached_share": Limits("share", Fraction(0), Fraction(1)),
    "peak_to_mean": Limits("x", Fraction(1), Fraction(1000)),
    "growth_per_month": Limits("share", Fraction(-99, 100), Fraction(10)),
    "forced_share": Limits("share", Fraction(0), Fraction(1)),
    "prefill_tps": Limits("tokens/s", Fraction(1, 1000), _MUCH),
    "decode_tps": Limits("tokens/s", Fraction(1, 1000), _MUCH),
    "utilisation": Limits("share", Fraction(1, 100), Fraction(1)),
}


@dataclass(frozen=True, slots=True)
class Question:
    """One look at a scenario."""

    entry: ScenarioEntry
    name: str
    overrides: Mapping[Override, Fraction] = field(default_factory=dict)
    ledger_leads: bool = False
    """True: what the ledger saw goes before what the scenario states of its traffic; False: it only fills gaps."""
    machines: Mapping[str, Machine] = field(default_factory=dict)
    """Those that stand beside a scenario in a file of its own; the pack's are known as well."""
    rents: tuple[RentRow, ...] = ()
    """The same."""


def overrides_of(texts: Mapping[str, str]) -> dict[Override, Fraction]:
    """Read what people wrote (`2.5`, `8%`); empty texts are left out, BadRequest says what is wrong with another."""
    return {_known(name): _within(_known(name), text.strip()) for name, text in texts.items() if text.strip()}


def _known(name: str) -> Override:
    for override in OVERRIDES:
        if name == override:
            return override
    meant = closest(name, OVERRIDES)
    hint = f"did you mean {meant!r}?" if meant else f"use one of {', '.join(OVERRIDES)}"
    raise BadRequest(f"{name!r} is no input that can be changed: {hint}", param=name)


def _within(name: Override, text: str) -> Fraction:
    limits = OVERRIDES[name]
    if text.endswith("%") and limits.unit != "share":
        raise BadRequest(f"{name} is no share: {text!r} should be a number such as 2.5", param=name)
    try:
        value = fraction(text)
    except ValueError as error:
        problem = str(error) if limits.unit == "share" else "should be a number such as 2.5: digits, at most one point"
        raise BadRequest(f"{name} {problem}: {text!r}", param=name) from None
    if not limits.least <= value <= limits.most:
        raise BadRequest(f"{name} should be from {_written(limits.least)} to {_written(limits.most)}", param=name)
    if limits.is_whole and value.denominator != 1:
        raise BadRequest(f"{name} should be a whole number", param=name)
    return value


def _written(value: Fraction) -> str:
    return f"{float(value):,.4f}".rstrip("0").rstrip(".")
