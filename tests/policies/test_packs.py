"""Every pack that is shipped loads, keeps its own tests, and its commented-out parts work when they are taken in."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import policies
from policies.decide import Signals, decide
from policies.labels import INTERNAL, PRIVATE, PUBLIC, SECRET, Label, Level
from policies.load import FILES, Pack, load_pack
from policies.testing import run_tests

PACKS = Path(policies.__file__).parent / "packs"
HOME = PACKS / "home"
OFFICE = PACKS / "office"
CLUSTER = PACKS / "k3-cluster"
READY_ROW = re.compile(r"(?m)^( +)# (?=- |  |wake: )")
"""The lines of a row that is commented out; prose has one blank after its '#', and begins with a word."""


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


def test_the_home_pack_knows_the_contract_of_k3_and_how_few_slots_a_llama_server_has(filled: Pack) -> None:
    specs = {spec.name: spec for spec in filled.deployments}

    assert {spec.dialect for spec in specs.values() if spec.model == "kimi-k3"} == {"kimi_k3"}
    assert {name for name, spec in specs.items() if spec.dialect} == {
        "our-k3-vllm", "our-k3-sglang", "moonshot-k3", "flatkey-k3",
    }  # fmt: skip
    assert (specs["llama-server"].slots, specs["llama-server"].queue) == (1, 8)


@pytest.fixture(params=[OFFICE, CLUSTER], ids=lambda folder: folder.name)
def company(request: pytest.FixtureRequest) -> Path:
    """A pack for a company."""
    folder: Path = request.param
    return folder


@pytest.fixture
def everything(company: Path, tmp_path: Path) -> Pack:
    """The company's pack with the rows taken in that stand ready in it."""
    for name in FILES:
        shutil.copy(company / name, tmp_path / name)
    rows = (company / "deployments.yaml").read_text()
    (tmp_path / "deployments.yaml").write_text(READY_ROW.sub(r"\1", rows))
    return load_pack(tmp_path)


def test_rows_that_stand_ready_are_correct_and_change_no_decision(company: Path, everything: Pack) -> None:
    shipped = {spec.name for spec in load_pack(company).deployments}

    assert everything.warnings == ()
    assert [outcome for outcome in run_tests(everything) if not outcome.passed] == []
    assert {spec.name for spec in everything.deployments} > shipped
    assert any(spec.wake for spec in everything.deployments)


SMALLER = {"qwen3-32b", "qwen3-235b", "llama-3.3-70b", "deepseek-r1", "glm-5.2", "kimi-k2.6"}


def test_smaller_models_have_ready_rows_with_their_weights_and_the_day_they_were_looked_up(everything: Pack) -> None:
    rows = [spec for spec in everything.deployments if spec.model in SMALLER]

    assert {spec.model for spec in rows} == SMALLER
    assert all(spec.weights and spec.as_of and spec.owned for spec in rows)


def test_every_hosted_row_names_its_operator_its_key_and_a_dated_price(everything: Pack) -> None:
    hosted = [spec for spec in everything.deployments if spec.zone == "hosted"]

    assert hosted
    assert all(spec.operator and spec.api_key and spec.price.source and spec.price.as_of for spec in hosted)
    assert all(spec.base_url.startswith("https://") for spec in hosted)


def test_hosted_prices_are_those_of_their_lists(everything: Pack) -> None:
    listed = {
        "moonshot-k3": ("3.00", "0.30", "15.00"),
        "moonshot-k3.1-pro": ("2.00", "0.20", "10.00"),
        "flatkey-k3": ("1.80", "0.18", "9.00"),
    }

    for spec in everything.deployments:
        if spec.zone == "hosted":
            rates = spec.price.per_million
            assert (str(rates.input), str(rates.cached), str(rates.output)) == listed[spec.name]


@pytest.mark.parametrize("label", [PRIVATE, Label.of(Level.PRIVATE, "clients", "customers", "people"), SECRET])
@pytest.mark.parametrize("groups", ["partners", "staff", "trainees", "engineers", "batch"])
def test_no_company_pack_sends_a_private_text_to_a_hosted_model(everything: Pack, label: Label, groups: str) -> None:
    for model in ("auto", "kimi-k3", "kimi-k3.1-pro"):
        for size in (0, 500_000):
            signals = Signals(label, model=model, groups=frozenset({groups}), size=size, needs=frozenset({"tools"}))
            assert "hosted" not in decide(everything, signals).zones


@pytest.mark.parametrize(
    ("folder", "signals", "waiting"),
    [
        (OFFICE, Signals(PUBLIC), 2),
        (OFFICE, Signals(PRIVATE), None),
        (OFFICE, Signals(INTERNAL, groups=frozenset({"trainees"})), None),
        (CLUSTER, Signals(INTERNAL), 16),
        (CLUSTER, Signals(INTERNAL, size=200_000), 8),
        (CLUSTER, Signals(INTERNAL, needs=frozenset({"tools"})), 8),
        (CLUSTER, Signals(INTERNAL, groups=frozenset({"batch"})), None),
        (CLUSTER, Signals(PRIVATE), None),
    ],
)
def test_company_packs_move_on_from_busy_machines_only_where_texts_may_leave(
    folder: Path, signals: Signals, waiting: int | None
) -> None:
    assert decide(load_pack(folder), signals).spill_above == waiting


def test_every_row_of_kimi_k3_speaks_its_contract(everything: Pack) -> None:
    kimi = [spec for spec in everything.deployments if spec.model.startswith("kimi-k3")]

    assert {spec.dialect for spec in kimi} == {"kimi_k3"}
    assert {spec.dialect for spec in everything.deployments if spec not in kimi} == {None}


def test_the_cluster_runs_k3_on_three_engines_before_it_pays_a_host() -> None:
    k3 = [spec for spec in load_pack(CLUSTER).deployments if spec.model == "kimi-k3"]

    assert [(spec.engine, spec.zone) for spec in k3] == [
        ("vllm", "cluster"), ("sglang", "cluster"), ("tokenspeed", "cluster"),
        ("flatkey", "hosted"), ("moonshot", "hosted"),
    ]  # fmt: skip
    assert all(spec.slots and spec.queue for spec in k3 if spec.zone == "cluster")
    assert max(spec.price.per_million.output for spec in k3 if spec.owned) < min(
        spec.price.per_million.output for spec in k3 if not spec.owned
    )
