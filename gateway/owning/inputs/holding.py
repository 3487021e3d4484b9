"""Whether a replica holds the model at all, and which machines do."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.catalog.hardware import find_gpu
from gateway.catalog.models import find_model
from gateway.errors import BadRequest
from gateway.owning.told import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.catalog.hardware import Gpu
    from gateway.catalog.models import Model, Quant, Said, Topology
    from gateway.owning.told import Told
    from policies.scenarios import ScenarioEntry

_SHORT = 7


@dataclass(frozen=True, slots=True)
class Holding:
    """What a replica's accelerators have to hold, and what they have."""

    holds: bool | None = None
    """None: nobody knows."""
    machines: str = ""
    """`8 × B200`."""
    model: str = ""
    """`Kimi K3 (native)`."""
    needed_bytes: int | None = None
    there_bytes: int | None = None
    is_storage: bool = False
    """True if it keeps data and has nothing that computes."""
    instead: tuple[str, ...] = ()
    """What holds it, as far as engines are known to: `16 × B200`."""


def holding(entry: ScenarioEntry, told: Told) -> Holding:
    """By the model's weights against what drivers report, and by the shapes that engines are known to run."""
    hardware, model = entry.hardware, _model(entry, told)
    gpu = _gpu(entry, told)
    machines = f"{hardware.count} × {_short(hardware.gpu if gpu is None else gpu.name)}"
    if model is None:
        return Holding(machines=machines, model=f"{entry.model} ({entry.quant})")
    quant = _quant(model, entry)
    weighed = quant.figures.get("memory", quant.said)
    told.figure("model.weights", Fraction(quant.memory_bytes), "bytes", _bundled(weighed))
    there = None
    if gpu is not None and gpu.usable_bytes:
        there = gpu.usable_bytes * hardware.count
        said = gpu.figure("driver_bytes" if gpu.driver_bytes else "label_bytes")
        told.figure("hardware.memory", Fraction(there), "bytes", _bundled(said))
    engines = {each.engine for each in model.topologies} if entry.engine is None else {entry.engine}
    shapes = [each for each in model.topologies if each.quant == quant.name and each.engine in engines]
    here = [each for each in shapes if gpu is not None and each.gpu == gpu.name]
    is_storage = gpu is not None and gpu.kind == "nas"
    holds = False if is_storage else _holds(quant, there, hardware.count, here)
    if holds is None and there is not None:
        told.note("unverified_shape", machines=machines)
    return Holding(
        holds=holds,
        machines=machines,
        model=f"{model.title} ({quant.name})",
        needed_bytes=quant.memory_bytes,
        there_bytes=there,
        is_storage=is_storage,
        instead=_instead(shapes, None if gpu is None else gpu.name),
    )


def _holds(quant: Quant, there: int | None, count: int, shapes: list[Topology]) -> bool | None:
    """Known shapes decide before arithmetic, which cannot see what an engine pads and divides."""
    if there is not None and quant.memory_bytes > there:
        return False
    good = [each.gpus for each in shapes if each.status != "unsupported"]
    if good:
        return min(good) <= count
    if any(each.gpus >= count for each in shapes):
        return False
    return None


def _instead(shapes: Iterable[Topology], gpu: str | None) -> tuple[str, ...]:
    """For each accelerator the least number that a known shape takes, the same one first, then the fewest."""
    least: dict[str, int] = {}
    for each in shapes:
        if each.status != "unsupported":
            least[each.gpu] = min(each.gpus, least.get(each.gpu, each.gpus))
    ordered = sorted(least.items(), key=lambda item: (item[0] != gpu, item[1], item[0]))
    return tuple(f"{count} × {_short(name)}" for name, count in ordered)


def _model(entry: ScenarioEntry, told: Told) -> Model | None:
    try:
        return find_model(entry.model)
    except LookupError as error:
        told.note("unknown_model", model=entry.model, hint=str(error))
        return None


def _gpu(entry: ScenarioEntry, told: Told) -> Gpu | None:
    try:
        return find_gpu(entry.hardware.gpu)
    except LookupError as error:
        told.note("unknown_gpu", gpu=entry.hardware.gpu, hint=str(error))
        return None


def _quant(model: Model, entry: ScenarioEntry) -> Quant:
    try:
        return model.quant(entry.quant)
    except LookupError as error:
        raise BadRequest(f"quant: {error}", param="quant") from None


def _bundled(said: Said) -> Origin:
    return Origin("bundled", said.source, said.as_of)


def _short(gpu: str) -> str:
    """As people write it: `B200`; long names stay."""
    return gpu.upper() if len(gpu) <= _SHORT else gpu
