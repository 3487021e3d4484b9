"""The answer to "does it fit?": a model's form on given machines, with what to do next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.owning.figures import Figure
from gateway.owning.fits import commands, licences, preflight, reasons
from gateway.owning.fits.asking import SLOTS, asking, find
from gateway.owning.fits.instead import instead, longest
from gateway.owning.fits.links import links
from gateway.owning.fits.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from gateway.catalog.models import Model, Quant, Said
    from gateway.economics.fit import Fit, Verdict
    from gateway.economics.memory import Division, Kept
    from gateway.owning.fits.asking import Asking, Question
    from gateway.owning.fits.commands import Line, Plan
    from gateway.owning.fits.instead import Instead
    from gateway.owning.fits.places import Place
    from gateway.owning.fits.preflight import Check
    from gateway.owning.fits.this_machine import Machine

_SLOW = frozenset({"quant_hybrid", "disk_stream"})
_BANDWIDTHS: dict[Verdict, tuple[str, str]] = {
    "quant_hybrid": ("note.no_host_bandwidth", "--host-bandwidth"),
    "disk_stream": ("note.no_disk_bandwidth", "--disk-bandwidth"),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """All that the page and the command tell."""

    question: Question
    model: Model
    quant: Quant
    place: Place
    plan: Plan
    kept: Kept
    fit: Fit
    notes: tuple[Sentence, ...]
    links: tuple[Sentence, ...]
    instead: tuple[Instead, ...]
    download: Line | None
    start: Line | None
    """None where it does not fit."""
    checks: tuple[Check, ...]
    licence: tuple[Sentence, ...]
    figures: tuple[Figure, ...]
    """Every figure that the answer rests on."""
    catalog: tuple[Sentence, ...]
    """What the catalog notes on the model and on the machines."""

    @property
    def headline(self) -> Sentence:
        """The verdict in a sentence."""
        if self.fit.because == "cpu_memory":
            return Sentence("verdict.quant_hybrid.processor")
        if self.fit.verdict == "quant_hybrid" and self.model.experts is None:
            return Sentence("verdict.quant_hybrid.layers")
        return Sentence(f"verdict.{self.fit.verdict}")

    @property
    def why(self) -> Sentence:
        """Why the verdict is what it is."""
        why = reasons.why(self.fit, self.place.title)
        if self.fit.because != "context_beyond_model":
            return why
        said = self.model.figures.get("max_context", self.model.said)
        return replace(why, source=reasons.cited(said.source, said.as_of))

    @property
    def division(self) -> Division:
        return self.fit.division


def answer(question: Question, today: date, here: Machine | None = None) -> Answer:
    """Answer it for named machines, or for this one if it is given and none is named."""
    found = asking(question, today, here)
    fitted = found.fitted()
    plan = found.plan(fitted)
    return Answer(
        question=question,
        model=found.model,
        quant=found.quant,
        place=found.place,
        plan=plan,
        kept=found.kept,
        fit=fitted,
        notes=(*_notes(found, fitted, today), *longest(found, fitted, today, here)),
        links=links(found.place, plan.nodes),
        instead=tuple(instead(found, fitted, today, here)),
        download=commands.download(found.model, found.quant),
        start=commands.start(plan) if _starts(found, fitted) else None,
        checks=() if fitted.verdict == "no" else preflight.checks(plan, found.place),
        licence=licences.notes(found.model, question.use),
        figures=(*found.place.figures, *_figures(found)),
        catalog=tuple(_catalog_notes(found)),
    )


def _starts(found: Asking, fitted: Fit) -> bool:
    """False where it does not fit, and where another engine than this one is what holds it."""
    if fitted.verdict == "no" or _other_engine(found, fitted):
        return False
    return found.engine == "llama_server" or not _needs_llama(found, fitted)


def _other_engine(found: Asking, fitted: Fit) -> str | None:
    """The engine whose shape it rests on, if it is none that is started from here."""
    engine = fitted.shape.engine if fitted.shape else found.engine
    return None if engine == found.engine else engine


def _needs_llama(found: Asking, fitted: Fit) -> bool:
    """True where the host's memory or the disk hold a part, and where host and accelerator share one memory."""
    return fitted.verdict in _SLOW or found.place.kind == "unified"


def every_form(question: Question, today: date, here: Machine | None = None) -> tuple[Answer, ...]:
    """The same for every form of the model that the engine reads, the largest first; BadRequest if it reads none."""
    model = find(question.model)
    read = [form for form in model.quants if question.engine is None or commands.reads(question.engine, form)]
    forms = sorted(read or model.quants, key=lambda quant: -quant.memory_bytes)
    return tuple(answer(replace(question, quant=form.name), today, here) for form in forms)


