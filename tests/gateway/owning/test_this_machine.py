"""What this machine shows of itself, from the files and the tools that machines really have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.catalog.hardware import gpus
from gateway.owning.fits.sentences import say
from gateway.owning.fits.this_machine import System, known_as, look, run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

MEMINFO = "MemTotal:       2113445120 kB\nMemFree:        1000000000 kB\nMemAvailable:   2000000000 kB\n"
EIGHT_H100 = "\n".join(["NVIDIA H100 80GB HBM3, 81559, 550.54.15"] * 8)
SIX_B300 = "\n".join(["NVIDIA B300 SXM6 AC, 275040, 580.95.05"] * 6)
LINKED = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV18\t0-55\nGPU1\tNV18\t X \t56-111\n\nLegend:\n  NV#  = NVLink\n"
UNLINKED = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPHB\t0-55\nGPU1\tPHB\t X \t56-111\n\nLegend:\n  NV#  = NVLink\n"


def tools(answers: Mapping[str, str]) -> Callable[[Sequence[str]], str | None]:
    """A shell in which only these commands exist, by their beginnings."""

    def ask(command: Sequence[str]) -> str | None:
        line = " ".join(command)
        return next((text for begun, text in answers.items() if line.startswith(begun)), None)

    return ask


def linux(root: Path, answers: Mapping[str, str] | None = None, files: Mapping[str, str] | None = None) -> System:
    for name, text in {"proc/meminfo": MEMINFO, **(files or {})}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return System(root, "Linux", tools(answers or {}))


def test_eight_equal_cards_are_one_kind_with_the_driver_s_memory(tmp_path: Path) -> None:
    system = linux(tmp_path, {"nvidia-smi --query-gpu": EIGHT_H100, "nvidia-smi topo": LINKED})

    found = look(tmp_path, gpus(), system)

    cards = found.cards[0]
    assert (cards.name, cards.count, cards.bytes_each) == ("h100", 8, 81_559 << 20)
    assert (found.kind, found.driver, found.has_links) == ("gpu", "550.54.15", True)
    assert found.host_bytes == 2_113_445_120 << 10
    assert (found.disk_bytes or 0) > 0


def test_cards_that_only_pcie_joins_are_said_to_be_so(tmp_path: Path) -> None:
    two = "NVIDIA GeForce RTX 4090, 24564, 570.1\nNVIDIA GeForce RTX 4090, 24564, 570.1"
    system = linux(tmp_path, {"nvidia-smi --query-gpu": two, "nvidia-smi topo": UNLINKED})

    found = look(tmp_path, gpus(), system)

    assert (found.cards[0].name, found.cards[0].count, found.has_links) == ("rtx4090", 2, False)


def test_unlike_cards_are_not_added_up(tmp_path: Path) -> None:
    mixed = f"{SIX_B300}\nNVIDIA T400 4GB, 4096, 580.95.05"
    found = look(tmp_path, gpus(), linux(tmp_path, {"nvidia-smi --query-gpu": mixed}))

    assert [(cards.title, cards.count) for cards in found.cards] == [("NVIDIA B300 SXM6 AC", 6), ("NVIDIA T400 4GB", 1)]
    assert "also there: 1 × NVIDIA T400 4GB" in " ".join(map(say, found.notes))


@pytest.mark.parametrize(
    ("title", "mebibytes", "name"),
    [
        ("NVIDIA GeForce RTX 5090", 32_607, "rtx5090"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 16_376, None),
        ("NVIDIA GeForce RTX 4090 D", 24_564, None),
        ("NVIDIA RTX 6000 Ada Generation", 49_140, "rtx6000-ada"),
        ("NVIDIA A100-SXM4-80GB", 81_920, "a100"),
        ("NVIDIA A100-SXM4-40GB", 40_960, None),
        ("NVIDIA H100 PCIe", 81_559, None),
        ("NVIDIA H100 NVL", 95_830, None),
        ("NVIDIA H200", 143_771, "h200"),
        ("NVIDIA B200", 183_359, "b200"),
        ("NVIDIA GB300", 284_208, "gb300"),
        ("NVIDIA Z9000 Mystery", 200_000, None),
    ],
)
def test_a_card_is_known_by_its_name_and_its_memory(title: str, mebibytes: int, name: str | None) -> None:
    assert known_as(title, mebibytes << 20, gpus()) == name


def test_an_unknown_card_keeps_its_memory_and_is_said_to_be_unknown(tmp_path: Path) -> None:
    system = linux(tmp_path, {"nvidia-smi --query-gpu": "NVIDIA Z9000 Mystery, 98304, 590.10"})

    found = look(tmp_path, gpus(), system)

    assert (found.cards[0].name, found.cards[0].bytes_each) == (None, 96 << 30)
    assert "Z9000 Mystery is not known here" in say(found.notes[0])


def test_amd_cards_are_read_from_their_driver_s_files(tmp_path: Path) -> None:
    files: dict[str, str] = {}
    for card in range(8):
        place = f"sys/class/drm/card{card}/device"
        files |= {
            f"{place}/vendor": "0x1002\n",
            f"{place}/device": "0x75a3\n",
            f"{place}/mem_info_vram_total": f"{288 * 10**9}\n",
        }
    place = "sys/class/drm/card8/device"
    files |= {f"{place}/vendor": "0x1002", f"{place}/device": "0x1506", f"{place}/mem_info_vram_total": f"{512 << 20}"}

    found = look(tmp_path, gpus(), linux(tmp_path, files=files))

    assert [(cards.name, cards.count) for cards in found.cards] == [("mi355x", 8)]
    assert "does not count" in " ".join(map(say, found.notes))


def test_a_mac_s_memory_is_its_accelerator_s_but_not_all_of_it(tmp_path: Path) -> None:
    answers = {"sysctl -n hw.memsize": f"{512 << 30}\n", "sysctl -n machdep": "Apple M3 Ultra\n"}
    default = look(tmp_path, gpus(), System(tmp_path, "Darwin", tools({**answers, "sysctl -n iogpu": "0\n"})))
    raised = look(tmp_path, gpus(), System(tmp_path, "Darwin", tools({**answers, "sysctl -n iogpu": "491520\n"})))

    assert (default.kind, default.cards[0].name, default.cards[0].bytes_each) == (
        "unified",
        "mac-studio-512",
        384 << 30,
    )
    assert raised.cards[0].bytes_each == 480 << 30
    assert "three quarters" in say(default.notes[0])


def test_a_mac_with_less_memory_than_the_known_one_still_has_its_bandwidth(tmp_path: Path) -> None:
    answers = {"sysctl -n hw.memsize": f"{96 << 30}\n", "sysctl -n machdep": "Apple M3 Ultra\n"}
    found = look(tmp_path, gpus(), System(tmp_path, "Darwin", tools(answers)))

    assert (found.cards[0].name, found.cards[0].bytes_each) == ("mac-studio-512", 72 << 30)


def test_cards_of_a_known_name_with_other_links_are_not_taken_for_them() -> None:
    assert known_as("NVIDIA H200", 143_771 << 20, gpus()) == "h200"
    assert known_as("NVIDIA H200 NVL", 143_771 << 20, gpus()) is None
    assert known_as("NVIDIA H100 NVL", 95_830 << 20, gpus()) is None


@pytest.mark.parametrize("mark", ["etc/synoinfo.conf", "etc/config/uLinux.conf", "etc/unraid-version"])
def test_network_storage_is_known_by_its_system(tmp_path: Path, mark: str) -> None:
    assert look(tmp_path, gpus(), linux(tmp_path, files={mark: "x"})).kind == "nas"


def test_a_container_s_limit_counts_instead_of_the_host_s_memory(tmp_path: Path) -> None:
    limited = look(tmp_path, gpus(), linux(tmp_path, files={"sys/fs/cgroup/memory.max": f"{64 << 30}\n"}))
    (tmp_path / "free").mkdir()
    free = look(tmp_path, gpus(), linux(tmp_path / "free", files={"sys/fs/cgroup/memory.max": "max\n"}))

    assert (limited.host_bytes, free.host_bytes) == (64 << 30, 2_113_445_120 << 10)
    assert "container" in say(limited.notes[0])


def test_a_card_without_its_tool_is_not_silently_absent(tmp_path: Path) -> None:
    system = linux(tmp_path, files={"dev/nvidia0": ""})

    assert "nvidia-smi does not tell" in say(look(tmp_path, gpus(), system).notes[0])


def test_nothing_that_answers_nonsense_is_taken_for_a_card(tmp_path: Path) -> None:
    nonsense = "No devices were found\nNVIDIA X, [N/A], 580\n, 1024, 580\n"
    system = linux(tmp_path, {"nvidia-smi": nonsense}, {"proc/meminfo": "what?"})

    found = look(tmp_path / "not" / "there" / "yet", gpus(), system)

    assert (found.cards, found.host_bytes, found.kind) == ((), None, "cpu")
    assert found.disk_bytes


def test_this_very_machine_shows_its_memory_and_its_disk(tmp_path: Path) -> None:
    found = look(tmp_path, gpus())

    assert (found.host_bytes or 0) > 1 << 28
    assert found.disk_bytes


def test_a_tool_that_is_missing_or_fails_says_nothing() -> None:
    assert run(["no-such-tool-of-soleira"]) is None
    assert run(["false"]) is None
    assert run(["echo", "yes"]) == "yes\n"
