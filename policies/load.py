"""Reading a pack: every file, every check, and all problems at once."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel

from policies import checks, pricing
from policies.budgets_file import BudgetsFile, budget_problems, budgets_of, subject_problems
from policies.conditions import compiled
from policies.faults import checked
from policies.labels import Label
from policies.machines import BreakEvenFile, currency_problems, scenario_problems
from policies.pack import CollectionSpec, Pack, PackTest, Rule
from policies.prices import PricesFile
from policies.pricing import Priced
from policies.problems import PackError, Problem
from policies.schema import CollectionsFile, DeploymentsFile, RouteEntry, RulesFile, RulesTestFile
from policies.source import Source, read_source
from policies.zones import Zone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date
    from decimal import Decimal
    from pathlib import Path

    from policies.budgets import Rates
    from policies.schema import RuleEntry
    from policies.source import Value

__all__ = ["FILES", "CollectionSpec", "Pack", "PackError", "Problem", "load_pack"]

REQUIRED = ("rules.yaml", "deployments.yaml")
FILES = (*REQUIRED, "rules_test.yaml", "collections.yaml", "prices.yaml", "break_even.yaml", "budgets.yaml")

_M = TypeVar("_M", bound=BaseModel)


def load_pack(folder: Path, models: Path | None = None) -> Pack:
    """Read and check the pack in a folder; PackError with all its problems. Its tests are not run here.

    `models` is where GGUF files lie that it names; None: they are not looked at.
    """
    contents, problems = _contents(folder)
    files = _Files(contents, problems)
    problems += [*_within_files(files), *_between_files(files)]
    if files.deployments is not None and models is not None:
        problems += checks.weights_problems(files.deployments.source, files.deployments.value, models)
    priced = _priced(files, problems)
    if problems or not (files.rules and files.deployments and files.collections and files.tests and files.budgets):
        raise PackError(sorted(problems, key=_position))
    rules, zones = files.rules.value, _zones(files.rules.value)
    return Pack(
        folder=folder,
        version=_version(contents),
        default_label=rules.default_label,
        unscannable=rules.unscannable,
        zones=zones,
        detectors=dict[str, Label](rules.detectors.items()),
        rules=_rules(files.rules),
        deployments=tuple(each.spec for each in priced),
        priced={each.spec.name: each for each in priced},
        collections=_collections(files.collections.value),
        machines=files.machines.value.machines if files.machines else {},
        scenarios=files.machines.value.scenarios if files.machines else {},
        rents=files.machines.value.rents if files.machines else (),
        loopback_zone=next(zone for zone in zones.values() if checks.on_this_machine(zone.addresses)),
        max_output=rules.max_output,
        keep_alive=rules.keep_alive,
        tests=_tests(files.tests),
        warnings=tuple(checks.pack_warnings(rules, files.deployments.value, len(files.tests.value.root))),
        budgets=budgets_of(files.budgets.value, _rates(files)),
        exchange_rates=files.prices.value.exchange_rates if files.prices else (),
        surcharges=files.prices.value.surcharges if files.prices else (),
    )


@dataclass(frozen=True)
class _Read(Generic[_M]):
    """A file whose shape is right."""

    source: Source
    value: _M


class _Files:
    """The files of a pack, None where the shape is wrong; what is wrong is added to `problems`."""

    def __init__(self, contents: Mapping[str, bytes], problems: list[Problem]) -> None:
        self._contents = contents
        self._problems = problems
        self.rules = self._read("rules.yaml", RulesFile)
        self.deployments = self._read("deployments.yaml", DeploymentsFile)
        self.tests = self._read("rules_test.yaml", RulesTestFile, empty=[])
        self.collections = self._read("collections.yaml", CollectionsFile)
        self.prices = self._read("prices.yaml", PricesFile)
        self.machines = self._read("break_even.yaml", BreakEvenFile)
        self.budgets = self._read("budgets.yaml", BudgetsFile)

    def _read(self, name: str, schema: type[_M], empty: Value = None) -> _Read[_M] | None:
        if name not in self._contents and name in REQUIRED:
            return None
        try:
            source = read_source(name, self._contents.get(name, b""))
            tree = source.tree if source.tree is not None else {} if empty is None else empty
            return _Read(source, checked(source, schema, tree))
        except PackError as error:
            self._problems += error.problems
            return None


def _contents(folder: Path) -> tuple[dict[str, bytes], list[Problem]]:
    """The bytes of the files that are there, and what cannot be read."""
    if not folder.is_dir():
        raise PackError([Problem(str(folder), None, "", "is no folder; a pack is a folder with rules.yaml in it")])
    contents: dict[str, bytes] = {}
    problems: list[Problem] = []
    for name in FILES:
        try:
            contents[name] = (folder / name).read_bytes()
        except FileNotFoundError:
            if name in REQUIRED:
                problems.append(Problem(name, None, "", f"is missing from {folder}"))
        except OSError as error:
            problems.append(Problem(name, None, "", f"cannot be read: {error.strerror}"))
    return contents, problems


def _within_files(files: _Files) -> Iterator[Problem]:
    """What is wrong within files whose shape is right."""
    if files.rules is not None:
        yield from checks.rules_problems(files.rules.source, files.rules.value)
    if files.deployments is not None:
        yield from checks.deployment_problems(files.deployments.source, files.deployments.value)
    if files.prices is not None:
        yield from pricing.price_problems(files.prices.source, files.prices.value)
    if files.budgets is not None and files.prices is not None:
        yield from budget_problems(files.budgets.source, files.budgets.value, _rates(files))


def _between_files(files: _Files) -> Iterator[Problem]:
    """What rules and deployments say of each other and is not so."""
    if files.rules is None or files.deployments is None:
        return
    rules, deployments = files.rules.value, files.deployments.value
    yield from checks.model_problems(files.rules.source, rules, deployments)
    yield from checks.place_problems(files.deployments.source, deployments, _zones(rules))
    if files.budgets is not None:
        models = {name: entry.model for entry in deployments.deployments for name in (entry.model, *entry.aliases)}
        yield from subject_problems(files.budgets.source, files.budgets.value, models, rules.zones)


def _priced(files: _Files, problems: list[Problem]) -> tuple[Priced, ...]:
    if files.deployments is None or files.prices is None or files.machines is None:
        return ()
    deployments, prices, machines = files.deployments, files.prices.value, files.machines
    problems += pricing.currency_problems(deployments.source, deployments.value, prices)
    problems += pricing.machine_problems(machines.source, machines.value, prices)
    known = [rate.currency for rate in prices.exchange_rates]
    names = [entry.name for entry in deployments.value.deployments]
    problems += currency_problems(machines.source, machines.value, known)
    problems += scenario_problems(machines.source, machines.value, names, known)
    if files.rules is not None:
        zones = _zones(files.rules.value)
        problems += pricing.surcharge_problems(files.prices.source, prices, deployments.value, zones)
    results = list(pricing.priced(deployments.source, deployments.value, prices, machines.value))
    problems += [result for result in results if isinstance(result, Problem)]
    return tuple(result for result in results if isinstance(result, Priced))


def _rates(files: _Files) -> Rates:
    """The owner's exchange rates by currency, oldest first."""
    rates: dict[str, tuple[tuple[date, Decimal], ...]] = {}
    listed = () if files.prices is None else files.prices.value.exchange_rates
    for entry in sorted(listed, key=lambda rate: rate.as_of):
        rates[entry.currency] = (*rates.get(entry.currency, ()), (entry.as_of, entry.per_usd))
    return rates


