"""Models as they are built and stored, from models.yaml, each figure with its source and day."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from gateway.catalog.sheets import (
    FOLDER,
    Count,
    Line,
    Named,
    Number,
    SaidText,
    Sheet,
    Size,
    Sourced,
    names,
    read_sheet,
)
from gateway.catalog.sheets import Said as Said
from policies.fields import Strict, Word, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

Format = Literal["safetensors", "gguf"]
Use = Literal["internal", "product", "service"]
Status = Literal["verified", "stated", "unsupported"]

_FILE = FOLDER / "models.yaml"
_BITS_A_BYTE = 8


@dataclass(frozen=True, slots=True)
class CacheLayers:
    """Layers that keep something for every token, all alike: what one of them keeps, in values.

    MLA: one latent and one rope part for all heads. Attention with (grouped) heads: keys and values of each.
    """

    layers: int
    kind: Literal["mla", "gqa"]
    values_per_token: int
    """MLA: kv_lora_rank + rope; GQA: 2 · key-value heads · head size."""
    kv_heads: int | None = None
    """GQA: over which tensor parallelism divides them; MLA is repeated on every rank."""
    window: int | None = None
    """Tokens that a sliding window keeps at most; None: all."""
    index_values: int | None = None
    """Of an index beside them, kept in two bytes each whatever the rest is in; None: there is none."""


@dataclass(frozen=True, slots=True)
class StateLayers:
    """Layers that keep a state of fixed size for every request (KDA)."""

    layers: int
    state_values: int
    """Of one layer, in the state's own precision."""
    convolution_values: int
    """Of one layer, always in two bytes."""


@dataclass(frozen=True, slots=True)
class Quant:
    """One form in which a model is stored."""

    name: str
    """As its makers call it: `native`, `UD-IQ1_S`."""
    format: Format
    file_bytes: int | None
    memory_bytes: int
    """Of the weights, when they are loaded; with what the engine takes beside them where `has_overhead` says so."""
    disk_bytes: int | None
    """That should be free, staging included; None: file_bytes and a tenth."""
    bits_per_parameter: Fraction | None
    repository: str | None
    files: int | None
    """How many parts."""
    quality: str | None
    """What is known of how much it loses, as people say it: `≈79% top-1`."""
    said: Said
    pattern: str | None = None
    """Which files of the repository, as `hf download --include` takes it."""
    revision: str | None = None
    """The commit that the figures are of; None: unknown, and the command says so."""
    has_overhead: bool = False
    """True if the source's memory figure holds what the engine takes beside the weights."""
    active_bits: Fraction | None = None
    """Bits of a parameter that a token reads, where they are others than on average."""
    is_fp4: bool = False
    """True if its weights are in four bits that only some accelerators compute with; others unpack them at run time."""
    expansion: Fraction | None = None
    """What loading multiplies the weights by, where the engine keeps them in a wider form (Q8 in BF16: 2)."""
    is_doubtful: bool = False
    """True if somebody tells of it that it does not work: nobody is to be sent to it."""
    figures: Mapping[str, Said] = field(default_factory=dict)
    """Sources of single figures, where they are others than `said`."""

    @property
    def notes(self) -> tuple[tuple[str, Said], ...]:
        """Its sources that say more than a figure, each with what it is on: one of its figures, or the `form`."""
        return tuple((name, said) for name, said in (("form", self.said), *self.figures.items()) if said.note)

    @property
    def weights_bytes(self) -> int:
        """Of the weights alone."""
        return self.file_bytes if self.has_overhead and self.file_bytes is not None else self.memory_bytes

    @property
    def overhead_bytes(self) -> int | None:
        """What the source adds to the weights; None: it says nothing of it."""
        return self.memory_bytes - self.weights_bytes if self.has_overhead else None

    @property
    def free_disk_bytes(self) -> int | None:
        """That should be free before the download begins; None: unknown."""
        if self.disk_bytes is not None or self.file_bytes is None:
            return self.disk_bytes
        return self.file_bytes + self.file_bytes // 10

    def active_bytes(self, active_parameters: int) -> int | None:
        """What a token reads of the weights; None: unknown."""
        bits = self.active_bits or self.bits_per_parameter
        return None if bits is None else int(active_parameters * bits / _BITS_A_BYTE)


@dataclass(frozen=True, slots=True)
class Topology:
    """A shape of devices that an engine is known to run a model's form on."""

    engine: str
    quant: str
    gpu: str
    gpus: int
    """In all."""
    nodes: int
    status: Status
    """`verified`: somebody ran it; `stated`: a recipe names it; `unsupported`: it is known not to work."""
    said: Said
    tensor: int | None = None
    """Ranks that share each layer; None: the recipe does not say."""
    pipeline: int | None = None
    groups: int = 1
    """Data-parallel groups that share the experts, one on each node, as which it was run."""
    resident_bytes_each: int | None = None
    """What the weights were seen to take on each, with the engine's padding; None: nobody has said."""
    max_context: int | None = None
    """To which the recipe is held; None: the model's own."""
    max_concurrency: int | None = None
    """To which the recipe is held; None: what memory allows."""


