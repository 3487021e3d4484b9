"""The claims in docs/break-even.md: what the document quotes is what the command says."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from gateway.cli import break_even_text
from gateway.owning import published
from gateway.owning.answers import answer
from gateway.owning.questions import OVERRIDES, Question
from gateway.settings import ROOT
from policies.scenario_file import read_scenarios
from policies.scenarios import HardwareEntry, HostedEntry, ScenarioEntry, SiteEntry, TrafficEntry

DOCUMENT = (ROOT / "docs" / "break-even.md").read_text()
QUOTED: list[tuple[str, list[str]]] = []
for _block in re.findall(r"```\n(\$ .*?)```", DOCUMENT, re.DOTALL):
    for _file, _said in re.findall(r"\$ \./soleira break-even --scenario-file (\S+)\n((?:(?!\$).*\n)*)", _block):
        QUOTED.append((_file, [_line for _line in _said.splitlines() if _line != "…"]))


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


FIRST_COLUMN = [row.split(" | ")[0] for row in DOCUMENT.splitlines() if row.startswith("| `")]
KEYS = {key.lstrip(".") for cell in FIRST_COLUMN for key in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize(
    ("within", "schema"),
    [("", ScenarioEntry), ("hardware.", HardwareEntry), ("hosted.", HostedEntry), ("traffic.", TrafficEntry)],
)
def test_every_key_stands_in_the_table(within: str, schema: type[ScenarioEntry]) -> None:
    names = {field.alias or name for name, field in schema.model_fields.items()} - {"source", "as_of"}
    parts = {key.removeprefix(within).split(".")[0].split(":")[0] for key in KEYS}

    assert sorted(names - parts) == []


def test_every_key_of_a_site_is_documented() -> None:
    [row] = [row for row in DOCUMENT.splitlines() if row.startswith("| `site` |")]

    assert [name for name in SiteEntry.model_fields if not re.search(rf"\b{name}\b", row)] == ["source", "as_of"]


def test_every_published_profile_is_named() -> None:
    assert sorted(key for key in KEYS if key.startswith("k3-")) == sorted(published.profiles())


def test_every_input_that_can_be_changed_is_documented() -> None:
    [listed] = re.findall(r"`--set` changes one of (.*?) for one look", DOCUMENT)

    assert listed.split(", ") == list(OVERRIDES)
