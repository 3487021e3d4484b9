"""Whether given machines can hold a model, and how fast that may be: pure arithmetic over stated bytes.

Bytes alone do not decide: ranks that share a layer must divide its heads and its vocabulary, and where engines are
known to run a model on a kind of device, fewer of them than any recipe names are too few, whatever the sum says.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Literal

from gateway.economics.memory import Division, Kept, cache_bytes, most_requests, most_tokens, state_bytes

if TYPE_CHECKING:
    from datetime import date

Verdict = Literal["native_verified", "native_unverified", "quant_gpu", "quant_hybrid", "disk_stream", "no"]
Speed = Literal["serves", "reads along", "waits", "overnight", "unknown"]
"""Classes by the ceiling of one answer: 30 tokens a second and more; 5; 0.5; less."""
Budget = Literal["accelerator", "cache", "host_memory", "disk"]
Because = Literal[
    "verified", "stated", "arithmetic", "quantised", "host_memory", "cpu_memory", "disk",
    "too_small", "no_room_for_cache", "below_minimum", "unsupported", "beyond_recipe", "tensor",
    "context_beyond_model", "nas", "unknown_memory",
]  # fmt: skip
Rule = Literal[
    "replica_minimum", "unsupported", "recipe_limits", "tensor_ranks", "tensor_heads", "tensor_vocabulary",
    "too_few_devices",
]  # fmt: skip
Trait = Literal["padding", "contested", "limited", "idle", "workspace_share", "workspace_stated", "expansion", "no_fp4"]
"""What else to know: the engine pads the weights; a source says of this shape that it does not work; the recipe is held
to a context or a number of requests; devices stand idle; the workspace is an assumed share, or the weights' source
states it; the weights grow when they are loaded; these devices do not compute in four bits, and unpack at run time."""

TENSOR_RANKS = (1, 2, 4, 8, 16, 32)
"""Into how many parts engines divide a layer."""
IN_A_NODE = 8
"""To which ranks that share a layer are kept where nothing else is said: beyond, stages follow each other."""
WORKSPACE = Fraction(8, 100)
"""Of device memory, for the runtime, activations and fragments, where nobody has stated it: guides say 5 to 15 %."""
ATTAINABLE = Fraction(65, 100)
"""Of what bandwidth allows: Kimi K3 in MXFP4 on two Xeon with 256 GB/s writes about 3 tokens a second, where 4.63 would
be the limit (llama.cpp pull request 26185)."""
TIGHT = Fraction(1, 8)
LITTLE = 64 * 10**9
"""Memory below which a machine without accelerators is a place for data, not for models that are larger."""

_CLASSES: tuple[tuple[Fraction, Speed], ...] = (
    (Fraction(30), "serves"),
    (Fraction(5), "reads along"),
    (Fraction(1, 2), "waits"),
    (Fraction(0), "overnight"),
)


@dataclass(frozen=True, slots=True)
class Devices:
    """Accelerators of one kind, and the host around them. What is not given counts as not there."""

    name: str
    count: int
    bytes_each: int
    """As the driver reports it."""
    bytes_per_second: int | None = None
    native_fp4: bool = False
    is_accelerator: bool = True
    """False for memory of a CPU."""
    host_bytes: int = 0
    host_bytes_per_second: int | None = None
    disk_bytes: int = 0
    """Free."""
    disk_bytes_per_second: int | None = None
    kind: Literal["gpu", "unified", "cpu", "nas"] = "gpu"

    @property
    def accelerator_bytes(self) -> int:
        """Of all of them; 0 where there is none."""
        return self.count * self.bytes_each if self._accelerates else 0

    @property
    def memory_bytes(self) -> int:
        """Of the host: what is given beside accelerators, or what the devices are made of."""
        return self.host_bytes if self._accelerates else max(self.host_bytes, self.count * self.bytes_each)

    @property
    def memory_bytes_per_second(self) -> int | None:
        """Of the host's memory."""
        return self.host_bytes_per_second if self._accelerates else self.host_bytes_per_second or self.bytes_per_second

    @property
    def _accelerates(self) -> bool:
        return self.is_accelerator and self.kind in ("gpu", "unified")


