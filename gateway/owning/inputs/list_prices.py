"""What makers of open models list for them, by the bundled price list."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from policies.price_map import bundled

_MAKERS = ("moonshot", "deepseek", "dashscope", "zai")
"""Who sell what they made: as the price list calls them."""


@cache
def listed(model: str) -> tuple[Fraction, Fraction] | None:
    """Dollars of a million tokens of input and of output at the model's own maker; None: it lists none."""
    prices = bundled()
    for maker in _MAKERS:
        row = prices.row(f"{maker}/{model}")
        lanes = None if row is None else row.price.per_million
        if lanes is not None and lanes.output is not None:
            return Fraction(lanes.input), Fraction(lanes.output)
    return None
