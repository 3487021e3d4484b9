"""How accelerators divide a model, by themselves: ranks and stages, in as many copies as requests take.

Ranks that share a layer must divide its heads and its vocabulary, no stage cuts a layer, and where engines are known to
run a model on a kind of device, their shape is kept: fewer devices than any recipe names are too few, whatever the sum
says, and more of them run more copies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Literal

from gateway.economics.memory import Division, Kept, cache_bytes, most_requests, most_tokens, state_bytes

if TYPE_CHECKING:
    from datetime import date

Rule = Literal[
    "replica_minimum", "unsupported", "recipe_limits", "tensor_ranks", "tensor_heads", "tensor_vocabulary",
    "context_ranks", "too_few_devices",
]  # fmt: skip
Trait = Literal[
    "padding", "contested", "limited", "copies", "idle", "more_copies", "workspace_share", "workspace_stated",
    "expansion", "no_fp4",
]  # fmt: skip
"""What else to know: the engine pads the weights; a source says of this shape that it does not work; the recipe is held
to a context or a number of requests; the requests take several copies of the model; devices stand idle, or have room
for more copies; the workspace is an assumed share, or the weights' source states it; the weights grow when they are
loaded; these devices do not compute in four bits, and unpack at run time."""

TENSOR_RANKS = (1, 2, 4, 8, 16, 32)
"""Into how many parts engines divide a layer."""
IN_A_NODE = 8
"""To which ranks that share a layer are kept where nothing else is said: beyond, stages follow each other."""
MOST_BY_LAYERS = 16
"""Devices over which an engine spreads whole layers: llama.cpp's `llama_max_devices`."""
WORKSPACE = Fraction(8, 100)
"""Of device memory, for the runtime, activations and fragments, where nobody has stated it: guides say 5 to 15 %."""


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
    groups: int = 1
    """Data-parallel groups as which it was run; bytes are reckoned as if stages followed each other."""
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
    layers: int | None = None
    """Which no stage cuts; None: unknown, as if stages could be equal."""
    reads_all: bool = False
    """True if every token reads all weights: a part that accelerators hold is then not read from elsewhere."""
    by_layers: bool = False
    """True if the engine puts whole layers on each device, and divides none."""

    @property
    def loaded_bytes(self) -> int:
        """Of the weights, in memory."""
        return ceil(self.weights_bytes * (self.expansion or 1))


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
class Layout:
    """The model over accelerators alone."""

    division: Division
    shape: Shape | None
    rule: Rule | None
    ranks: int
    """Of one copy."""
    copies: int
    idle: int
    bytes: Bytes
    """Of all copies."""
    free_each: int
    """Of one rank, beside weights and workspace; below 0 where they do not fit."""
    most_requests: int
    """Of all copies that there are devices for."""
    most_tokens: int
    traits: tuple[Trait, ...]
    concurrency: int

    @property
    def holds(self) -> bool:
        return self.rule is None and self.ranks > 0 and self.most_requests >= self.concurrency


def lay_out(devices: Devices, asked: Asked) -> Layout:
    """By the shape that engines are known to run, else by the widest division that holds the requests."""
    shapes, rule = _shapes(devices, asked)
    if shapes:
        known = [_of_shape(devices, asked, shape) for shape in shapes]
        return next((each for each in known if each.holds), known[0])
    count = devices.count if devices.accelerator_bytes else 0
    tried = [_of_division(devices, asked, division) for division in divided(count, asked)]
    found = next((each for each in tried if each.holds), max(tried, key=lambda each: each.free_each * each.ranks))
    return replace(
        found,
        rule=rule or found.rule,
        most_requests=max(each.most_requests for each in tried),
        most_tokens=max(each.most_tokens for each in tried),
    )