def _notes(found: Asking, fitted: Fit, today: date) -> Iterator[Sentence]:
    model, quant, devices = found.model, found.quant, found.place.devices
    yield from found.place.notes
    if not model.is_open(today):
        yield Sentence("note.closed", {"model": model.title})
    if fitted.because in {"nas", "little_memory"}:
        yield Sentence(f"note.{fitted.because}")
    if quant.is_doubtful:
        yield Sentence("note.doubtful", {"quant": quant.name})
    active = quant.active_bytes(model.active_parameters)
    if active is not None and model.experts is not None and fitted.verdict not in {"native_verified", "quant_gpu"}:
        facts = {
            "active_parameters": model.active_parameters, "parameters": model.parameters,
            "active_bytes": active, "weights_bytes": quant.weights_bytes,
        }  # fmt: skip
        yield Sentence("note.active_is_not_stored", facts)
    other = _other_engine(found, fitted)
    if fitted.verdict != "no" and other:
        yield Sentence("note.other_engine", {"engine": reasons.called(other)})
    if _needs_llama(found, fitted) and fitted.verdict != "no" and found.engine != "llama_server":
        yield from _other_format(found)
    yield from _cache_notes(found)
    yield from reasons.traits(fitted)
    if fitted.verdict != "no" and fitted.ceiling_tps is None:
        code, option = _BANDWIDTHS.get(fitted.verdict, ("note.no_bandwidth", "--gpu-bandwidth"))
        yield Sentence(code, {"option": option})
    if fitted.verdict != "no" and model.open_weights and quant.repository is None:
        folder = commands.folder(model, quant)
        yield Sentence("note.no_repository", {"quant": quant.name, "model": model.title, "folder": folder})
    if found.place.here is None and devices.is_accelerator and not devices.host_bytes:
        yield Sentence("note.host_not_given", {"option": "--host-memory"})
    needed = quant.free_disk_bytes
    if needed is not None and not devices.disk_bytes:
        yield Sentence("note.disk_not_given", {"disk_bytes": needed, "option": "--disk"})
    elif needed is not None and devices.disk_bytes < needed:
        yield Sentence("note.disk_short", {"disk_bytes": needed, "there_bytes": devices.disk_bytes})


def _other_format(found: Asking) -> Iterator[Sentence]:
    """The form for llama.cpp that is nearest in size."""
    others = [each for each in found.model.quants if each.format == "gguf" and not each.is_doubtful]
    nearest = min(others, key=lambda each: abs(each.memory_bytes - found.quant.memory_bytes), default=None)
    engine = reasons.called(found.engine)
    if nearest is None:
        yield Sentence("note.no_gguf", {"engine": engine, "model": found.model.title})
    else:
        yield Sentence("note.take_gguf", {"engine": engine, "quant": nearest.name})


def _cache_notes(found: Asking) -> Iterator[Sentence]:
    if not found.model.cache:
        yield Sentence("note.no_geometry", {"model": found.model.title})
        return
    if found.question.cache is None:
        yield Sentence(f"note.cache_{found.cache}", {"option": "--cache"})
    if found.kept.per_request:
        facts = {
            "state_bytes": found.kept.per_request, "slots": SLOTS[found.engine],
            "token_bytes": found.kept.per_token,
        }  # fmt: skip
        yield Sentence("note.two_pools", facts)


def _catalog_notes(found: Asking) -> Iterator[Sentence]:
    """On the model, on the form and on the machines."""
    gpu, quant = found.place.gpu, found.quant
    for note in found.model.notes:
        yield Sentence("text", {"text": note})
    for name, said in quant.notes:
        facts = {"quant": quant.name, "text": said.note}
        yield Sentence(f"note.on.{name}", facts, reasons.cited(said.source, said.as_of))
    for note in gpu.notes if gpu else ():
        yield Sentence("text", {"text": note})


def _figures(found: Asking) -> Iterator[Figure]:
    model, quant = found.model, found.quant
    yield _bundled("model.parameters", model.parameters, "parameters", model.figures.get("parameters", model.said))
    yield _bundled(
        "model.active_parameters", model.active_parameters, "parameters",
        model.figures.get("active_parameters", model.said),
    )  # fmt: skip
    yield _bundled("model.max_context", model.max_context, "tokens", model.figures.get("max_context", model.said))
    yield _bundled("quant.memory", quant.memory_bytes, "bytes", quant.figures.get("memory", quant.said))
    if quant.file_bytes is not None:
        yield _bundled("quant.file", quant.file_bytes, "bytes", quant.figures.get("file", quant.said))
    if found.model.cache:
        yield _bundled("cache.per_token", found.kept.per_token, "bytes", model.figures.get("cache", model.said))
    if found.model.state:
        yield _bundled("state.per_request", found.kept.per_request, "bytes", model.figures.get("state", model.said))


def _bundled(name: str, value: int, unit: str, said: Said) -> Figure:
    return Figure(name, Fraction(value), unit, "bundled", said.source, said.as_of)
