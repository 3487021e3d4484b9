"""What the fit page says of an answer, in the reader's language."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gateway.dashboard.cited import cited, is_named
from gateway.dashboard.fit.view import HERE, SIZES
from gateway.owning.fits import reasons
from gateway.owning.fits.sentences import Sentence, say, written
from gateway.owning.written import number, rounded, size

if TYPE_CHECKING:
    from datetime import date

    from gateway.dashboard.fit.view import View
    from gateway.dashboard.texts import Texts
    from gateway.economics.fit import Room
    from gateway.errors import BadRequest
    from gateway.owning.figures import Figure
    from gateway.owning.fits.fit import Answer
    from gateway.owning.fits.instead import Instead

_EXAMPLES = {
    "gpu_memory": "96GB",
    "gpu_bandwidth": "1.8TB/s",
    "host_memory": "768GB",
    "host_bandwidth": "460GB/s",
    "disk": "2TB",
    "disk_bandwidth": "7GB/s",
}
"""How sizes are written; the fields show what is known instead, where something is."""
_COUNTS = frozenset({"count", "context", "concurrency", "dcp"})
_CHOICES = frozenset({"model", "quant", "engine", "cache", "use"})
_GOOD = frozenset({"native_verified", "native_unverified", "quant_gpu"})


@dataclass(frozen=True, slots=True)
class Part:
    """One part of what it takes."""

    name: str
    bytes: int
    share: float
    """Of all parts, in per cent."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source, its day, and what is from it."""

    source: str
    is_named: bool
    """True where it is a name, which stays in its own language."""
    as_of: date | None
    age: str
    figures: tuple[str, ...]
    """Each by what it is called, with its value."""


def writing(t: Texts) -> dict[str, Any]:
    """What the template writes with."""
    return {
        "say": lambda told: said(told, t),
        "word": lambda code: say(Sentence(code), t.language),
        "size": lambda count: size(count, t.language),
        "number": lambda count: number(count, t.language),
        "filled": filled,
        "title": lambda gpu: t.named(f"fit.machine.{gpu.name}", gpu.title),
        "called": reasons.called,
        "given": _EXAMPLES,
    }


def said(told: Sentence, t: Texts) -> str:
    """A sentence; where it names an option of the command, the page's field."""
    option = told.facts.get("option")
    if option is None:
        return say(told, t.language)
    field = f"fit.{str(option).removeprefix('--').replace('-', '_')}"
    return say(replace(told, facts={**told.facts, "option": t(field)}), t.language)


def values(found: Answer, today: date, t: Texts) -> dict[str, Any]:
    """What the template is given of an answer."""
    fitted = found.fit
    tone = "good" if fitted.verdict in _GOOD else "bad" if fitted.verdict == "no" else "warm"
    return {
        "tone": "warm" if tone == "good" and fitted.is_tight else tone,
        "parts": list(parts(found)),
        "rooms": [room for room in fitted.rooms if room.needed or room.there],
        "ceiling": None if fitted.ceiling_tps is None else rounded(fitted.ceiling_tps, t.language),
        "ceiling_told": say(Sentence("ceiling", {"ceiling_tps": fitted.ceiling_tps or 0}), t.language),
        "quality": say(Sentence("text", {"text": found.quant.quality or "@quality.unknown"}), t.language),
        "engine": reasons.called(found.plan.engine),
        "given": _given(found, t),
        "machines": machines(found, t),
        "sources": sources(found, today, t),
        "href_of": lambda view, instead: href(view, instead),
    }


def machines(found: Answer, t: Texts) -> str:
    """What the machines are called, counted where they are several."""
    place = found.place
    if place.gpu is None:
        return place.counted
    return replace(place, title=t.named(f"fit.machine.{place.gpu.name}", place.title)).counted


def wrong(problem: BadRequest, looked_at: View, t: Texts) -> str:
    """What is to be mended in the form, in the reader's language; empty where its own words have to do."""
    field = problem.param or ""
    if field in SIZES:
        return t("fit.wrong.size", field=t(f"fit.{field}"))
    if field in _COUNTS:
        return t("fit.wrong.count", field=t(f"fit.{field}"))
    if field in _CHOICES:
        return t("fit.wrong.choice", field=t(f"fit.{field}"))
    return t("fit.wrong.other") if looked_at.gpu != HERE and not looked_at.gpu_memory else ""


def _given(found: Answer, t: Texts) -> dict[str, str]:
    """What counts where nothing is written, as the fields' examples."""
    devices = found.place.devices
    known = {
        "gpu_memory": devices.bytes_each if devices.accelerator_bytes else None,
        "gpu_bandwidth": devices.bytes_per_second if devices.accelerator_bytes else None,
        "host_memory": devices.host_bytes,
        "host_bandwidth": devices.host_bytes_per_second,
        "disk": devices.disk_bytes,
        "disk_bandwidth": devices.disk_bytes_per_second,
    }
    return {
        name: example if not known[name] else size(known[name] or 0, t.language) for name, example in _EXAMPLES.items()
    }


def parts(found: Answer) -> list[Part]:
    """By part, those that are nothing left out."""
    whole = found.fit.bytes
    each = {
        "weights": whole.weights,
        "padding": whole.padding,
        "kda_state": whole.kda_state,
        "mla_cache": whole.mla_cache,
        "workspace": whole.workspace,
    }
    return [Part(name, count, 100 * count / whole.total) for name, count in each.items() if count]


def filled(room: Room) -> float:
    """How full a budget is, in per cent; more than full is full."""
    return float(min(Fraction(100 * room.needed, room.there), Fraction(100))) if room.there else 100.0


def href(view: View, instead: Instead) -> str | None:
    """The page of what would hold it."""
    if instead.kind == "hosted":
        return "/dashboard/owning"
    if instead.kind in {"quant", "model"}:
        return view.href(model=instead.model, quant=instead.quant or view.quant, engine="", cache="")
    return view.href(gpu=instead.gpu or view.gpu, count=str(instead.count or ""), quant=instead.quant or view.quant)


def sources(found: Answer, today: date, t: Texts) -> list[Source]:
    """Each source once."""
    named: dict[tuple[str, date | None], list[Figure]] = {}
    for figure in found.figures:
        named.setdefault((figure.source, figure.as_of), []).append(figure)
    return [
        Source(
            source=cited(source, t.language),
            is_named=is_named(source),
            as_of=as_of,
            age=_age(figures[0], today, t),
            figures=tuple(_figure(figure, t) for figure in figures),
        )
        for (source, as_of), figures in named.items()
    ]


def _age(figure: Figure, today: date, t: Texts) -> str:
    """What is stated or looked up for this very question is of today."""
    days = 0 if figure.origin == "stated" else figure.age_days(today)
    if days is None:
        return t("fit.no day")
    if days <= 0:
        return t("fit.today")
    return t("fit.days.one" if days == 1 else "fit.days", n=number(days, t.language))


def _figure(figure: Figure, t: Texts) -> str:
    """`Memory of one accelerator: 288 GB`."""
    kind, _, rate = figure.unit.partition("/")
    value = figure.value if isinstance(figure.value, str) else written(kind, _whole(figure.value), t.language)
    return f"{t(f'fit.figure.{figure.name}')}: {value}{'/' if rate else ''}{rate}"


def _whole(value: Fraction) -> Fraction | int:
    return int(value) if value.denominator == 1 else value
