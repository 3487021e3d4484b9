"""Whether a replica holds the model at all, as `soleira fit` answers it, and which machines do."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.catalog.hardware import find_gpu
from gateway.catalog.models import find_model
from gateway.owning.fits import asking, reasons
from gateway.owning.fits.instead import instead
from gateway.owning.fits.places import Given
from gateway.owning.told import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from gateway.catalog.hardware import Gpu
    from gateway.catalog.models import Model, Quant, Said
    from gateway.economics.fit import Fit, Verdict
    from gateway.owning.fits.asking import Asking
    from gateway.owning.fits.commands import Engine
    from gateway.owning.fits.instead import Instead
    from gateway.owning.fits.sentences import Sentence
    from gateway.owning.told import Told
    from policies.scenarios import ScenarioEntry

_SHORT = 7
_HOLDS: Mapping[Verdict, bool | None] = {
    "native_verified": True,
    "native_unverified": True,
    "quant_gpu": True,
    "no": False,
}
"""The others read a part of the model from the host's memory or a disk: a capacity is of accelerators."""
_MACHINES = frozenset({"more", "shape"})


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
    """The weights; where these alone would go in and all does not, with cache and workspace."""
    there_bytes: int | None = None
    is_storage: bool = False
    """True if it keeps data and has nothing that computes."""
    why: Sentence | None = None
    """Why it does not hold it, where that is not the weights alone."""
    instead: tuple[str, ...] = ()
    """What holds it: `16 × B200`."""
    smaller: str = ""
    """The largest form of the model that these machines hold."""


def holding(entry: ScenarioEntry, told: Told) -> Holding:
    """By the arithmetic and the known shapes of `soleira fit`, at the context and the one request that it begins at."""
    hardware, model, gpu = entry.hardware, _model(entry, told), _gpu(entry, told)
    machines = f"{hardware.count} × {_short(hardware.gpu if gpu is None else gpu.name)}"
    if model is None:
        return Holding(machines=machines, model=f"{entry.model} ({entry.quant})")
    quant = asking.quant_of(model, entry.quant)
    weighed = quant.figures.get("memory", quant.said)
    told.figure("model.weights", Fraction(quant.memory_bytes), "bytes", _bundled(weighed))
    there = _there(gpu, hardware.count, told)
    called = f"{model.title} ({quant.name})"
    if gpu is None or not (gpu.is_known or gpu.kind == "nas"):
        return Holding(machines=machines, model=called, needed_bytes=quant.memory_bytes, there_bytes=there)
    found = asking.asking(_question(entry, model, quant, gpu), told.at, None)
    fitted = found.fitted()
    _say_how(fitted, machines, told)
    holds = _HOLDS.get(fitted.verdict)
    others = () if holds is not False else tuple(instead(found, fitted, told.at, None))
    return Holding(
        holds=holds,
        machines=machines,
        model=called,
        needed_bytes=_needed(quant, there, fitted),
        there_bytes=there,
        is_storage=fitted.because == "nas",
        why=_why(found, quant, there, fitted),
        instead=tuple(_counted(others)),
        smaller=next((each.quant or "" for each in others if each.kind == "quant"), ""),
    )


def most_requests(entry: ScenarioEntry, context: int, at: date) -> int | None:
    """How many requests of that many tokens memory holds at once; None: nobody knows, or not accelerators alone."""
    try:
        model, gpu = find_model(entry.model), find_gpu(entry.hardware.gpu)
    except LookupError:
        return None
    if not model.cache or not gpu.is_known:
        return None
    fitted = asking.asking(
        _question(entry, model, asking.quant_of(model, entry.quant), gpu, context), at, None
    ).fitted()
    return fitted.max_concurrency if fitted.is_on_accelerators else None


def _question(
    entry: ScenarioEntry, model: Model, quant: Quant, gpu: Gpu, context: int = asking.CONTEXT
) -> asking.Question:
    """A scenario's machines as `soleira fit` is asked about them; no longer than the model reads."""
    return asking.Question(
        given=Given(gpu=gpu.name, count=entry.hardware.count),
        model=model.name,
        quant=quant.name,
        context=min(context, model.max_context),
        engine=_engine(entry),
    )


def _engine(entry: ScenarioEntry) -> Engine | None:
    """An engine that is started from here; of others only their known shapes say anything, which count for all."""
    return None if entry.engine is None else asking.ENGINES.get(entry.engine)


def _there(gpu: Gpu | None, count: int, told: Told) -> int | None:
    if gpu is None or not gpu.usable_bytes:
        return None
    there = gpu.usable_bytes * count
    told.figure("hardware.memory", Fraction(there), "bytes", _bundled(gpu.usable_said))
    return there


def _say_how(fitted: Fit, machines: str, told: Told) -> None:
    """What of a yes, or of no answer, is to be known."""
    if fitted.because == "arithmetic":
        told.note("unverified_shape", machines=machines)
    elif fitted.verdict == "quant_hybrid":
        told.note("held_by_memory", machines=machines)


def _needed(quant: Quant, there: int | None, fitted: Fit) -> int:
    if fitted.verdict != "no" or there is None or quant.memory_bytes > there:
        return quant.memory_bytes
    return fitted.bytes.total


def _why(found: Asking, quant: Quant, there: int | None, fitted: Fit) -> Sentence | None:
    if fitted.verdict != "no" or fitted.because == "nas" or there is None or quant.memory_bytes > there:
        return None
    return reasons.why(fitted, found.place.title)


def _counted(others: Iterable[Instead]) -> list[str]:
    """Each number of accelerators once; more of the same come first."""
    return list(
        dict.fromkeys(f"{each.count} × {_short(each.gpu)}" for each in others if each.gpu and each.kind in _MACHINES)
    )


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


def _bundled(said: Said) -> Origin:
    return Origin("bundled", said.source, said.as_of)


def _short(gpu: str) -> str:
    """As people write it: `B200`; long names stay."""
    return gpu.upper() if len(gpu) <= _SHORT else gpu
