"""Whether given machines can hold a model, and how fast that may be: pure arithmetic over stated bytes.

The best of all ways counts: on accelerators alone, with the host's memory beside them, or from the disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import Literal

from gateway.economics.layouts import (
    MOST_BY_LAYERS,
    Asked,
    Bytes,
    Devices,
    Layout,
    Rule,
    Shape,
    Trait,
    lay_out,
    parts_of,
    requests_held,
    tokens_held,
)
from gateway.economics.memory import Division

Verdict = Literal["native_verified", "native_unverified", "quant_gpu", "quant_hybrid", "disk_stream", "no"]
Speed = Literal["serves", "reads along", "waits", "overnight", "unknown"]
"""Classes by the ceiling of one answer: 30 tokens a second and more; 5; 0.5; less."""
Budget = Literal["accelerator", "cache", "host_memory", "disk"]
Because = Literal[
    "verified", "stated", "arithmetic", "quantised", "host_memory", "cpu_memory", "disk",
    "too_small", "whole_layers", "no_room_for_cache", "below_minimum", "unsupported", "beyond_recipe", "tensor",
    "context_beyond_model", "nas", "little_memory", "unknown_memory",
]  # fmt: skip
ATTAINABLE = Fraction(65, 100)
"""Of what bandwidth allows: Kimi K3 in MXFP4 on two Xeon with 256 GB/s writes about 3 tokens a second, where 4.63 would
be the limit (llama.cpp pull request 26185)."""
TIGHT = Fraction(1, 8)
LITTLE = 64 * 10**9
"""Memory below which a machine without accelerators is a place for data, not for models that are larger."""

_ALONE: tuple[Verdict, ...] = ("native_verified", "native_unverified", "quant_gpu")
_CLASSES: tuple[tuple[Fraction, Speed], ...] = (
    (Fraction(30), "serves"),
    (Fraction(5), "reads along"),
    (Fraction(1, 2), "waits"),
    (Fraction(0), "overnight"),
)


@dataclass(frozen=True, slots=True)
class Room:
    """One of the four budgets, in bytes."""

    budget: Budget
    needed: int
    there: int
    is_told: bool = True
    """False if nobody said how much there is."""

    @property
    def is_enough(self) -> bool:
        return self.needed <= self.there


@dataclass(frozen=True, slots=True)
class Fit:
    """The answer."""

    verdict: Verdict
    is_tight: bool
    """True if less than an eighth of the memory that holds it is left."""
    because: Because
    """Why, by its code; its sentence is written elsewhere in either language."""
    facts: dict[str, int | str]
    """What that sentence names."""
    bytes: Bytes
    rooms: tuple[Room, ...]
    max_context: int
    """Of one request at the concurrency that was asked; 0 where nothing fits."""
    max_concurrency: int
    """At the context that was asked; 0 where nothing fits."""
    speed: Speed
    ceiling_tps: Fraction | None
    """Tokens a second of one answer at 65 % of what the memory's bandwidth allows; None: unknown."""
    failed_rule: Rule | None
    """The topology rule that failed, by its code."""
    shape: Shape | None
    """The topology that it rests on."""
    division: Division = field(default_factory=Division)
    """How the accelerators of one copy divide it."""
    traits: tuple[Trait, ...] = ()
    copies: int = 1
    """How many of that division the requests take."""
    idle: int = 0
    """Accelerators that none of them needs."""

    @property
    def ranks(self) -> int:
        """Accelerators of one copy."""
        return self.division.tensor * self.division.pipeline

    @property
    def is_on_accelerators(self) -> bool:
        """True if it lies in their memory alone."""
        return self.verdict in _ALONE


def fit(devices: Devices, asked: Asked) -> Fit:
    """Say whether the devices hold it (economics 5.4): the best of all ways, from accelerators down to the disk."""
    layout = lay_out(devices, asked)
    if asked.context > asked.max_context:
        return _refusal(devices, asked, layout, "context_beyond_model", {"context": asked.context})
    if _keeps_data(devices, asked):
        return _refusal(devices, asked, layout, "nas" if devices.kind == "nas" else "little_memory", {})
    if layout.holds:
        return _on_accelerators(devices, asked, layout)
    host = _Host.of(devices, asked)
    if host.holds:
        return _in_memory(devices, asked, layout, host)
    if _streams(devices, asked):
        return _from_disk(devices, asked, layout)
    return _refusal(devices, asked, layout, *_cause(devices, asked, layout))


