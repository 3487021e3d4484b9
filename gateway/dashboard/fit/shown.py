"""What the fit page says of an answer, in the reader's language."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gateway.owning.fits import reasons
from gateway.owning.fits.sentences import Sentence, number, rounded, say, size

if TYPE_CHECKING:
    from datetime import date

    from gateway.dashboard.fit.view import View
    from gateway.dashboard.texts import Texts
    from gateway.economics.fit import Room
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
    as_of: date | None
    age_days: int | None
    figures: tuple[str, ...]


def writing(t: Texts) -> dict[str, Any]:
    """What the template writes with."""
    return {
        "say": lambda told: said(told, t),
        "word": lambda code: say(Sentence(code), t.language),
        "size": lambda count: size(count, t.language),
        "number": lambda count: number(count, t.language),
        "filled": filled,
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
        "sources": list(sources(found, today)),
        "href_of": lambda view, instead: href(view, instead),
    }


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


def sources(found: Answer, today: date) -> list[Source]:
    """Each source once."""
    named: dict[tuple[str, date | None], list[Figure]] = {}
    for figure in found.figures:
        named.setdefault((figure.source, figure.as_of), []).append(figure)
    return [
        Source(source, as_of, figures[0].age_days(today), tuple(figure.name for figure in figures))
        for (source, as_of), figures in named.items()
    ]
