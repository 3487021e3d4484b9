"""A question about fit with its names looked up: model, form, machines, engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway.catalog.models import find_model
from gateway.economics import fit as arithmetic
from gateway.economics.layouts import Asked, Shape
from gateway.economics.memory import Division, Kept, attention_bytes, recurrent_bytes
from gateway.errors import BadRequest
from gateway.owning.fits import commands, reasons
from gateway.owning.fits.commands import Plan
from gateway.owning.fits.links import cards_per_node
from gateway.owning.fits.places import Given, Place, place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from gateway.catalog.models import CacheLayers, Model, Quant, Use
    from gateway.economics.fit import Fit
    from gateway.owning.fits.commands import CacheType, Engine
    from gateway.owning.fits.this_machine import Machine

CONTEXT, CONCURRENCY = 32_768, 1
SLOTS: dict[Engine, int] = {"vllm": 5, "sglang": 5, "llama_server": 1}
"""State slots that engines keep for one request."""
_VALUE_BYTES: dict[CacheType, int] = {"fp8": 1, "bf16": 2}
_INDEX_BYTES, _STATE_BYTES = 2, 4
ENGINES: dict[str, Engine] = {engine: engine for engine in commands.PORTS}
"""Those that are started from here, by the names that topologies have them under."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Whether machines hold a model."""

    given: Given = field(default_factory=Given)
    model: str = "kimi-k3"
    quant: str = "native"
    context: int = CONTEXT
    concurrency: int = CONCURRENCY
    engine: Engine | None = None
    """None: the one that is best known to run it there."""
    cache: CacheType | None = None
    """What the attention cache is kept in; None: as the engine's recipe does."""
    context_ranks: int = 1
    """Ranks that share the tokens of the attention cache (DCP)."""
    use: Use = "internal"


