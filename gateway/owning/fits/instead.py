"""What would hold a model where given machines do not, or not well."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from gateway.catalog.hardware import gpus
from gateway.catalog.models import models
from gateway.economics import fit as arithmetic
from gateway.owning.fits import reasons
from gateway.owning.fits.asking import ENGINES, asking
from gateway.owning.fits.places import Given, short_title
from gateway.owning.fits.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from gateway.catalog.models import Topology
    from gateway.economics.fit import Fit, Verdict
    from gateway.owning.fits.asking import Asking
    from gateway.owning.fits.sentences import Fact
    from gateway.owning.fits.this_machine import Machine

_BEST: tuple[Verdict, ...] = (
    "native_verified", "native_unverified", "quant_gpu", "quant_hybrid", "disk_stream", "no",
)  # fmt: skip
_SLOW = frozenset({"quant_hybrid", "disk_stream"})
_STATUSES = ("verified", "stated", "unsupported")
_BY_LENGTH = frozenset({"context_beyond_model", "no_room_for_cache", "beyond_recipe"})
_MOST_SHAPES, _MOST_COPIES = 4, 8


@dataclass(frozen=True, slots=True)
class Instead:
    """Something that would hold it."""

    kind: Literal["more", "quant", "model", "shape", "hosted"]
    told: Sentence
    model: str
    gpu: str | None = None
    count: int | None = None
    quant: str | None = None
    verdict: Verdict | None = None


def instead(found: Asking, fitted: Fit, today: date, here: Machine | None) -> Iterator[Instead]:
    """What would hold it, where these machines do not: more of them, a smaller form, other machines, a host."""
    if fitted.verdict != "no" and fitted.verdict not in _SLOW:
        return
    yield from _more(found, today, here)
    yield from _smaller(found, fitted, today, here)
    if fitted.verdict != "quant_hybrid":
        yield from _other_model(found, fitted, today, here)
    if fitted.because == "context_beyond_model":
        return
    yield from _others(found, today)
    yield Instead("hosted", Sentence("instead.hosted"), found.model.name)


def longest(found: Asking, fitted: Fit, today: date, here: Machine | None) -> Iterator[Sentence]:
    """How long a request may be, where only its length is too much."""
    if fitted.because not in _BY_LENGTH:
        return
    short = asking(replace(found.question, context=1), today, here).fitted()
    if short.verdict == "no":
        return
    held = asking(replace(found.question, context=short.max_context), today, here).fitted()
    if held.verdict != "no":
        yield Sentence("note.longest", {"longest": held.max_context, "verdict": f"@called.{held.verdict}"})


def _more(found: Asking, today: date, here: Machine | None) -> Iterator[Instead]:
    """The least number of the same accelerators that holds it by itself."""
    devices = found.place.devices
    if not devices.accelerator_bytes or devices.kind != "gpu":
        return
    count = arithmetic.least(devices, found.asked())
    if count is None or count <= devices.count:
        return
    given = replace(found.question.given, count=count, host_bytes=0, disk_bytes=0)
    more = asking(replace(found.question, given=given), today, here).fitted()
    if not more.is_on_accelerators:
        return
    verdict = more.verdict
    facts: dict[str, Fact] = {
        "count": count,
        "gpu": found.place.title,
        "quant": found.quant.name,
        "verdict": f"@called.{verdict}",
    }
    told = Sentence("instead.more", facts)
    yield Instead("more", told, found.model.name, devices.name, count, found.quant.name, verdict)


def _smaller(found: Asking, fitted: Fit, today: date, here: Machine | None) -> Iterator[Instead]:
    """The largest form that these machines hold better."""
    forms = sorted(found.model.quants, key=lambda quant: -quant.memory_bytes)
    best: Instead | None = None
    for form in forms:
        if form.memory_bytes >= found.quant.memory_bytes or form.is_doubtful:
            continue
        verdict = (
            asking(replace(found.question, quant=form.name, engine=None, cache=None), today, here).fitted().verdict
        )
        if _BEST.index(verdict) >= _BEST.index(best.verdict if best and best.verdict else fitted.verdict):
            continue
        quality = form.quality or "@quality.unknown"
        facts: dict[str, Fact] = {"quant": form.name, "quality": quality, "verdict": f"@called.{verdict}"}
        facts |= reasons.number(fitted, "these_hold")
        devices = found.place.devices
        told = Sentence("instead.quant", facts)
        best = Instead("quant", told, found.model.name, devices.name, devices.count, form.name, verdict)
    if best is not None:
        yield best


def _other_model(found: Asking, fitted: Fit, today: date, here: Machine | None) -> Iterator[Instead]:
    """The largest other model that these accelerators hold, else that all memory together does."""
    if found.place.kind == "nas":
        return
    held = sorted(_held(found, fitted, today, here), key=lambda each: each.verdict in _SLOW)
    yield from held[:1]


def _held(found: Asking, fitted: Fit, today: date, here: Machine | None) -> Iterator[Instead]:
    """Each other model that these machines hold in memory, the largest first, in the form that they hold best."""
    asked = replace(found.question, engine=None, cache=None, context_ranks=1)
    devices = found.place.devices
    for model in sorted(models().values(), key=lambda each: -each.parameters):
        if model.name == found.model.name or not model.is_open(today) or asked.context > model.max_context:
            continue
        tried = [
            (asking(replace(asked, model=model.name, quant=form.name), today, here).fitted().verdict, form)
            for form in sorted(model.quants, key=lambda quant: -quant.memory_bytes)
            if not form.is_doubtful
        ]
        verdict, form = min(tried, key=lambda each: _BEST.index(each[0]))
        if _BEST.index(verdict) <= _BEST.index("quant_hybrid"):
            facts: dict[str, Fact] = {"model": model.title, "quant": form.name, "verdict": f"@called.{verdict}"}
            facts |= reasons.number(fitted, "these_hold")
            told = Sentence("instead.model", facts)
            yield Instead("model", told, model.name, devices.name, devices.count, form.name, verdict)


def _others(found: Asking, today: date) -> Iterator[Instead]:
    """The smallest shapes that engines are known to run it on, in as many copies as hold what was asked."""
    seen: set[str] = set()
    shapes = sorted(found.model.topologies, key=lambda each: (each.gpus, _STATUSES.index(each.status)))
    for each in shapes:
        if each.quant != found.quant.name or each.status == "unsupported" or each.gpu in seen:
            continue
        copies = _copies(found, each, today)
        if copies is None:
            continue
        seen.add(each.gpu)
        known = gpus().get(each.gpu)
        facts: dict[str, Fact] = {
            "count": each.gpus * copies,
            "gpu": short_title(known) if known else each.gpu,
            "nodes": each.nodes * copies,
            "quant": each.quant,
            "engine": reasons.called(each.engine),
            "status": f"@status.{each.status}",
        }
        code = "instead.shape" if each.nodes * copies == 1 else "instead.shapes"
        told = Sentence(code, facts, reasons.cited(each.said.source, each.said.as_of))
        yield Instead("shape", told, found.model.name, each.gpu, each.gpus * copies, each.quant)
        if len(seen) == _MOST_SHAPES:
            return


def _copies(found: Asking, shape: Topology, today: date) -> int | None:
    """How many copies of a shape hold the requests; None: as many as are thought of do not, or no request fits one."""
    for copies in range(1, _MOST_COPIES + 1):
        given = Given(gpu=shape.gpu, count=shape.gpus * copies)
        question = replace(found.question, given=given, engine=ENGINES.get(shape.engine), cache=None)
        fitted = asking(question, today, None).fitted()
        if fitted.verdict != "no":
            return copies
    return None
