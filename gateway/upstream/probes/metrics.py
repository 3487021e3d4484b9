"""Reads the few figures that are wanted out of an engine's `/metrics`, in Prometheus' text format."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.samples import Sample

_MOST_LINES = 10_000
"""More than any server has of the few that are wanted; a hostile one has millions."""
_RANKS = frozenset({"tp_rank", "pp_rank", "moe_ep_rank", "pid"})
"""Labels of processes that share one queue, each of which may tell of all of it."""


class Figures:
    """The samples of some metrics. A name that is not there is None."""

    def __init__(self, exposition: str, names: Iterable[str]) -> None:
        # Thousands of lines are histograms: parsing them all would hold up the loop at every look.
        wanted = tuple(names)
        lines = [line for line in exposition.splitlines() if line.startswith(wanted)]
        self._samples = _parse(lines[:_MOST_LINES])

    def total(self, *names: str) -> float | None:
        """The sum over the parts of a server, of the first of these names that is there."""
        for name in names:
            parts: dict[frozenset[tuple[str, str]], float] = {}
            for sample in self._named(name):
                key = frozenset((label, value) for label, value in sample.labels.items() if label not in _RANKS)
                parts[key] = max(parts.get(key, 0.0), sample.value)
            if parts:
                return sum(parts.values())
        return None

    def count(self, *names: str) -> int | None:
        """The same as a whole number."""
        total = self.total(*names)
        return None if total is None else round(total)

    def highest(self, *names: str) -> float | None:
        """The fullest part's value, of the first of these names that is there."""
        found = (max((sample.value for sample in self._named(name)), default=None) for name in names)
        return next((value for value in found if value is not None), None)

    def share(self, part: str, whole: str) -> float | None:
        """One counter as a share of another; None while nothing was counted."""
        some, all_of_it = self.total(part), self.total(whole)
        return min(some / all_of_it, 1.0) if some is not None and all_of_it else None

    def _named(self, name: str) -> list[Sample]:
        return [sample for sample in self._samples if sample.name == name]


def _parse(lines: list[str]) -> list[Sample]:
    samples: list[Sample] = []
    for line in lines:
        try:
            families = list(text_string_to_metric_families(line + "\n"))
        except ValueError:
            continue
        samples += (sample for family in families for sample in family.samples if math.isfinite(sample.value))
    return samples
