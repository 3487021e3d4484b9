"""A file with one scenario at its top, or with several under `scenarios`, outside of any pack."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from policies.faults import checked
from policies.machines import BreakEvenFile, Machine
from policies.problems import PackError, closest
from policies.scenarios import RentRow, ScenarioEntry, rate_problems
from policies.source import read_source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from policies.problems import Problem
    from policies.source import Path, Source


@dataclass(frozen=True)
class ScenarioFile:
    """What a file holds: one at its top is called as the file is."""

    source: Source
    scenarios: Mapping[str, ScenarioEntry]
    machines: Mapping[str, Machine]
    """Those that stand beside the scenarios."""
    is_single: bool
    rents: tuple[RentRow, ...] = ()
    """The same."""

    def check(self, rates: Collection[str], machines: Mapping[str, Machine]) -> None:
        """PackError for currencies without a rate and machines that neither the file nor the pack in use has."""
        known = {**machines, **self.machines}
        problems = [problem for name in self.scenarios for problem in self._problems(name, rates, known)]
        if problems:
            raise PackError(problems)

    def _problems(self, name: str, rates: Collection[str], machines: Mapping[str, Machine]) -> Iterator[Problem]:
        entry, path = self.scenarios[name], self._path(name)
        yield from rate_problems(self.source, path, entry, rates)
        named = entry.hardware.machine
        if named is not None and named not in machines:
            message = f"{named!r} is a machine neither of this file nor of the pack"
            yield self.source.problem((*path, "hardware", "machine"), message, closest(named, machines))

    def _path(self, name: str) -> Path:
        return () if self.is_single else ("scenarios", name)


def read_scenarios(file: str, data: bytes) -> ScenarioFile:
    """Read a file; PackError with line and key for all that is wrong with its shape."""
    source = read_source(file, data)
    if isinstance(source.tree, dict) and not source.tree.keys() & {"scenarios", "machines", "rents"}:
        name = PurePath(file).stem
        return ScenarioFile(source, {name: checked(source, ScenarioEntry, source.tree)}, {}, is_single=True)
    whole = checked(source, BreakEvenFile, {} if source.tree is None else source.tree)
    if not whole.scenarios:
        raise PackError([source.problem((), "has no scenario: add one under `scenarios`")])
    return ScenarioFile(source, whole.scenarios, whole.machines, is_single=False, rents=whole.rents)