def least(devices: Devices, asked: Asked, most: int = 128) -> int | None:
    """How many such accelerators would hold it by themselves; None: no number up to `most` does."""
    for count in range(1, most + 1):
        more = replace(devices, count=count, host_bytes=0, disk_bytes=0)
        if fit(more, asked).is_on_accelerators:
            return count
    return None


def _on_accelerators(devices: Devices, asked: Asked, layout: Layout) -> Fit:
    memory = layout.ranks * layout.copies * devices.bytes_each
    ceiling = _ceiling(devices.bytes_per_second, asked, layout.division.tensor)
    verdict: Verdict = "quant_gpu"
    because: Because = "quantised"
    if asked.is_native:
        status = layout.shape.status if layout.shape else None
        verdict = "native_verified" if status == "verified" else "native_unverified"
        because = "verified" if status == "verified" else "stated" if status else "arithmetic"
    return Fit(
        verdict=verdict,
        is_tight="more_copies" not in layout.traits and memory - layout.bytes.total < TIGHT * memory,
        because=because,
        facts=_facts(devices, asked, layout),
        bytes=layout.bytes,
        rooms=_rooms(devices, asked, layout.bytes, 0),
        max_context=layout.most_tokens,
        max_concurrency=layout.most_requests,
        speed=_speed(ceiling),
        ceiling_tps=ceiling,
        failed_rule=None,
        shape=layout.shape,
        division=layout.division,
        traits=layout.traits,
        copies=layout.copies,
        idle=layout.idle,
    )


@dataclass(frozen=True, slots=True)
class _Host:
    """The model over accelerators and the host's memory together: experts lie in the latter, and are read from it."""

    bytes: Bytes
    in_memory: int
    """In the host's memory: of the weights what accelerators do not hold; without them all but the caches."""
    division: Division
    most_requests: int
    most_tokens: int
    holds: bool

    @classmethod
    def of(cls, devices: Devices, asked: Asked) -> _Host:
        accelerators, host = devices.accelerator_bytes, devices.memory_bytes
        division = replace(asked.division, tensor=1, context=1, pipeline=1)
        parts = parts_of(asked, division, 1, accelerators or host, None)
        free = accelerators + host - parts.weights - parts.workspace
        if accelerators:
            free = min(free, accelerators - parts.workspace)
        requests = requests_held(free, asked, division)
        return cls(
            bytes=parts,
            in_memory=max(parts.total - accelerators, 0) if accelerators else parts.resident,
            division=division,
            most_requests=requests,
            most_tokens=tokens_held(free, asked, division),
            holds=bool(host) and requests >= asked.concurrency,
        )


_OF_COPIES = frozenset({"copies", "idle", "more_copies"})
"""Traits that say nothing where none of it runs on accelerators alone."""
_OF_ACCELERATORS = frozenset({"padding", "limited"}) | _OF_COPIES
"""Traits that say nothing where the host's memory holds a part."""


def _in_memory(devices: Devices, asked: Asked, layout: Layout, host: _Host) -> Fit:
    memory = devices.accelerator_bytes + devices.memory_bytes
    ceiling = _host_ceiling(devices, asked, host)
    return Fit(
        verdict="quant_hybrid",
        is_tight=memory - host.bytes.total < TIGHT * memory,
        because="host_memory" if devices.accelerator_bytes else "cpu_memory",
        facts=_facts(devices, asked, layout) | {"in_memory": host.in_memory},
        bytes=host.bytes,
        rooms=_rooms(devices, asked, host.bytes, host.in_memory),
        max_context=host.most_tokens,
        max_concurrency=host.most_requests,
        speed=_speed(ceiling),
        ceiling_tps=ceiling,
        failed_rule=layout.rule,
        shape=None,
        division=host.division,
        traits=tuple(trait for trait in layout.traits if trait not in _OF_ACCELERATORS),
    )


