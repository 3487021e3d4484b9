"""Traffic of tests: how much is asked for today, and how that goes on."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.economics.scenario import DAYS_A_MONTH, MILLION, ZERO

if TYPE_CHECKING:
    from gateway.economics.scenario import Scenario


def of_day(million_tokens: int | Fraction) -> Fraction:
    """A month's tokens, from millions of a day."""
    return million_tokens * MILLION * DAYS_A_MONTH


def growing(
    scenario: Scenario, tokens_per_month: Fraction, growth: Fraction = ZERO, peak: Fraction | None = None
) -> Scenario:
    """With so much traffic today."""
    traffic = replace(scenario.traffic, tokens_per_month=tokens_per_month, growth_per_month=growth)
    return replace(scenario, traffic=replace(traffic, peak_to_mean=peak or traffic.peak_to_mean))
