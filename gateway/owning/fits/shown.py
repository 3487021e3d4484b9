"""An answer about fit as plain values for `--json`."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

from gateway.economics.memory import Division, cache_bytes, state_bytes
from gateway.owning import figures
from gateway.owning.fits.sentences import Sentence, say

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from gateway.economics.fit import Fit, Room
    from gateway.owning.fits.commands import Line
    from gateway.owning.fits.fit import Answer


def as_dict(answer: Answer, today: date) -> dict[str, Any]:
    """All of it, numbers as numbers."""
    fit, place, plan = answer.fit, answer.place, answer.plan
    return {
        "verdict": fit.verdict,
        "headline": say(answer.headline),
        "reason": reason(answer),
        "is_tight": fit.is_tight,
        "model": answer.model.name,
        "quant": answer.quant.name,
        "quality": answer.quant.quality,
        "gpu": place.devices.name,
        "gpu_title": place.title,
        "count": place.devices.count,
        "this_machine": place.here is not None,
        "context": answer.question.context,
        "concurrency": answer.question.concurrency,
        "bytes": _bytes(answer),
        "bytes_on_devices": _bytes_on_devices(fit),
        "rooms": [_room(each) for each in fit.rooms],
        "kept": {
            "bytes_per_token": answer.kept.per_token,
            "bytes_per_request": answer.kept.per_request,
            "state_slots": answer.division.state_slots,
            "cache_type": plan.cache,
        },
        "max_context": fit.max_context,
        "max_concurrency": fit.max_concurrency,
        "speed": fit.speed,
        "ceiling_tokens_per_second": None if fit.ceiling_tps is None else float(fit.ceiling_tps),
        "failed_rule": fit.failed_rule,
        "traits": list(fit.traits),
        "division": {
            "tensor": fit.division.tensor,
            "pipeline": fit.division.pipeline,
            "context": fit.division.context,
            "copies": fit.copies,
            "idle": fit.idle,
        },
        "topology": _topology(fit),
        "notes": _said(answer.notes),
        "interconnect": _said(answer.links),
        "instead": [
            {
                "kind": each.kind, "model": each.model, "text": say(each.told), "gpu": each.gpu, "count": each.count,
                "quant": each.quant, "verdict": each.verdict, "source": each.told.source or None,
            }
            for each in answer.instead
        ],
        "disk_bytes": answer.quant.free_disk_bytes,
        "download": _line(answer.download),
        "engine": plan.engine,
        "start": _line(answer.start),
        "preflight": [{"state": check.state, "text": say(check.told)} for check in answer.checks],
        "licence": {"use": answer.question.use, "name": answer.model.licence, "notes": _said(answer.licence)},
        "catalog": _said(answer.catalog),
        "figures": [figures.as_dict(each, today, _number) for each in answer.figures],
    }  # fmt: skip


def reason(answer: Answer) -> str:
    """Why, in English."""
    tight = [say(Sentence("tight"))] if answer.fit.is_tight and answer.fit.verdict != "no" else []
    return " ".join([say(answer.why), *tight])


def _bytes(answer: Answer) -> dict[str, int]:
    """What the model itself takes for what was asked, each part once, however the devices share it."""
    question, once = answer.question, Division(state_slots=1)
    return {
        "weights": answer.fit.bytes.weights // answer.fit.copies,
        "kda_state": ceil(state_bytes(answer.kept, once)) * question.concurrency,
        "mla_cache": ceil(cache_bytes(answer.kept, question.context, once)) * question.concurrency,
        "workspace": answer.fit.bytes.workspace // answer.fit.copies,
    }


def _bytes_on_devices(fit: Fit) -> dict[str, int]:
    """What all devices together give to it: caches that each rank repeats, spare state slots, padding of experts."""
    parts = fit.bytes
    return {
        "weights": parts.weights,
        "kda_state": parts.kda_state,
        "mla_cache": parts.mla_cache,
        "workspace": parts.workspace,
        "padding": parts.padding,
    }


def _room(room: Room) -> dict[str, Any]:
    return {
        "budget": room.budget,
        "needed": room.needed,
        "there": room.there,
        "is_told": room.is_told,
        "is_enough": room.is_enough,
    }


def _topology(fit: Fit) -> dict[str, Any] | None:
    shape = fit.shape
    if shape is None:
        return None
    return {
        "engine": shape.engine, "gpu": shape.gpu, "gpus": shape.gpus, "nodes": shape.nodes,
        "status": shape.status, "source": shape.source, "note": shape.note or None,
        "as_of": shape.as_of.isoformat() if shape.as_of else None,
    }  # fmt: skip


def _said(told: Iterable[Sentence]) -> list[dict[str, Any]]:
    return [{"code": each.code, "text": say(each), "source": each.source or None} for each in told]


def _line(line: Line | None) -> dict[str, Any] | None:
    return None if line is None else {"command": line.text, "is_pinned": line.is_pinned, "traps": _said(line.traps)}


def _number(value: Fraction) -> float:
    """Whole ones without a point: bytes and counts."""
    return int(value) if value.denominator == 1 else float(value)