@dataclass(frozen=True, slots=True)
class Parsers:
    """What one engine reads tool calls and reasoning with, by its own names; None: it has none for this model."""

    tools: str | None = None
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Experts:
    """Of one layer: how many there are, how many a token reads, and how many every token reads."""

    routed: int
    active: int
    shared: int


@dataclass(frozen=True, slots=True)
class Model:
    """One model."""

    name: str
    title: str
    parameters: int
    active_parameters: int
    max_context: int
    open_weights: bool
    repository: str | None
    licence: str
    licence_notes: tuple[tuple[str, str], ...]
    """What an intended use means under it: pairs of use (`internal`, `product`, `service`) and note."""
    heads: int | None
    vocabulary: int | None
    cache: tuple[CacheLayers, ...]
    state: tuple[StateLayers, ...]
    quants: tuple[Quant, ...]
    topologies: tuple[Topology, ...]
    said: Said
    aliases: tuple[str, ...] = ()
    layers: int | None = None
    experts: Experts | None = None
    """None: every token reads all of it."""
    weights_since: date | None = None
    """The day on which the weights became public; None: unknown, or never."""
    notes: tuple[str, ...] = ()
    """What else to know of it."""
    parsers: Mapping[str, Parsers] = field(default_factory=dict)
    """By engine, as the recipes of each name them."""
    needs_remote_code: bool = False
    """True if its repository brings code of its own that vLLM and SGLang run."""
    recipe: str | None = None
    """The model whose image, options and traps engines have for it, where it needs others than engines usually have."""
    figures: Mapping[str, Said] = field(default_factory=dict)
    """Sources of single figures, where they are others than `said`."""

    def is_open(self, day: date) -> bool:
        """True if its weights were public on that day."""
        return self.open_weights and (self.weights_since is None or self.weights_since <= day)

    def quant(self, name: str) -> Quant:
        """The form of that name; LookupError that says what was probably meant."""
        return Named(f"form of {self.title}", {quant.name: quant for quant in self.quants}, {}).find(name)


def models() -> dict[str, Model]:
    """Every model, by its short name."""
    return dict(_catalog().entries)


def find_model(name: str) -> Model:
    """The model of that name or alias; LookupError that says what was probably meant."""
    return _catalog().find(name)


@cache
def _catalog() -> Named[Model]:
    return read_models(_FILE.name, _FILE.read_bytes())


class _CacheEntry(Strict):
    layers: Count
    kind: Literal["mla", "gqa"]
    values_per_token: Count
    kv_heads: Count | None = None
    window: Count | None = None
    index_values: Count | None = None

    @model_validator(mode="after")
    def _has_heads(self) -> Self:
        if (self.kind == "gqa") != (self.kv_heads is not None):
            raise ValueError("kv_heads is written for gqa, and for gqa only")
        return self


class _StateEntry(Strict):
    layers: Count
    state_values: Count
    convolution_values: Count


class _ParsersEntry(Strict):
    tools: Word | None = None
    reasoning: Word | None = None


class _ExpertsEntry(Strict):
    routed: Count
    active: Count
    shared: Annotated[int, Field(ge=0)] = 0


class _QuantEntry(Sourced):
    format: Format
    memory: Size
    file: Size | None = None
    disk: Size | None = None
    bits_per_parameter: Number | None = None
    active_bits: Number | None = None
    has_overhead: bool = False
    is_fp4: bool = False
    expansion: Annotated[Number, Field(ge=1)] | None = None
    is_doubtful: bool = False
    repository: Line | None = None
    files: Count | None = None
    pattern: Line | None = None
    revision: Line | None = None
    quality: Line | None = None

    @model_validator(mode="after")
    def _holds_the_file(self) -> Self:
        if self.has_overhead and (self.file is None or self.file > self.memory):
            raise ValueError("has_overhead takes a file that is no larger than memory")
        return self


class _TopologyEntry(Strict):
    engine: Word
    quant: Word
    gpu: Word
    gpus: Count
    nodes: Count
    status: Status
    said: SaidText
    tensor: Count | None = None
    pipeline: Count | None = None
    groups: Count = 1
    resident_each: Size | None = None
    max_context: Count | None = None
    max_concurrency: Count | None = None

    @model_validator(mode="after")
    def _has_a_group_on_each_node(self) -> Self:
        if self.groups not in (1, self.nodes):
            raise ValueError("has one group on each node, or none")
        return self


