"""This machine as it shows itself: accelerators, memory and disk; only its own files and tools are asked."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gateway.owning.fits.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gateway.catalog.hardware import Gpu

_SECONDS = 10
_MIB, _KIB = 1 << 20, 1 << 10
_NVIDIA_QUERY = ("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits")
_NVIDIA_LINKS = ("nvidia-smi", "topo", "-m")
_SYSCTL = ("sysctl", "-n")
_AMD = "0x1002"
_SMALLEST_CARD = 2 << 30
"""A card with less is there for a screen."""
_METAL_SHARE = Fraction(3, 4)
"""What macOS leaves to the GPU of a large memory while `iogpu.wired_limit_mb` is 0, as the catalog has it too."""
_NEARLY = Fraction(12, 100)
"""How far a card's memory may lie from what is known of its name."""

_NAMES = (
    (re.compile(r"\bGB300\b"), "gb300"),
    (re.compile(r"\bGB200\b"), "gb200"),
    (re.compile(r"\bB300\b"), "b300"),
    (re.compile(r"\bB200\b"), "b200"),
    # The PCIe and NVL cards of these names have other memory, other bandwidth or other links.
    (re.compile(r"\bH200\b(?!.*\bNVL\b)"), "h200"),
    (re.compile(r"\bH100\b(?!.*\b(?:PCIe|NVL)\b)"), "h100"),
    (re.compile(r"\bA100\b"), "a100"),
    (re.compile(r"\bRTX 6000 Ada\b"), "rtx6000-ada"),
    (re.compile(r"\bRTX 5090\b(?! (?:D|Laptop))"), "rtx5090"),
    (re.compile(r"\bRTX 4090\b(?! (?:D|Laptop))"), "rtx4090"),
    (re.compile(r"\bMI300X\b"), "mi300x"),
    (re.compile(r"\bMI350X\b"), "mi350x"),
    (re.compile(r"\bMI355X\b"), "mi355x"),
    (re.compile(r"\bM3 Ultra\b"), "mac-studio-512"),
)
_AMD_DEVICES = {
    "0x74a1": "AMD Instinct MI300X",
    "0x74a5": "AMD Instinct MI325X",
    "0x75a0": "AMD Instinct MI350X",
    "0x75a3": "AMD Instinct MI355X",
}
"""By their PCI ids, where the driver gives no name."""
_NAS_MARKS = {
    "etc/synoinfo.conf": "Synology DSM",
    "etc/config/uLinux.conf": "QNAP QTS",
    "etc/nas.conf": "Asustor ADM",
    "etc/unraid-version": "Unraid",
    "etc/openmediavault": "openmediavault",
    "usr/share/truenas": "TrueNAS",
}
"""Files that only these systems have."""


