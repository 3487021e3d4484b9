"""Figures with where they come from: none is shown without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date
    from fractions import Fraction

    from gateway.owning.questions import Override

From = Literal["stated", "ledger", "measured", "detected", "published", "bundled", "default", "overridden"]
"""`stated` in the scenario; `ledger`: the house's own traffic; `measured` by `soleira measure`; `detected` on this
machine, by its own tools; `published` by somebody; `bundled` with Soleira; `default`: nobody said; `overridden` for
this look alone."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One input with its source."""

    name: str
    """As people write it in a scenario: `traffic.peak_to_mean`."""
    value: Fraction | str
    unit: str
    """`USD/GPU-h`, `USD/M tokens`, `share`, `tokens/month`, ..."""
    origin: From
    source: str
    as_of: date | None
    """None only for what is stated without a day, or a default."""

    def age_days(self, today: date) -> int | None:
        """How old it is; None: nobody says, or it is of a day that has not come yet."""
        return None if self.as_of is None or self.as_of > today else (today - self.as_of).days


def as_dict(figure: Figure, today: date, write: Callable[[Fraction], float]) -> dict[str, Any]:
    """As `--json` prints it."""
    return {
        "name": figure.name,
        "value": figure.value if isinstance(figure.value, str) else write(figure.value),
        "unit": figure.unit,
        "origin": figure.origin,
        "source": figure.source,
        "as_of": None if figure.as_of is None else figure.as_of.isoformat(),
        "age_days": figure.age_days(today),
    }


OF_OVERRIDE: dict[Override, str] = {
    "usd_per_gpu_hour": "hardware.usd_per_gpu_hour",
    "replicas": "hardware.replicas",
    "staff_usd_per_month": "staff.usd_per_month",
    "input": "hosted.input",
    "cached": "hosted.cached",
    "output": "hosted.output",
    "decline_per_year": "hosted.decline_per_year",
    "tokens_per_day": "traffic.tokens_per_month",
    "output_share": "traffic.output_share",
    "cached_share": "traffic.cached_share",
    "peak_to_mean": "traffic.peak_to_mean",
    "growth_per_month": "traffic.growth_per_month",
    "forced_share": "traffic.forced_share",
    "prefill_tps": "capacity.prefill_tps",
    "decode_tps": "capacity.decode_tps",
    "utilisation": "capacity.utilisation",
}
"""The figure that an override replaces."""
