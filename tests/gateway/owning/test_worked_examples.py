"""The claims in docs/break-even.md: what the document quotes is what the command says."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from gateway.cli import break_even_text
from gateway.owning.answers import answer
from gateway.owning.questions import OVERRIDES, Question
from gateway.settings import ROOT
from policies.scenario_file import read_scenarios
from policies.scenarios import HardwareEntry, HostedEntry, ScenarioEntry, SiteEntry, TrafficEntry

DOCUMENT = (ROOT / "docs" / "break-even.md").read_text()
QUOTED: list[tuple[str, list[str]]] = []
for _block in re.findall(r"```\n(\$ .*?)```", DOCUMENT, re.DOTALL):
    for _file, _said in re.findall(r"\$ \./soleira break-even --scenario-file (\S+)\n((?:(?!\$).*\n)*)", _block):
        QUOTED.append((_file, _said.splitlines()))


def page(file: Path) -> list[str]:
    """What the command prints of a file on a day after all its sources."""
    read = read_scenarios(str(file), file.read_bytes())
    [(name, entry)] = read.scenarios.items()
    found = answer(Question(entry, name), date(2026, 12, 1), None, None, {})
    return break_even_text.page(found).replace("\N{NO-BREAK SPACE}", " ").splitlines()


@pytest.mark.parametrize(("file", "lines"), QUOTED, ids=[Path(file).stem for file, _ in QUOTED])
def test_what_the_document_quotes_is_what_the_command_says(file: str, lines: list[str]) -> None:
    shown = page(ROOT / file)

    assert lines
    assert [line for line in lines if line not in shown] == []


def test_every_example_is_in_the_document() -> None:
    assert {Path(file).name for file, _ in QUOTED} == {
        path.name for path in (ROOT / "docs" / "examples").glob("*.yaml")
    }


@pytest.mark.parametrize("schema", [ScenarioEntry, HardwareEntry, HostedEntry, SiteEntry, TrafficEntry])
def test_every_key_is_documented(schema: type[ScenarioEntry]) -> None:
    names = [field.alias or name for name, field in schema.model_fields.items()]

    assert [name for name in names if not re.search(rf"[`.{{, ]{name}\b", DOCUMENT)] == []


def test_every_input_that_can_be_changed_is_documented() -> None:
    [listed] = re.findall(r"`--set` changes one of (.*?) for one look", DOCUMENT)

    assert listed.split(", ") == list(OVERRIDES)
