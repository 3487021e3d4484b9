"""Kimi K3 as the tests ask about it: hosted prices, rented machines, and what 8 B300 were seen to carry."""

from __future__ import annotations

from fractions import Fraction

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
    Scenario,
    Traffic,
)

THREE_TO_ONE = Mix.of(Fraction(3), Fraction(1))
EIGHT_TO_ONE = Mix.of(Fraction(8), Fraction(1))
DSPARK = Capacity(Fraction(21672), Fraction("5075.1"))
"""8 B300, 64 at once, with drafts (SGLang pull request 37878, 3 September 2026), as the figures are handed on."""


def seen(tokens_a_second: int) -> Capacity:
    """From what 8 B300 carried of requests with 8,192 tokens in and 1,024 out.

    They read at 8,192 tokens in 378 ms, which is the first token of one request alone; what reading leaves of the time
    goes into writing.
    """
    prefill, output = Fraction(8192) / Fraction("0.378"), Fraction(tokens_a_second, 9)
    return Capacity(prefill, output / (1 - 8 * output / prefill))


NO_DRAFTS = seen(11_160)
"""64 at once, of the same source."""
DSPARK_16 = seen(10_552)
"""16 at once, with drafts."""


def host(fresh: str, cached: str, output: str) -> Hosted:
    """A price list without a fee for what is written to a cache."""
    read = Fraction(fresh)
    return Hosted(LanePrice(read, Fraction(output), Fraction(cached), cache_write_5m=read, cache_write_1h=read))


MOONSHOT = host("3.00", "0.30", "15.00")
FLATKEY = host("1.80", "0.18", "9.00")
PRO = host("2.00", "0.20", "10.00")


def rented(gpus: int, usd_per_gpu_hour: str, *further: Cost, least_replicas: int = 1, spares: int = 0) -> Owned:
    """Machines by the hour, for all hours of the month."""
    rate = Fraction(usd_per_gpu_hour)
    rent = Cost("rent", gpus * rate * HOURS_A_MONTH)
    return Owned((rent, *further), gpus, rate, least_replicas=least_replicas, spares=spares)


B200 = rented(8, "7.49")
B300 = rented(8, "7.34")


def asked(
    owned: Owned = B300,
    hosted: Hosted = FLATKEY,
    mix: Mix = THREE_TO_ONE,
    capacity: Capacity | None = None,
    peak_to_mean: str = "1",
) -> Scenario:
    """A scenario of these parts; without capacity it is arithmetic alone."""
    return Scenario(Traffic(mix, peak_to_mean=Fraction(peak_to_mean)), hosted, owned, capacity)


def millions(tokens: Fraction | None) -> float:
    """Of tokens of a month, to be compared."""
    assert tokens is not None
    return float(tokens / MILLION)


def millions_a_day(tokens: Fraction | None) -> float:
    """Of a day, from tokens of a month of 730 hours."""
    assert tokens is not None
    return millions(tokens / DAYS_A_MONTH)
