"""The tests that people write beside their rules, run against the pack they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from policies.decide import decide
from policies.signals import Signals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from policies.decide import Decision
    from policies.labels import Label
    from policies.pack import Pack, PackTest
    from policies.schema import Expect, Given


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one case of one test came to; `message` says what differs."""

    name: str
    passed: bool
    message: str
    line: int | None


def run_tests(pack: Pack) -> list[Outcome]:
    """Run every test of the pack, once for each of its labels and models."""
    return [outcome for test in pack.tests for outcome in _outcomes(pack, test)]


def _outcomes(pack: Pack, test: PackTest) -> Iterator[Outcome]:
    given = test.case.given
    labels = given.label or (pack.default_label,)
    several = len(labels) * len(given.model) > 1
    for label, model in product(labels, given.model):
        name = f"{test.case.name} [{label}, {model}]" if several else test.case.name
        differences = list(_differences(test.case.expect, decide(pack, _signals(given, label, model))))
        yield Outcome(name, not differences, "; ".join(differences), test.line)


def _signals(given: Given, label: Label, model: str) -> Signals:
    return Signals(
        label=label,
        model=model,
        principal=given.principal.name,
        groups=frozenset(given.principal.groups),
        collections=given.collections,
        language=given.language,
        size=given.size,
        needs=frozenset(given.needs),
        findings=frozenset(given.findings),
        hour=given.hour,
    )


def _differences(expect: Expect, decision: Decision) -> Iterator[str]:
    """Only what the test wrote is compared; zones and models in any order."""
    for key in sorted(expect.model_fields_set):
        wanted, got = _comparable(getattr(expect, key)), _comparable(getattr(decision, key))
        if wanted != got:
            yield f"{key} should be {_words(wanted)}, not {_words(got)}"


def _comparable(value: object) -> object:
    return sorted(value) if isinstance(value, tuple) else value


def _words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "none" if value is None else repr(value)