def run(command: Sequence[str]) -> str | None:
    """What a tool of this machine prints; None if it is not there, fails or does not end."""
    path = shutil.which(command[0], path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/lib/wsl/lib")
    if path is None:
        return None
    try:
        done = subprocess.run([path, *command[1:]], capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout


@dataclass(frozen=True, slots=True)
class System:
    """Where this machine is looked at."""

    root: Path = Path("/")
    name: str = field(default_factory=platform.system)
    """`Linux`, `Darwin`, `Windows`."""
    run: Callable[[Sequence[str]], str | None] = run

    def read(self, path: str) -> str | None:
        """The text of a small file; None if there is none to be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None


@dataclass(frozen=True, slots=True)
class Cards:
    """Accelerators of one kind."""

    title: str
    """As its driver calls it."""
    name: str | None
    """The short name of what is known of it; None: unknown."""
    count: int
    bytes_each: int
    source: str
    """Who says so: `nvidia-smi`."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What was found; None: it does not show."""

    kind: Literal["gpu", "unified", "cpu", "nas"]
    cards: tuple[Cards, ...]
    """The kind with the most memory first."""
    host_bytes: int | None
    disk_bytes: int | None
    """Free, where the house's data lies."""
    processor: str | None
    driver: str | None = None
    """NVIDIA's."""
    has_links: bool | None = None
    """True if the accelerators are joined by NVLink."""
    notes: tuple[Sentence, ...] = ()


def look(data: Path, known: Mapping[str, Gpu], system: System | None = None) -> Machine:
    """Look at this machine; `data` lies on the disk that counts, `known` are the accelerators of the catalog."""
    here = system or System()
    if here.name == "Darwin":
        return _mac(data, known, here)
    return _linux(data, known, here)


def _linux(data: Path, known: Mapping[str, Gpu], here: System) -> Machine:
    found, driver = _nvidia(here)
    notes: list[Sentence] = []
    if not found and (here.root / "dev/nvidia0").exists():
        notes.append(Sentence("here.no_nvidia_smi", {"option": "--gpu"}))
    found += list(_amd(here, notes))
    cards = _grouped(found, known)
    if len(cards) > 1:
        notes.append(Sentence("here.several_kinds", {"kind": cards[0].title, "others": _listed(cards[1:])}))
    notes += [
        Sentence("here.unknown_card", {"card": each.title, "option": "--gpu-bandwidth"})
        for each in cards[:1]
        if each.name is None
    ]
    nas = _nas(here)
    if nas:
        notes.append(Sentence("here.nas", {"system": nas}))
    memory, is_limited = _memory(here)
    if is_limited:
        notes.append(Sentence("here.limited", {"host_bytes": memory or 0}))
    return Machine(
        kind="gpu" if cards else "nas" if nas else "cpu",
        cards=cards,
        host_bytes=memory,
        disk_bytes=free_disk(data),
        processor=_processor(here),
        driver=driver,
        has_links=_has_links(here) if driver and sum(each.count for each in cards) > 1 else None,
        notes=tuple(notes),
    )


def _mac(data: Path, known: Mapping[str, Gpu], here: System) -> Machine:
    """A Mac's memory is its accelerator's too; macOS keeps a part of it for itself."""
    memory = _whole(here.run((*_SYSCTL, "hw.memsize")))
    chip = (here.run((*_SYSCTL, "machdep.cpu.brand_string")) or "").strip() or None
    is_apple = bool(chip and chip.startswith("Apple"))
    cards: tuple[Cards, ...] = ()
    notes: tuple[Sentence, ...] = ()
    if memory and is_apple:
        wired = (_whole(here.run((*_SYSCTL, "iogpu.wired_limit_mb"))) or 0) * _MIB
        usable = wired or int(memory * _METAL_SHARE)
        name = next((name for pattern, name in _NAMES if name in known and pattern.search(chip or "")), None)
        cards = (Cards(chip or "Apple", name, 1, usable, "sysctl"),)
        notes = (Sentence("here.mac_limit" if wired else "here.mac_share", {"usable_bytes": usable}),)
        if name is None:
            notes += (Sentence("here.unknown_card", {"card": chip or "Apple", "option": "--gpu-bandwidth"}),)
    return Machine("unified" if cards else "cpu", cards, memory, free_disk(data), chip, notes=notes)


def free_disk(path: Path) -> int | None:
    """What is free where a path lies, or will lie."""
    there = next((each for each in (path, *path.parents) if each.exists()), None)
    try:
        return None if there is None else shutil.disk_usage(there).free
    except OSError:
        return None


def known_as(title: str, bytes_each: int, known: Mapping[str, Gpu]) -> str | None:
    """The short name of an accelerator, if both its name and its memory are those of a known one."""
    for pattern, name in _NAMES:
        gpu = known.get(name)
        if gpu is not None and pattern.search(title):
            return name if abs(Fraction(bytes_each, gpu.usable_bytes) - 1) <= _NEARLY else None
    return None


def _nvidia(here: System) -> tuple[list[Cards], str | None]:
    """Each card, by itself, and the driver's version."""
    cards, driver = [], None
    for line in (here.run(_NVIDIA_QUERY) or "").splitlines():
        title, _, rest = line.partition(",")
        memory, _, version = rest.partition(",")
        count = _whole(memory)
        if title.strip() and count:
            cards.append(Cards(title.strip(), None, 1, count * _MIB, "nvidia-smi"))
            driver = version.strip() or driver
    return cards, driver


def _amd(here: System, notes: list[Sentence]) -> Iterator[Cards]:
    for card in sorted((here.root / "sys/class/drm").glob("card[0-9]*")):
        place = f"sys/class/drm/{card.name}/device"
        count = _whole(here.read(f"{place}/mem_info_vram_total"))
        if here.read(f"{place}/vendor") != _AMD or not count:
            continue
        device = here.read(f"{place}/device") or ""
        title = here.read(f"{place}/product_name") or _AMD_DEVICES.get(device) or f"AMD {device}".strip()
        if count < _SMALLEST_CARD:
            notes.append(Sentence("here.small_card", {"card": title, "card_bytes": count}))
            continue
        yield Cards(title, None, 1, count, "amdgpu")


def _grouped(found: Sequence[Cards], known: Mapping[str, Gpu]) -> tuple[Cards, ...]:
    """Equal cards counted together."""
    alike: dict[tuple[str, int], list[Cards]] = {}
    for card in found:
        alike.setdefault((card.title, card.bytes_each), []).append(card)
    groups = [
        Cards(title, known_as(title, size, known), len(cards), size, cards[0].source)
        for (title, size), cards in alike.items()
    ]
    return tuple(sorted(groups, key=lambda each: -each.count * each.bytes_each))


def _has_links(here: System) -> bool | None:
    """True if the driver's table of connections names NVLink between two accelerators."""
    table = here.run(_NVIDIA_LINKS)
    if table is None:
        return None
    rows = [line for line in table.splitlines() if re.match(r"\s*GPU\d+\s", line)]
    return any(re.search(r"\bNV\d+\b", row) for row in rows)


def _memory(here: System) -> tuple[int | None, bool]:
    """The memory of the host, and whether a container's limit makes it less."""
    found = re.search(r"^MemTotal:\s+(\d+) kB", here.read("proc/meminfo") or "", re.MULTILINE)
    total = int(found[1]) * _KIB if found else None
    limits = [
        _whole(here.read(path)) for path in ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes")
    ]
    limit = min((each for each in limits if each), default=None)
    if limit is not None and (total is None or limit < total):
        return limit, True
    return total, False


def _processor(here: System) -> str | None:
    found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", here.read("proc/cpuinfo") or "", re.MULTILINE)
    return found[1].strip() if found else None


def _nas(here: System) -> str | None:
    """Which system of a network storage this is, if it is one."""
    return next((name for mark, name in _NAS_MARKS.items() if (here.root / mark).exists()), None)


def _whole(text: str | None) -> int | None:
    """A whole number; None for `max`, `[N/A]` and the like."""
    text = (text or "").strip()
    return int(text) if text.isdecimal() else None


def _listed(cards: Sequence[Cards]) -> str:
    return ", ".join(f"{each.count} × {each.title}" for each in cards)