def _host_ceiling(devices: Devices, asked: Asked, host: _Host) -> Fraction | None:
    """By the host's memory, as if experts were read from nowhere else; layers that lie elsewhere are not."""
    ceiling = _ceiling(devices.memory_bytes_per_second, asked, 1)
    if ceiling is None or not asked.reads_all or not devices.accelerator_bytes:
        return ceiling
    return ceiling * Fraction(asked.loaded_bytes, max(min(host.in_memory, asked.loaded_bytes), 1))


def _streams(devices: Devices, asked: Asked) -> bool:
    """True if the disk holds the files, and memory what they are worked on with."""
    return asked.disk_bytes <= devices.disk_bytes and _beside_disk(devices, asked) >= asked.concurrency


def _beside_disk(devices: Devices, asked: Asked) -> int:
    """How many requests memory holds while weights pass through it."""
    return requests_held(
        _streaming_room(devices, asked), asked, replace(asked.division, tensor=1, context=1, pipeline=1)
    )


def _streaming_room(devices: Devices, asked: Asked) -> int:
    memory = devices.accelerator_bytes or devices.memory_bytes
    return memory - ceil(memory * asked.workspace_share)


def _from_disk(devices: Devices, asked: Asked, layout: Layout) -> Fit:
    division = replace(asked.division, tensor=1, context=1, pipeline=1)
    memory = devices.accelerator_bytes or devices.memory_bytes
    parts = replace(parts_of(asked, division, 1, memory, None), workspace=ceil(memory * asked.workspace_share))
    ceiling = _ceiling(devices.disk_bytes_per_second, asked, 1)
    return Fit(
        verdict="disk_stream",
        is_tight=False,
        because="disk",
        facts=_facts(devices, asked, layout),
        bytes=parts,
        rooms=_rooms(devices, asked, replace(parts, weights=0), 0 if devices.accelerator_bytes else parts.workspace),
        max_context=tokens_held(_streaming_room(devices, asked), asked, division),
        max_concurrency=_beside_disk(devices, asked),
        speed=_speed(ceiling),
        ceiling_tps=ceiling,
        failed_rule=layout.rule,
        shape=None,
        division=division,
        traits=tuple(trait for trait in layout.traits if trait in ("expansion", "no_fp4", "workspace_share")),
    )


def _refusal(devices: Devices, asked: Asked, layout: Layout, because: Because, facts: dict[str, int | str]) -> Fit:
    return Fit(
        verdict="no",
        is_tight=False,
        because=because,
        facts=_facts(devices, asked, layout) | facts,
        bytes=layout.bytes,
        rooms=_rooms(devices, asked, layout.bytes, 0 if devices.accelerator_bytes else layout.bytes.resident),
        max_context=0,
        max_concurrency=0,
        speed="unknown",
        ceiling_tps=None,
        failed_rule=layout.rule,
        shape=layout.shape,
        division=layout.division,
        traits=tuple(trait for trait in layout.traits if trait not in _OF_COPIES),
    )


def _cause(devices: Devices, asked: Asked, layout: Layout) -> tuple[Because, dict[str, int | str]]:
    """Why nothing holds it: too few bytes before any rule, since a rule can be met and bytes cannot."""
    memory = devices.accelerator_bytes + devices.memory_bytes
    if not memory:
        return "unknown_memory", {}
    if memory < asked.loaded_bytes:
        return "too_small", {"short": asked.loaded_bytes - memory} | _minimum(devices, asked)
    match layout.rule:
        case "replica_minimum":
            return "below_minimum", _minimum(devices, asked)
        case "unsupported":
            source = next(shape.source for shape in asked.shapes if shape.gpu == devices.name)
            return "unsupported", {"source": source}
        case "recipe_limits":
            return "beyond_recipe", _limits(devices, asked)
        case None:
            pass
        case _:
            return "tensor", {"tensor": layout.division.tensor, "pipeline": layout.division.pipeline}
    if layout.free_each <= 0 and layout.bytes.total > devices.accelerator_bytes:
        return "too_small", {"short": layout.bytes.total - devices.accelerator_bytes} | _minimum(devices, asked)
    if layout.free_each <= 0:
        return "whole_layers", _uneven(devices, asked, layout)
    return "no_room_for_cache", {"free": layout.free_each * layout.ranks}


