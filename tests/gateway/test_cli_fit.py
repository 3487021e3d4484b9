"""`soleira fit`: what it prints for people and for programs, with nothing there but the machine it runs on."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from gateway.settings import ROOT
from tests.gateway.test_cli import process, read, soleira

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.economics.fit import Verdict


def test_programs_get_the_verdict_the_bytes_and_the_limits_as_numbers() -> None:
    found = read("fit", "--model", "kimi-k3", "--gpu", "b300", "--count", "8")

    assert found["verdict"] == "native_verified"
    assert "have 2,304 GB" in found["reason"], "blanks are plain ones"
    assert found["bytes"] == {
        "weights": 1_560_000_000_000,
        "kda_state": 449_372_160,
        "mla_cache": 13_824 * 32_768,
        "workspace": found["bytes_on_devices"]["workspace"],
    }
    assert found["bytes_on_devices"]["mla_cache"] == 8 * 13_824 * 32_768
    assert found["bytes_on_devices"]["kda_state"] == 5 * 449_372_160
    assert (found["context"], found["concurrency"], found["quant"]) == (32_768, 1, "native")
    assert found["max_context"] == 1_048_576
    assert found["max_concurrency"] > 1
    assert all(figure["source"] and figure["age_days"] is not None for figure in found["figures"])


@pytest.mark.parametrize(
    ("gpu", "count", "quant", "verdict"),
    [
        ("b200", 8, "native", "no"),
        ("b200", 16, "native", "native_verified"),
        ("h200", 8, "native", "no"),
        ("h100", 8, "UD-IQ1_S", "quant_gpu"),
        ("rtx4090", 1, "native", "no"),
        ("gb300", 8, "native", "native_verified"),
        ("mi355x", 8, "native", "native_verified"),
    ],
)
def test_verdicts_are_those_of_the_known_machines(gpu: str, count: int, quant: str, verdict: Verdict) -> None:
    assert read("fit", "--gpu", gpu, "--count", count, "--quant", quant)["verdict"] == verdict


def test_people_read_the_verdict_first_and_then_why_and_how() -> None:
    lines = soleira("fit", "--gpu", "b300", "--count", 8, "--disk", "2TB").stdout.splitlines()

    assert lines[0] == "Kimi K3 (native) on 8 × NVIDIA B300 SXM"
    assert lines[2].startswith("Yes. It runs in its native form")
    page = "\n".join(lines)
    order = ["What it takes", "What is there", "Worth knowing", "Download", "Start with vLLM", "Before the first start"]
    assert [page.index(heading) for heading in order] == sorted(page.index(heading) for heading in order)
    assert "✓ Disk, staging included" in page
    assert "hf download moonshotai/Kimi-K3 --revision " in page
    assert max(map(len, (line for line in lines if not line.startswith("    ")))) <= 80


def test_what_does_not_fit_comes_with_what_would_and_without_commands() -> None:
    page = soleira("fit", "--gpu", "b200", "--count", 8).stdout

    assert "\nNo.\n" in page
    assert "16 × NVIDIA B200 SXM hold native (native, verified)" in page
    assert "hf download" not in page
    assert "docker run" not in page


def test_sizes_are_taken_as_people_write_them() -> None:
    asked = ["fit", "--gpu", "rtx4090", "--count", 2, "--quant", "UD-IQ1_S"]
    found = read(*asked, "--host-memory", "768GB", "--host-bandwidth", "460GB/s", "--disk", "2 TB")

    assert found["verdict"] == "quant_hybrid"
    assert {room["budget"]: room["there"] for room in found["rooms"]}["host_memory"] == 768_000_000_000
    assert found["ceiling_tokens_per_second"] == pytest.approx(13.46, abs=0.01)
    refused = soleira(*asked, "--host-memory", "lots")
    assert refused.exit_code == 2
    assert "288 GB" in refused.output


def test_this_machine_is_looked_at_when_none_is_named(tmp_path: Path) -> None:
    found, said = (read("fit", *flag, "--data", tmp_path) for flag in ((), ("--this-machine",)))

    assert found["this_machine"]
    assert (found["verdict"], found["rooms"][3]["there"] > 0) == (said["verdict"], True)
    assert {"host.memory", "disk.free"} <= {figure["name"] for figure in found["figures"]}
    assert not (tmp_path / "pack").exists()


def test_every_figure_of_this_machine_can_be_overridden(tmp_path: Path) -> None:
    found = read("fit", "--data", tmp_path, "--host-memory", "1TB", "--disk", "3TB", "--quant", "UD-IQ1_S")

    there = {room["budget"]: room["there"] for room in found["rooms"]}
    assert (there["host_memory"], there["disk"]) == (10**12, 3 * 10**12)
    assert {f["name"]: f["origin"] for f in found["figures"] if f["name"].startswith(("host", "disk"))} == {
        "host.memory": "stated",
        "disk.free": "stated",
    }


@pytest.mark.parametrize(
    "asked",
    [
        ("--gpu", "nas"),
        ("--gpu", "rtx4090", "--model", "qwen3-32b", "--host-memory", "16GB"),
        ("--gpu", "epyc-ddr5-768", "--quant", "UD-IQ1_S"),
        ("--gpu", "h100", "--count", 8),
    ],
    ids=str,
)
def test_nothing_is_listed_that_is_nothing(asked: tuple[str, ...]) -> None:
    page = soleira("fit", *asked).stdout.replace("\u00a0", " ")

    assert not re.search(r"(?<![\d,.])0 bytes", page)
    assert "\n\n\n" not in page


def test_every_form_is_a_line() -> None:
    page = soleira("fit", "--gpu", "b200", "--count", 8, "--all-quants").stdout
    forms = read("fit", "--gpu", "b200", "--count", 8, "--all-quants")

    assert len(forms) > 8
    assert all(each["quant"] in page for each in forms)
    assert max(map(len, page.splitlines())) <= 80
    assert re.search(r"^UD-Q1_0 .*may not", page, re.MULTILINE)
    assert {each["quant"]: each["verdict"] for each in forms}["UD-IQ1_S"] == "quant_gpu"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--gpu", "b3000"), "did you mean 'b300'"),
        (("--gpu", "b300", "--model", "kimi-k33"), "'kimi-k3"),
        (("--gpu", "b300", "--quant", "nativ"), "did you mean 'native'"),
        (("--gpu", "mi400"), "announced"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(arguments: tuple[str, ...], says: str) -> None:
    done = process("fit", *arguments)

    assert done.returncode == 1
    assert done.stderr.startswith("soleira: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


def test_this_machine_and_another_are_not_asked_at_once() -> None:
    assert soleira("fit", "--this-machine", "--gpu", "b300").exit_code == 2


def test_it_needs_no_house_and_opens_no_database(tmp_path: Path) -> None:
    done = process("fit", "--gpu", "b300", "--count", 8, "--data", tmp_path / "none", "--json")

    assert done.returncode == 0
    assert not (tmp_path / "none").exists()


_EXAMPLES = re.findall(
    r"```\n\$ soleira (fit [^\n]*)\n(.*?)```", (ROOT / "docs" / "fit.md").read_text("utf-8"), re.DOTALL
)


@pytest.mark.parametrize(("command", "printed"), _EXAMPLES, ids=[command for command, _ in _EXAMPLES])
def test_the_document_s_examples_are_what_the_command_prints(command: str, printed: str) -> None:
    page = soleira(*shlex.split(command)).stdout.replace("\u00a0", " ")

    place = 0
    for passage in printed.replace("\u00a0", " ").split("…\n"):
        assert passage in page[place:]
        place = page.index(passage, place) + len(passage)


def test_the_document_has_examples() -> None:
    assert len(_EXAMPLES) == 3