class _ModelEntry(Sourced):
    title: Line
    aliases: Annotated[tuple[Line, ...], BeforeValidator(listed)] = ()
    parameters: Count
    active_parameters: Count
    max_context: Count
    open_weights: bool
    weights_since: date | None = None
    repository: Line | None = None
    licence: Line
    licence_notes: dict[Use, Line] = Field(default_factory=dict)
    layers: Count | None = None
    heads: Count | None = None
    vocabulary: Count | None = None
    experts: _ExpertsEntry | None = None
    cache: tuple[_CacheEntry, ...] = ()
    state: tuple[_StateEntry, ...] = ()
    notes: tuple[Line, ...] = ()
    parsers: dict[Word, _ParsersEntry] = Field(default_factory=dict)
    needs_remote_code: bool = False
    recipe: Word | None = None
    quants: dict[Word, _QuantEntry] = Field(default_factory=dict)
    topologies: tuple[_TopologyEntry, ...] = ()

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.active_parameters > self.parameters:
            raise ValueError("has more active parameters than parameters")
        kept = sum(some.layers for some in self.cache) + sum(some.layers for some in self.state)
        if self.layers is not None and kept not in (0, self.layers):
            raise ValueError(f"has {self.layers} layers, and cache and state of {kept}")
        for topology in self.topologies:
            if topology.quant not in self.quants:
                raise ValueError(f"has a topology of {topology.quant!r}, which is none of its quants")
        return self


class _ModelsSheet(Sheet):
    models: dict[Word, _ModelEntry]


def read_models(file: str, data: bytes) -> Named[Model]:
    """Read a sheet of models; PackError with file, line and key for all that is wrong with it."""
    source, sheet = read_sheet(file, data, _ModelsSheet)
    entries = {name: _model(sheet, name, entry) for name, entry in sheet.models.items()}
    aliases = names(source, "models", {name: entry.aliases for name, entry in sheet.models.items()})
    return Named("model", entries, aliases)


def _model(sheet: Sheet, name: str, entry: _ModelEntry) -> Model:
    experts = entry.experts
    return Model(
        name=name,
        title=entry.title,
        parameters=entry.parameters,
        active_parameters=entry.active_parameters,
        max_context=entry.max_context,
        open_weights=entry.open_weights,
        repository=entry.repository,
        licence=entry.licence,
        licence_notes=tuple(entry.licence_notes.items()),
        heads=entry.heads,
        vocabulary=entry.vocabulary,
        cache=tuple(CacheLayers(**layers.model_dump()) for layers in entry.cache),
        state=tuple(StateLayers(**layers.model_dump()) for layers in entry.state),
        quants=tuple(_quant(sheet, quant, row) for quant, row in entry.quants.items()),
        topologies=tuple(_topology(sheet, row) for row in entry.topologies),
        said=sheet.said(entry.said),
        aliases=entry.aliases,
        layers=entry.layers,
        experts=None if experts is None else Experts(experts.routed, experts.active, experts.shared),
        weights_since=entry.weights_since,
        notes=entry.notes,
        parsers={engine: Parsers(row.tools, row.reasoning) for engine, row in entry.parsers.items()},
        needs_remote_code=entry.needs_remote_code,
        recipe=entry.recipe,
        figures={figure: sheet.said(said) for figure, said in entry.figures.items()},
    )


def _quant(sheet: Sheet, name: str, entry: _QuantEntry) -> Quant:
    return Quant(
        name=name,
        format=entry.format,
        file_bytes=entry.file,
        memory_bytes=entry.memory,
        disk_bytes=entry.disk,
        bits_per_parameter=entry.bits_per_parameter,
        repository=entry.repository,
        files=entry.files,
        quality=entry.quality,
        said=sheet.said(entry.said),
        pattern=entry.pattern,
        revision=entry.revision,
        has_overhead=entry.has_overhead,
        active_bits=entry.active_bits,
        is_fp4=entry.is_fp4,
        expansion=entry.expansion,
        is_doubtful=entry.is_doubtful,
        figures={figure: sheet.said(said) for figure, said in entry.figures.items()},
    )


def _topology(sheet: Sheet, entry: _TopologyEntry) -> Topology:
    return Topology(
        engine=entry.engine,
        quant=entry.quant,
        gpu=entry.gpu,
        gpus=entry.gpus,
        nodes=entry.nodes,
        status=entry.status,
        said=sheet.said(entry.said),
        tensor=entry.tensor,
        pipeline=entry.pipeline,
        groups=entry.groups,
        resident_bytes_each=entry.resident_each,
        max_context=entry.max_context,
        max_concurrency=entry.max_concurrency,
    )