@dataclass(frozen=True, slots=True)
class Asking:
    """A question with its names looked up."""

    question: Question
    model: Model
    quant: Quant
    place: Place
    engine: Engine
    cache: CacheType
    kept: Kept

    def fitted(self) -> Fit:
        """What the arithmetic says."""
        return arithmetic.fit(self.place.devices, self.asked())

    def asked(self) -> Asked:
        """The question as the arithmetic takes it."""
        quant, model = self.quant, self.model
        return Asked(
            model=model.title,
            quant=quant.name,
            is_native=quant.name == "native",
            weights_bytes=quant.weights_bytes,
            active_bytes=quant.active_bytes(model.active_parameters) or 0,
            disk_bytes=quant.free_disk_bytes or quant.memory_bytes,
            kept=self.kept,
            division=self._division(),
            heads=model.heads,
            vocabulary=model.vocabulary,
            max_context=model.max_context,
            context=self.question.context,
            concurrency=self.question.concurrency,
            shapes=tuple(_shapes(model, quant, self.question.engine)),
            expansion=quant.expansion,
            workspace_bytes=quant.overhead_bytes,
            is_fp4=quant.is_fp4,
            layers=model.layers,
            reads_all=model.experts is None,
            by_layers=self.engine == "llama_server",
        )

    def _division(self) -> Division:
        """Nobody's choice yet."""
        return Division(context=self.question.context_ranks, state_slots=SLOTS[self.engine])

    def plan(self, fitted: Fit) -> Plan:
        """How the engine is started on it."""
        devices, shape = self.place.devices, fitted.shape
        gpus = min(fitted.ranks, devices.count) if fitted.is_on_accelerators else devices.count
        nodes = max(1, -(-gpus // cards_per_node(self.place.gpu)))
        return Plan(
            engine=self.engine,
            model=self.model,
            quant=self.quant,
            verdict=fitted.verdict,
            gpu=devices.name,
            architecture=self.place.architecture,
            vendor=self.place.vendor,
            gpus=gpus,
            nodes=shape.nodes if shape else nodes,
            tensor=fitted.division.tensor,
            pipeline=fitted.division.pipeline,
            groups=shape.groups if shape else 1,
            context=self.question.context,
            concurrency=-(-self.question.concurrency // fitted.copies),
            cache=self.cache,
            context_ranks=self.question.context_ranks,
            copies=fitted.copies,
            is_accelerated=devices.accelerator_bytes > 0,
            layers_held=self._layers_held(fitted),
        )

    def _layers_held(self, fitted: Fit) -> int:
        """As if all layers were alike, and none lay on two cards."""
        parts, layers = fitted.bytes, self.model.layers or 0
        free = self.place.devices.accelerator_bytes - parts.workspace - parts.cached
        return max(min(layers, free * layers // parts.weights), 0)


def asking(question: Question, today: date, here: Machine | None) -> Asking:
    """Look its names up; BadRequest for those that are unknown."""
    model = find(question.model)
    quant = quant_of(model, question.quant)
    where = place(question.given, today, here)
    usual: Engine = "llama_server" if quant.format == "gguf" else "vllm"
    engine = question.engine or usual
    if not commands.reads(engine, quant):
        raise BadRequest(_unread(engine, model, quant), param="engine")
    found = _with(question, model, quant, where, engine)
    shape = found.fitted().shape
    if question.engine is None and shape is not None and shape.engine != usual and shape.engine in commands.PORTS:
        return _with(question, model, quant, where, ENGINES[shape.engine])
    return found


def _unread(engine: Engine, model: Model, quant: Quant) -> str:
    """That an engine does not read that form, and which others it does."""
    forms = [each.name for each in model.quants if commands.reads(engine, each)]
    others = f"take --quant {' or '.join(forms)}, or leave --engine out" if forms else "leave --engine out"
    called = reasons.called(engine)
    return f"{called} does not read {quant.name} of {model.title}, whose files are {quant.format}: {others}"


def _with(question: Question, model: Model, quant: Quant, where: Place, engine: Engine) -> Asking:
    cache = question.cache or commands.cache_type(engine, model, where.architecture)
    if cache == "fp8" and commands.refuses_fp8(engine, model, where.architecture):
        raise BadRequest(
            f"{model.title} with vLLM has no FP8 cache on Hopper (vLLM issue 51313): leave --cache out", param="cache"
        )
    return Asking(question, model, quant, where, engine, cache, kept(model, cache))


def find(name: str) -> Model:
    """The model of that name; BadRequest that says what was probably meant."""
    try:
        return find_model(name)
    except LookupError as error:
        raise BadRequest(str(error), param="model") from None


def quant_of(model: Model, name: str) -> Quant:
    """The form of that name; BadRequest that says what was probably meant."""
    try:
        return model.quant(name)
    except LookupError as error:
        raise BadRequest(str(error), param="quant") from None


def kept(model: Model, cache: CacheType) -> Kept:
    """What a model's layers keep beside its weights, each kind of layer by its own rule."""
    full = [layers for layers in model.cache if layers.window is None]
    sizes = {layers: _bytes_per_token(layers, cache) for layers in model.cache}
    divided = sum(sizes[layers] for layers in full if layers.kind == "gqa")
    heads = [layers.kv_heads for layers in model.cache if layers.kv_heads is not None]
    return Kept(
        per_token=sum(sizes[layers] for layers in full),
        divided_per_token=divided,
        per_request=sum(
            recurrent_bytes(each.layers, each.state_values, each.convolution_values, _STATE_BYTES)
            for each in model.state
        ),
        windowed=tuple((sizes[layers], layers.window) for layers in model.cache if layers.window is not None),
        kv_heads=min(heads, default=None),
    )


def _bytes_per_token(layers: CacheLayers, cache: CacheType) -> int:
    index = attention_bytes(layers.layers, layers.index_values or 0, _INDEX_BYTES)
    return attention_bytes(layers.layers, layers.values_per_token, _VALUE_BYTES[cache]) + index


def _shapes(model: Model, quant: Quant, engine: Engine | None) -> Iterator[Shape]:
    """Those of engines that are started from here come first."""
    for each in sorted(model.topologies, key=lambda each: each.engine not in commands.PORTS):
        if each.quant == quant.name and engine in (None, each.engine):
            yield Shape(
                engine=each.engine,
                gpu=each.gpu,
                gpus=each.gpus,
                nodes=each.nodes,
                status=each.status,
                source=each.said.source,
                as_of=each.said.as_of,
                note=each.said.note,
                tensor=each.tensor,
                pipeline=each.pipeline,
                groups=each.groups,
                resident_bytes_each=each.resident_bytes_each,
                max_context=each.max_context,
                max_concurrency=each.max_concurrency,
            )