@dataclass(frozen=True, slots=True)
class Shape:
    """A topology that engines are known to run it on: so many of these devices at least."""

    engine: str
    gpu: str
    gpus: int
    nodes: int
    status: Literal["verified", "stated", "unsupported"]
    source: str
    as_of: date | None = None
    note: str = ""
    tensor: int | None = None
    pipeline: int | None = None
    resident_bytes_each: int | None = None
    """What the weights were seen to take on each, padding included; None: nobody has said."""
    max_context: int | None = None
    """To which the recipe is held."""
    max_concurrency: int | None = None

    def allows(self, context: int, concurrency: int) -> bool:
        """True if the recipe is not held to less than that."""
        return context <= (self.max_context or context) and concurrency <= (self.max_concurrency or concurrency)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question."""

    model: str
    quant: str
    is_native: bool
    weights_bytes: int
    active_bytes: int
    """That one token reads of the weights."""
    disk_bytes: int
    """That the download takes with its staging."""
    kept: Kept
    division: Division
    """1 × 1 where nobody chose: it is chosen then."""
    heads: int | None
    vocabulary: int | None
    max_context: int
    context: int
    concurrency: int
    shapes: tuple[Shape, ...]
    """Of this form of the model, and of the engines that come into question."""
    expansion: Fraction | None = None
    """What loading multiplies the weights by (Q8 to BF16); None: nothing."""
    workspace_bytes: int | None = None
    """What the weights' source adds for the engine; None: a share of the memory."""
    workspace_share: Fraction = WORKSPACE
    is_fp4: bool = False
    """True if its weights are in four bits with scales that only some devices compute with."""

    @property
    def loaded_bytes(self) -> int:
        """Of the weights, in memory."""
        return ceil(self.weights_bytes * (self.expansion or 1))


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
class Bytes:
    """By part, over all devices."""

    weights: int
    kda_state: int
    mla_cache: int
    """What attention layers keep, whatever their kind."""
    workspace: int
    padding: int = 0
    """What loading adds to the weights on this topology, as somebody has seen it."""

    @property
    def resident(self) -> int:
        """What is there before any request."""
        return self.weights + self.padding + self.workspace

    @property
    def cached(self) -> int:
        """What requests take."""
        return self.kda_state + self.mla_cache

    @property
    def total(self) -> int:
        return self.resident + self.cached


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
    """How the accelerators divide it."""
    traits: tuple[Trait, ...] = ()


def fit(devices: Devices, asked: Asked) -> Fit:
    """Say whether the devices hold it (economics 5.4): the best of all ways, from accelerators down to the disk."""
    layout = _layout(devices, asked)
    if asked.context > asked.max_context:
        return _refusal(devices, asked, layout, "context_beyond_model", {"context": asked.context})
    if _keeps_data(devices, asked):
        return _refusal(devices, asked, layout, "nas", {})
    if layout.holds and layout.rule is None:
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
        if fit(more, asked).verdict in ("native_verified", "native_unverified", "quant_gpu"):
            return count
    return None


