"""The machines that a question is about: named ones out of the catalog, the owner's own figures, or this machine."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.catalog.hardware import find_gpu, gpus
from gateway.economics.layouts import Devices
from gateway.errors import BadRequest
from gateway.owning.figures import Figure
from gateway.owning.fits.sentences import Sentence
from policies.problems import closest

if TYPE_CHECKING:
    from datetime import date

    from gateway.catalog.hardware import Gpu, Kind
    from gateway.owning.figures import From
    from gateway.owning.fits.this_machine import Cards, Machine

_GIVEN = "stated by whoever asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What an owner says of the machines; None: nothing."""

    gpu: str | None = None
    count: int | None = None
    gpu_bytes: int | None = None
    """Of one accelerator, as the driver reports it."""
    gpu_bytes_per_second: int | None = None
    host_bytes: int | None = None
    host_bytes_per_second: int | None = None
    disk_bytes: int | None = None
    """Free."""
    disk_bytes_per_second: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Machines, and where each figure of them comes from."""

    devices: Devices
    gpu: Gpu | None
    """What the catalog knows of them."""
    title: str
    architecture: str
    vendor: str
    figures: tuple[Figure, ...]
    notes: tuple[Sentence, ...]
    here: Machine | None = None
    """Set if the question is about this machine."""

    @property
    def counted(self) -> str:
        """`8 × NVIDIA B300 SXM`; what is one whole is not counted."""
        return f"{self.devices.count} × {self.title}" if self.devices.accelerator_bytes else self.title

    @property
    def kind(self) -> Kind:
        return self.devices.kind


def place(given: Given, today: date, here: Machine | None = None) -> Place:
    """The machines that are meant; `here` is this machine, if it is the one. BadRequest where a figure is missing."""
    _refuse_nothing(given)
    if given.gpu is None and here is None:
        raise BadRequest(
            "say which accelerator is meant (--gpu b300 --count 8), or ask about this machine", param="gpu"
        )
    if given.gpu is None:
        assert here is not None  # noqa: S101 - for the type checker: it was just looked at
        return _here(given, today, here)
    gpu = _known(given.gpu)
    if gpu is None or not (gpu.is_known or gpu.kind == "nas"):
        return _unknown(given, gpu, today)
    return _built(given, gpu, None, today)


def _refuse_nothing(given: Given) -> None:
    """Memory and speed of nothing are no figures: who knows none leaves them out."""
    for option, figure in (
        ("--gpu-memory", given.gpu_bytes), ("--gpu-bandwidth", given.gpu_bytes_per_second),
        ("--host-bandwidth", given.host_bytes_per_second), ("--disk-bandwidth", given.disk_bytes_per_second),
    ):  # fmt: skip
        if figure is not None and figure < 1:
            raise BadRequest(f"{option} should be more than nothing: leave it out where it is not known")


def short_title(gpu: Gpu) -> str:
    """What one of them is called where they are counted."""
    return gpu.title.removesuffix(" NVL72, one GPU")


def _known(name: str) -> Gpu | None:
    try:
        return find_gpu(name)
    except LookupError:
        return None


def _here(given: Given, today: date, here: Machine) -> Place:
    if not here.cards:
        return _without_cards(given, today, here)
    cards = here.cards[0]
    return _built(given, gpus().get(cards.name or ""), cards, today, here)


def _without_cards(given: Given, today: date, here: Machine) -> Place:
    host = given.host_bytes or here.host_bytes or 0
    disk = given.disk_bytes if given.disk_bytes is not None else here.disk_bytes
    title = here.processor or "CPU"
    devices = Devices(
        name="nas" if here.kind == "nas" else "cpu",
        count=1,
        bytes_each=host,
        bytes_per_second=given.host_bytes_per_second,
        is_accelerator=False,
        host_bytes=host,
        host_bytes_per_second=given.host_bytes_per_second,
        disk_bytes=disk or 0,
        disk_bytes_per_second=given.disk_bytes_per_second,
        kind="nas" if here.kind == "nas" else "cpu",
    )
    nothing = () if here.kind == "nas" else (Sentence("here.no_cards"),)
    figures = _around(given, today, here)
    return Place(devices, None, title, "x86", "", figures, (*here.notes, *nothing), here)


def _unknown(given: Given, gpu: Gpu | None, today: date) -> Place:
    """An accelerator that nobody here knows the figures of: the owner's count, and without them there is no answer."""
    name = given.gpu or ""
    if given.gpu_bytes is None:
        known = gpus()
        meant = closest(name, known)
        hint = f"did you mean {meant!r}? Otherwise give" if meant and gpu is None else "give"
        what = "is announced, and nobody has stated its memory" if gpu else "is not in the catalog"
        raise BadRequest(
            f"the accelerator {name!r} {what}: {hint} its own figures with --gpu-memory 96GB and --gpu-bandwidth "
            f"1.8TB/s, or choose one of {', '.join(each for each, entry in known.items() if entry.is_known)}",
            param="gpu",
        )
    found = _built(given, None, None, today)
    return Place(
        found.devices, gpu, gpu.title if gpu else name, gpu.architecture if gpu else "", gpu.vendor if gpu else "",
        found.figures, (Sentence("note.unknown_gpu", {"gpu": gpu.title if gpu else name}), *found.notes),
    )  # fmt: skip