def _uneven(devices: Devices, asked: Asked, layout: Layout) -> dict[str, int | str]:
    """How it would have to be divided, and what the fullest device would take."""
    most: dict[str, int | str] = {"most": MOST_BY_LAYERS} if asked.by_layers and devices.count > MOST_BY_LAYERS else {}
    return most | {
        "ranks": layout.ranks,
        "tensor": layout.division.tensor,
        "pipeline": layout.division.pipeline,
        "fullest": devices.bytes_each - layout.free_each,
        "each": devices.bytes_each,
    }


def _minimum(devices: Devices, asked: Asked) -> dict[str, int | str]:
    """The smallest topology of such devices, if any engine has one."""
    working = [s for s in asked.shapes if s.gpu == devices.name and s.status != "unsupported"]
    if not working:
        return {}
    shape = min(working, key=lambda s: (s.gpus, s.status != "verified"))
    return {"gpus_needed": shape.gpus, "engine": shape.engine, "source": shape.source}


def _limits(devices: Devices, asked: Asked) -> dict[str, int | str]:
    working = [s for s in asked.shapes if s.gpu == devices.name and s.status != "unsupported"]
    enough = [s for s in working if s.gpus <= devices.count]
    shape = max(enough, key=lambda s: (s.max_context or asked.max_context, s.max_concurrency or asked.concurrency))
    held: dict[str, int | str] = {"engine": shape.engine, "source": shape.source}
    if shape.max_context is not None:
        held["recipe_context"] = shape.max_context
    if shape.max_concurrency is not None:
        held["recipe_concurrency"] = shape.max_concurrency
    return held


def _keeps_data(devices: Devices, asked: Asked) -> bool:
    """True where weights take more memory than a NAS has, or than another machine with little and no accelerator."""
    memory = devices.memory_bytes
    if devices.accelerator_bytes or memory >= asked.loaded_bytes:
        return False
    return devices.kind == "nas" or 0 < memory < LITTLE


def _facts(devices: Devices, asked: Asked, layout: Layout) -> dict[str, int | str]:
    facts: dict[str, int | str] = {
        "model": asked.model,
        "quant": asked.quant,
        "gpu": devices.name,
        "count": devices.count if devices.accelerator_bytes else 0,
        "there": devices.accelerator_bytes or devices.memory_bytes,
        "weights": asked.loaded_bytes,
        "needed": layout.bytes.total,
        "max_context": asked.max_context,
    }
    if layout.shape:
        facts |= {"engine": layout.shape.engine, "source": layout.shape.source}
    return facts


def _rooms(devices: Devices, asked: Asked, parts: Bytes, in_memory: int) -> tuple[Room, ...]:
    """The four budgets apart: what lies on accelerators, what caches have beside it, the host's memory, the disk."""
    resident = max(parts.resident - in_memory, 0)
    there, memory = devices.accelerator_bytes, devices.memory_bytes
    beside = there - resident if there else memory - in_memory
    return (
        Room("accelerator", resident, there),
        Room("cache", parts.cached, max(beside, 0)),
        Room("host_memory", in_memory, memory, is_told=memory > 0),
        Room("disk", asked.disk_bytes, devices.disk_bytes, is_told=devices.disk_bytes > 0),
    )


def _ceiling(bytes_per_second: int | None, asked: Asked, ranks: int) -> Fraction | None:
    """Tokens of one answer: each reads all that is active, from as many memories at once as share a layer."""
    if bytes_per_second is None or not asked.active_bytes:
        return None
    return Fraction(bytes_per_second * ranks, asked.active_bytes) * ATTAINABLE


def _speed(ceiling: Fraction | None) -> Speed:
    if ceiling is None:
        return "unknown"
    return next(name for least, name in _CLASSES if ceiling >= least)
