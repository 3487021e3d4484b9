"""Every pack that is shipped loads, keeps its own tests, and its commented-out parts work when they are taken in."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import policies
from policies.decide import Signals, decide
from policies.labels import PRIVATE, SECRET
from policies.load import FILES, Pack, load_pack
from policies.testing import run_tests

PACKS = Path(policies.__file__).parent / "packs"
HOME = PACKS / "home"


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in PACKS.glob("*/rules.yaml")), ids=lambda path: path.name
)
def test_a_shipped_pack_loads_without_warning_and_keeps_its_tests(folder: Path) -> None:
    pack = load_pack(folder)

    assert pack.warnings == ()
    assert len(pack.tests) >= 4
    assert [outcome for outcome in run_tests(pack) if not outcome.passed] == []


def test_the_home_pack_calls_nobody_until_a_deployment_is_taken_in() -> None:
    assert load_pack(HOME).deployments == ()


@pytest.fixture
def filled(tmp_path: Path) -> Pack:
    """The home pack with everything that is commented out taken in."""
    for name in FILES:
        shutil.copy(HOME / name, tmp_path / name)
    for name, start in {"deployments.yaml": "# deployments:", "break_even.yaml": "# machines:"}.items():
        head, _, tail = (HOME / name).read_text().partition(start)
        lines = (start + tail).splitlines()
        text = head.replace("deployments: []", "") + "\n".join(re.sub(r"^# ?", "", line) for line in lines)
        (tmp_path / name).write_text(text)
    rules = (HOME / "rules.yaml").read_text()
    (tmp_path / "rules.yaml").write_text(re.sub(r"(?m)^  # (?=- name|  when|  route)", "  ", rules))
    return load_pack(tmp_path)


def test_the_commented_out_deployments_are_correct(filled: Pack) -> None:
    assert {spec.engine for spec in filled.deployments} == {
        "ollama", "llama_server", "vllm", "sglang", "moonshot", "flatkey",
    }  # fmt: skip
    assert [rule.models for rule in filled.rules] == [None, ("kimi-k3",), None]
    assert {spec.name: str(spec.price.per_million.output) for spec in filled.deployments if spec.zone == "hosted"} == {
        "moonshot-k3": "15.00",
        "flatkey-k3": "9.00",
    }


def test_the_home_pack_s_tests_hold_with_everything_taken_in(filled: Pack) -> None:
    assert [outcome for outcome in run_tests(filled) if not outcome.passed] == []


def test_private_text_stays_in_the_house_whatever_is_connected(filled: Pack) -> None:
    assert decide(filled, Signals(PRIVATE)).zones == ("device", "lan")
    assert decide(filled, Signals(PRIVATE, model="kimi-k3")).code == "denied_by_rule"
    assert decide(filled, Signals(SECRET, model="kimi-k3")).code == "label_exceeds_clearance"
