"""llama-server: its context, projector and slots by `/props`, its queue by `/slots` or `/metrics`."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec

from gateway.upstream.probes import models
from gateway.upstream.probes.metrics import Figures
from gateway.upstream.probes.server import flag, number, part, text

if TYPE_CHECKING:
    from gateway.catalog.observed import Observation
    from gateway.upstream.probes.server import Server

_RUNNING, _WAITING = "llamacpp:requests_processing", "llamacpp:requests_deferred"


class _Slot(msgspec.Struct):
    is_processing: bool = False


_SLOTS = msgspec.json.Decoder(list[_Slot])


async def look(server: Server) -> Observation:
    seen = await models.look(server)
    props = await server.json("/props")
    context = number(part(props, "default_generation_settings"), "n_ctx")  # what one slot has
    vision = flag(part(props, "modalities"), "vision")
    return replace(
        seen,
        note=seen.note if not seen.up else None,  # it answers by the one model it has, whatever name is asked
        context=context or seen.context,
        vision=seen.vision if vision is None else vision,
        slots=number(props, "total_slots"),
        version=text(props, "build_info"),
    )


async def load(server: Server, seen: Observation) -> Observation:
    """Both are off unless the server was started with `--slots` or `--metrics`."""
    running = await _busy_slots(server)
    exposition = await server.text("/metrics")
    if exposition is None:
        return replace(seen, running=running)
    figures = Figures(exposition, (_RUNNING, _WAITING))
    counted = figures.count(_RUNNING)
    return replace(seen, running=running if counted is None else counted, waiting=figures.count(_WAITING))


async def _busy_slots(server: Server) -> int | None:
    """How many slots work. What stands in them is not read."""
    heard = await server.get("/slots")
    if heard.status != HTTPStatus.OK:
        return None
    try:
        return sum(slot.is_processing for slot in _SLOTS.decode(heard.body))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