def _built(given: Given, gpu: Gpu | None, cards: Cards | None, today: date, here: Machine | None = None) -> Place:
    """Known accelerators, with what the owner or this machine's own tools say instead of the catalog."""
    name = given.gpu if cards is None else cards.name or cards.title
    size, told_by = _memory(given, gpu, cards, today)
    speed = given.gpu_bytes_per_second or (gpu.bytes_per_second if gpu else None)
    count = given.count or (cards.count if cards else 1)
    is_cpu = gpu is not None and gpu.kind in {"cpu", "nas"}
    host, disk = _host(given, here, gpu), _disk(given, here)
    devices = Devices(
        name=gpu.name if gpu else name or "",
        count=1 if is_cpu else count,
        bytes_each=size,
        bytes_per_second=speed,
        native_fp4=gpu.native_fp4 if gpu else False,
        is_accelerator=not is_cpu,
        host_bytes=host or (size if is_cpu else 0),
        host_bytes_per_second=given.host_bytes_per_second or (speed if is_cpu else None),
        disk_bytes=disk or 0,
        disk_bytes_per_second=given.disk_bytes_per_second,
        kind=gpu.kind if gpu else here.kind if here else "gpu",
    )
    title = _title(gpu, cards, name)
    figures = (*told_by, *_speed_figure(given, gpu), *_around(given, today, here))
    alone = (Sentence("note.one_computer", {"count": count}),) if is_cpu and count > 1 else ()
    notes = (*(here.notes if here else ()), *_label_note(given, gpu, cards), *alone)
    return Place(devices, gpu, title, gpu.architecture if gpu else "", gpu.vendor if gpu else "", figures, notes, here)


def _title(gpu: Gpu | None, cards: Cards | None, name: str | None) -> str:
    """What they are called: as the catalog does, else as their driver or their owner does.

    The catalog's title of a machine with one memory names a size of it, and this one may have another.
    """
    if gpu is not None and (cards is None or gpu.kind != "unified"):
        return short_title(gpu)
    return cards.title if cards else name or ""


def _memory(given: Given, gpu: Gpu | None, cards: Cards | None, today: date) -> tuple[int, tuple[Figure, ...]]:
    """Of one accelerator, and who says so: the owner first, then its driver, then the catalog."""
    if given.gpu_bytes is not None:
        return given.gpu_bytes, (_figure("gpu.memory", given.gpu_bytes, "bytes", "stated", _GIVEN, None),)
    if cards is not None:
        return cards.bytes_each, (_figure("gpu.memory", cards.bytes_each, "bytes", "detected", cards.source, today),)
    assert gpu is not None  # noqa: S101 - for the type checker: without figures of the owner's it is a known one
    if not gpu.usable_bytes:
        return 0, ()
    said = gpu.usable_said
    return gpu.usable_bytes, (_figure("gpu.memory", gpu.usable_bytes, "bytes", "bundled", said.source, said.as_of),)


def _speed_figure(given: Given, gpu: Gpu | None) -> tuple[Figure, ...]:
    if given.gpu_bytes_per_second:
        return (_figure("gpu.bandwidth", given.gpu_bytes_per_second, "bytes/s", "stated", _GIVEN, None),)
    if gpu is None or gpu.bytes_per_second is None:
        return ()
    said = gpu.figure("bytes_per_second")
    return (_figure("gpu.bandwidth", gpu.bytes_per_second, "bytes/s", "bundled", said.source, said.as_of),)


def _label_note(given: Given, gpu: Gpu | None, cards: Cards | None) -> tuple[Sentence, ...]:
    if gpu is None or cards is not None or given.gpu_bytes is not None or gpu.driver_bytes or gpu.kind != "gpu":
        return ()
    return (Sentence("note.label_counts", {"gpu": gpu.title, "label_bytes": gpu.label_bytes}),)


def _host(given: Given, here: Machine | None, gpu: Gpu | None) -> int | None:
    """Of the computer beside the accelerators; where both are one memory, nothing counts twice."""
    if (gpu.kind if gpu else here.kind if here else "gpu") == "unified":
        return None
    return given.host_bytes if given.host_bytes is not None else here.host_bytes if here else None


def _disk(given: Given, here: Machine | None) -> int | None:
    return given.disk_bytes if given.disk_bytes is not None else here.disk_bytes if here else None


def _around(given: Given, today: date, here: Machine | None) -> tuple[Figure, ...]:
    """What is known of the host and its disk."""
    told: list[Figure] = []
    for name, stated, detected, unit in (
        ("host.memory", given.host_bytes, here.host_bytes if here else None, "bytes"),
        ("host.bandwidth", given.host_bytes_per_second, None, "bytes/s"),
        ("disk.free", given.disk_bytes, here.disk_bytes if here else None, "bytes"),
        ("disk.bandwidth", given.disk_bytes_per_second, None, "bytes/s"),
    ):
        if stated is not None:
            told.append(_figure(name, stated, unit, "stated", _GIVEN, None))
        elif detected is not None:
            told.append(_figure(name, detected, unit, "detected", "this machine's system", today))
    return tuple(told)


def _figure(name: str, value: int, unit: str, origin: From, source: str, as_of: date | None) -> Figure:
    return Figure(name, Fraction(value), unit, origin, source, as_of)