def divided(count: int, heads: int | None, vocabulary: int | None, asked: Division) -> Division:
    """How so many devices divide the work where nobody chose: as few of them idle, then as wide, as can be."""
    if asked.tensor * asked.pipeline > 1:
        return asked
    able = [n for n in TENSOR_RANKS if n <= min(count, IN_A_NODE) and _divides(n, heads) and _divides(n, vocabulary)]
    tensor = max(able, key=lambda n: (count // n * n, n), default=1)
    return replace(asked, tensor=tensor, pipeline=max(count // tensor, 1))


@dataclass(frozen=True, slots=True)
class _Layout:
    """The model over accelerators alone."""

    division: Division
    shape: Shape | None
    rule: Rule | None
    ranks: int
    bytes: Bytes
    free_each: int
    """Of one rank, beside weights and workspace; below 0 where they do not fit."""
    most_requests: int
    most_tokens: int
    traits: tuple[Trait, ...]
    concurrency: int

    @property
    def holds(self) -> bool:
        return self.ranks > 0 and self.most_requests >= self.concurrency


def _layout(devices: Devices, asked: Asked) -> _Layout:
    count = devices.count if devices.accelerator_bytes else 0
    shape, rule = _shape(devices, asked)
    division = _division(count, asked, shape)
    ranks = division.tensor * division.pipeline
    rule = rule or _tensor_rule(asked, division) or ("too_few_devices" if 0 < count < ranks else None)
    parts = _parts(asked, division, ranks, ranks * devices.bytes_each if count else devices.memory_bytes, shape)
    free = devices.bytes_each - ceil(Fraction(parts.resident, ranks)) if count else 0
    return _Layout(
        division=division,
        shape=shape,
        rule=rule,
        ranks=ranks if count else 0,
        bytes=parts,
        free_each=free,
        most_requests=_capped(_requests(free, asked, division), shape.max_concurrency if shape else None),
        most_tokens=_capped(_tokens(free, asked, division), shape.max_context if shape else None),
        traits=_traits(devices, asked, shape, parts, ranks),
        concurrency=asked.concurrency,
    )


def _shape(devices: Devices, asked: Asked) -> tuple[Shape | None, Rule | None]:
    """The topology to rest on, verified before stated, the largest that there are devices for; or what forbids it."""
    known = [shape for shape in asked.shapes if shape.gpu == devices.name]
    working = [shape for shape in known if shape.status != "unsupported"]
    if known and not working:
        return None, "unsupported"
    enough = [shape for shape in working if shape.gpus <= devices.count]
    if working and not enough:
        return None, "replica_minimum"
    allowed = [shape for shape in enough if shape.allows(asked.context, asked.concurrency)]
    if enough and not allowed:
        return None, "recipe_limits"
    best = sorted(allowed, key=lambda s: (s.status != "verified", s.max_concurrency is not None, -s.gpus))
    return (best[0], None) if best else (None, None)


def _division(count: int, asked: Asked, shape: Shape | None) -> Division:
    if asked.division.tensor * asked.division.pipeline == 1 and shape and shape.tensor and shape.gpus == count:
        return replace(asked.division, tensor=shape.tensor, pipeline=shape.pipeline or 1)
    return divided(count, asked.heads, asked.vocabulary, asked.division)


def _tensor_rule(asked: Asked, division: Division) -> Rule | None:
    if division.tensor not in TENSOR_RANKS:
        return "tensor_ranks"
    if not _divides(division.tensor, asked.heads):
        return "tensor_heads"
    return None if _divides(division.tensor, asked.vocabulary) else "tensor_vocabulary"


def _divides(ranks: int, parts: int | None) -> bool:
    return parts is None or parts % ranks == 0


def _parts(asked: Asked, division: Division, ranks: int, memory: int, shape: Shape | None) -> Bytes:
    """Bytes over all ranks: each repeats the latents of MLA, and holds its part of weights, states and heads."""
    loaded = asked.loaded_bytes
    seen = (shape.resident_bytes_each or 0) * ranks if shape and shape.gpus == ranks else 0
    return Bytes(
        weights=loaded,
        kda_state=ceil(state_bytes(asked.kept, division) * ranks * asked.concurrency),
        mla_cache=ceil(cache_bytes(asked.kept, asked.context, division) * ranks * asked.concurrency),
        workspace=_workspace(asked, memory),
        padding=max(seen - loaded, 0),
    )


def _workspace(asked: Asked, memory: int) -> int:
    return ceil(memory * asked.workspace_share) if asked.workspace_bytes is None else asked.workspace_bytes


def _requests(free: int, asked: Asked, division: Division) -> int:
    return most_requests(free, asked.kept, asked.context, division) if free > 0 else 0


def _tokens(free: int, asked: Asked, division: Division) -> int:
    longest = most_tokens(free, asked.kept, asked.concurrency, division) if free > 0 else 0
    return min(longest, asked.max_context)


def _capped(amount: int, most: int | None) -> int:
    return amount if most is None else min(amount, most)


def _traits(devices: Devices, asked: Asked, shape: Shape | None, parts: Bytes, ranks: int) -> tuple[Trait, ...]:
    contested = [s for s in asked.shapes if s.gpu == devices.name and s.status == "unsupported"]
    found: dict[Trait, bool] = {
        "padding": parts.padding > 0,
        "contested": any(s.gpus <= devices.count for s in contested),
        "limited": shape is not None and bool(shape.max_context or shape.max_concurrency),
        "idle": 0 < ranks < devices.count,
        "workspace_share": asked.workspace_bytes is None,
        "workspace_stated": asked.workspace_bytes is not None,
        "expansion": asked.loaded_bytes != asked.weights_bytes,
        "no_fp4": asked.is_fp4 and bool(devices.accelerator_bytes) and not devices.native_fp4,
    }
    return tuple(trait for trait, holds in found.items() if holds)


def _on_accelerators(devices: Devices, asked: Asked, layout: _Layout) -> Fit:
    memory = layout.ranks * devices.bytes_each
    ceiling = _ceiling(devices.bytes_per_second, asked, layout.division.tensor)
    verdict: Verdict = "quant_gpu"
    because: Because = "quantised"
    if asked.is_native:
        status = layout.shape.status if layout.shape else None
        verdict = "native_verified" if status == "verified" else "native_unverified"
        because = "verified" if status == "verified" else "stated" if status else "arithmetic"
    return Fit(
        verdict=verdict,
        is_tight=memory - layout.bytes.total < TIGHT * memory,
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
        parts = _parts(asked, division, 1, accelerators or host, None)
        free = accelerators + host - parts.weights - parts.workspace
        if accelerators:
            free = min(free, accelerators - parts.workspace)
        requests = _requests(free, asked, division)
        return cls(
            bytes=parts,
            in_memory=max(parts.total - accelerators, 0) if accelerators else parts.resident,
            division=division,
            most_requests=requests,
            most_tokens=_tokens(free, asked, division),
            holds=bool(host) and requests >= asked.concurrency,
        )


def _in_memory(devices: Devices, asked: Asked, layout: _Layout, host: _Host) -> Fit:
    memory = devices.accelerator_bytes + devices.memory_bytes
    ceiling = _ceiling(devices.memory_bytes_per_second, asked, 1)
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
        traits=tuple(trait for trait in layout.traits if trait not in ("padding", "idle", "limited")),
    )


def _streams(devices: Devices, asked: Asked) -> bool:
    """True if the disk holds the files, and memory what they are worked on with."""
    return asked.disk_bytes <= devices.disk_bytes and _beside_disk(devices, asked) >= asked.concurrency


def _beside_disk(devices: Devices, asked: Asked) -> int:
    """How many requests memory holds while weights pass through it."""
    return _requests(_streaming_room(devices, asked), asked, replace(asked.division, tensor=1, context=1, pipeline=1))


def _streaming_room(devices: Devices, asked: Asked) -> int:
    memory = devices.accelerator_bytes or devices.memory_bytes
    return memory - ceil(memory * asked.workspace_share)


def _from_disk(devices: Devices, asked: Asked, layout: _Layout) -> Fit:
    division = replace(asked.division, tensor=1, context=1, pipeline=1)
    memory = devices.accelerator_bytes or devices.memory_bytes
    parts = replace(_parts(asked, division, 1, memory, None), workspace=ceil(memory * asked.workspace_share))
    ceiling = _ceiling(devices.disk_bytes_per_second, asked, 1)
    return Fit(
        verdict="disk_stream",
        is_tight=False,
        because="disk",
        facts=_facts(devices, asked, layout),
        bytes=parts,
        rooms=_rooms(devices, asked, replace(parts, weights=0), 0 if devices.accelerator_bytes else parts.workspace),
        max_context=_tokens(_streaming_room(devices, asked), asked, division),
        max_concurrency=_beside_disk(devices, asked),
        speed=_speed(ceiling),
        ceiling_tps=ceiling,
        failed_rule=layout.rule,
        shape=None,
        division=division,
        traits=tuple(trait for trait in layout.traits if trait in ("expansion", "no_fp4", "workspace_share")),
    )


def _refusal(devices: Devices, asked: Asked, layout: _Layout, because: Because, facts: dict[str, int | str]) -> Fit:
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
        traits=layout.traits,
    )


def _cause(devices: Devices, asked: Asked, layout: _Layout) -> tuple[Because, dict[str, int | str]]:
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
    if layout.free_each <= 0:
        return "too_small", {"short": layout.bytes.resident - memory} | _minimum(devices, asked)
    return "no_room_for_cache", {"free": layout.free_each * layout.ranks}


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
    """True for a NAS, and for a machine without accelerators that has little memory, less than the weights take."""
    if devices.kind == "nas":
        return True
    memory = devices.memory_bytes
    return not devices.accelerator_bytes and 0 < memory < LITTLE and memory < asked.loaded_bytes


def _facts(devices: Devices, asked: Asked, layout: _Layout) -> dict[str, int | str]:
    facts: dict[str, int | str] = {
        "model": asked.model,
        "quant": asked.quant,
        "gpu": devices.name,
        "count": devices.count,
        "there": devices.accelerator_bytes or devices.memory_bytes,
        "weights": layout.bytes.weights,
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