def divided(count: int, asked: Asked) -> tuple[Division, ...]:
    """How so many devices can divide the work, the widest first: ranks share layers, and stages follow each other."""
    chosen = asked.division
    if chosen.tensor * chosen.pipeline > 1:
        return (chosen,)
    if asked.by_layers:
        return (replace(chosen, pipeline=max(min(count, MOST_BY_LAYERS, asked.layers or count), 1)),)
    able = [ranks for ranks in TENSOR_RANKS if ranks <= min(count, IN_A_NODE) and _tensor_rule(asked, ranks) is None]
    return tuple(
        replace(chosen, tensor=ranks, pipeline=min(count // ranks, asked.layers or count)) for ranks in reversed(able)
    ) or (chosen,)


def _shapes(devices: Devices, asked: Asked) -> tuple[list[Shape], Rule | None]:
    """The topologies to rest on, verified before stated and free ones before limited ones; or what forbids them all."""
    known = [shape for shape in asked.shapes if shape.gpu == devices.name]
    working = [shape for shape in known if shape.status != "unsupported"]
    if known and not working:
        return [], "unsupported"
    enough = [shape for shape in working if shape.gpus <= devices.count]
    if working and not enough:
        return [], "replica_minimum"
    allowed = [shape for shape in enough if shape.allows(asked.context, _each(asked, devices.count // shape.gpus))]
    if enough and not allowed:
        return [], "recipe_limits"
    return sorted(allowed, key=lambda each: (each.status != "verified", each.max_concurrency is not None)), None


def _each(asked: Asked, copies: int) -> int:
    """Requests of one copy."""
    return ceil(Fraction(asked.concurrency, copies))


def _of_shape(devices: Devices, asked: Asked, shape: Shape) -> Layout:
    """In the least number of copies of that shape that holds the requests."""
    most = devices.count // shape.gpus
    division = _division_of(shape, asked)
    one = _one(devices, asked, division, shape)
    alone = _capped(requests_held(one.free_each, asked, division), shape.max_concurrency)
    copies = min(max(ceil(Fraction(asked.concurrency, max(alone, 1))), 1), most)
    every = replace(asked, concurrency=_each(asked, copies))
    parts = parts_of(every, division, one.ranks, one.ranks * devices.bytes_each, shape)
    idle = devices.count - copies * one.ranks
    found: dict[Trait, bool] = {"copies": copies > 1, "more_copies": copies < most, "idle": idle > 0}
    return replace(
        one,
        copies=copies,
        idle=idle,
        bytes=_times(parts, copies, asked),
        most_requests=alone * most,
        most_tokens=_capped(tokens_held(one.free_each, _spread(asked, most), division), shape.max_context),
        traits=(*_traits(devices, asked, shape, parts), *(trait for trait, holds in found.items() if holds)),
    )


def _division_of(shape: Shape, asked: Asked) -> Division:
    """As the recipe has it; where it does not say, as wide as can be."""
    if shape.tensor is not None and asked.division.tensor * asked.division.pipeline == 1:
        return replace(asked.division, tensor=shape.tensor, pipeline=shape.pipeline or 1)
    return divided(shape.gpus, asked)[0]


def _spread(asked: Asked, copies: int) -> Asked:
    """The question as one of so many copies has it."""
    return replace(asked, concurrency=_each(asked, copies))


def _of_division(devices: Devices, asked: Asked, division: Division) -> Layout:
    """Over all devices, once."""
    one = _one(devices, asked, division, None)
    idle = max(devices.count - one.ranks, 0) if one.ranks else 0
    traits = _traits(devices, asked, None, one.bytes)
    return replace(one, idle=idle, traits=(*traits, "idle") if idle else traits)


def _one(devices: Devices, asked: Asked, division: Division, shape: Shape | None) -> Layout:
    """One copy of it."""
    count = devices.count if devices.accelerator_bytes else 0
    ranks = division.tensor * division.pipeline
    parts = parts_of(asked, division, ranks, ranks * devices.bytes_each if count else devices.memory_bytes, shape)
    free = devices.bytes_each - _resident_each(asked, division, parts) if count else 0
    return Layout(
        division=division,
        shape=shape,
        rule=_tensor_rule(asked, division.tensor) or ("too_few_devices" if 0 < count < ranks else None),
        ranks=ranks if count else 0,
        copies=1,
        idle=0,
        bytes=parts,
        free_each=free,
        most_requests=requests_held(free, asked, division),
        most_tokens=tokens_held(free, asked, division),
        traits=(),
        concurrency=asked.concurrency,
    )


def _resident_each(asked: Asked, division: Division, parts: Bytes) -> int:
    """What lies on the fullest rank before any request: that of the stage with the most layers."""
    stages = division.pipeline
    largest = Fraction(ceil(Fraction(asked.layers, stages)), asked.layers) if asked.layers else Fraction(1, stages)
    even = Fraction(parts.workspace + parts.padding, division.tensor * stages)
    return ceil(parts.weights * largest / division.tensor + even)


def _times(parts: Bytes, copies: int, asked: Asked) -> Bytes:
    """Of all copies; requests are not counted twice where copies do not share them evenly."""
    each = Fraction(asked.concurrency, _each(asked, copies))
    return Bytes(
        weights=parts.weights * copies,
        kda_state=ceil(parts.kda_state * each),
        mla_cache=ceil(parts.mla_cache * each),
        workspace=parts.workspace * copies,
        padding=parts.padding * copies,
    )


def _tensor_rule(asked: Asked, ranks: int) -> Rule | None:
    """Why a layer cannot be divided among so many."""
    if ranks not in TENSOR_RANKS:
        return "tensor_ranks"
    if not _divides(ranks, asked.heads):
        return "tensor_heads"
    if not _divides(ranks, asked.vocabulary):
        return "tensor_vocabulary"
    return None if ranks % asked.division.context == 0 else "context_ranks"


def _divides(ranks: int, parts: int | None) -> bool:
    return parts is None or parts % ranks == 0


def parts_of(asked: Asked, division: Division, ranks: int, memory: int, shape: Shape | None) -> Bytes:
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


def requests_held(free: int, asked: Asked, division: Division) -> int:
    return most_requests(free, asked.kept, asked.context, division) if free > 0 else 0


def tokens_held(free: int, asked: Asked, division: Division) -> int:
    longest = most_tokens(free, asked.kept, asked.concurrency, division) if free > 0 else 0
    return min(longest, asked.max_context)


def _capped(amount: int, most: int | None) -> int:
    return amount if most is None else min(amount, most)


def _traits(devices: Devices, asked: Asked, shape: Shape | None, parts: Bytes) -> tuple[Trait, ...]:
    contested = [s for s in asked.shapes if s.gpu == devices.name and s.status == "unsupported"]
    found: dict[Trait, bool] = {
        "padding": parts.padding > 0,
        "contested": any(s.gpus <= devices.count for s in contested),
        "limited": shape is not None and bool(shape.max_context or shape.max_concurrency),
        "workspace_share": asked.workspace_bytes is None,
        "workspace_stated": asked.workspace_bytes is not None,
        "expansion": asked.loaded_bytes != asked.weights_bytes,
        "no_fp4": asked.is_fp4 and bool(devices.accelerator_bytes) and not devices.native_fp4,
    }
    return tuple(trait for trait, holds in found.items() if holds)