def _position(problem: Problem) -> tuple[int, int]:
    return FILES.index(problem.file) if problem.file in FILES else 0, problem.line or 0


def _version(contents: Mapping[str, bytes]) -> str:
    digest = sha256()
    for name, data in contents.items():
        digest.update(f"{name} {len(data)}\n".encode() + data)
    return digest.hexdigest()[:12]


def _zones(rules: RulesFile) -> dict[str, Zone]:
    return {
        name: Zone(name, entry.clearance, entry.addresses, entry.accept_redacted) for name, entry in rules.zones.items()
    }


def _rules(read: _Read[RulesFile]) -> tuple[Rule, ...]:
    return tuple(_rule(read.source.line(("rules", index)), entry) for index, entry in enumerate(read.value.rules))


def _rule(line: int | None, entry: RuleEntry) -> Rule:
    route = entry.route or RouteEntry()
    return Rule(
        name=entry.name,
        line=line,
        condition=compiled(entry.when),
        action=entry.action,
        zones=route.zones,
        models=route.models,
        at_least=route.at_least,
        prefer=route.prefer,
        spill_above=None if route.spill is None else route.spill.waiting_above,
        reason=entry.reason,
    )


def _collections(file: CollectionsFile) -> dict[str, CollectionSpec]:
    return {name: CollectionSpec(entry.label, frozenset(entry.readers)) for name, entry in file.collections.items()}


def _tests(read: _Read[RulesTestFile]) -> tuple[PackTest, ...]:
    return tuple(PackTest(read.source.line((index,)), case) for index, case in enumerate(read.value.root))
