"""SGLang: its models with their context, whether they see, and its queue where `--enable-metrics` is set."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.upstream.probes import models
from gateway.upstream.probes.metrics import Figures
from gateway.upstream.probes.server import flag

if TYPE_CHECKING:
    from gateway.catalog.observed import Observation
    from gateway.upstream.probes.server import Server

_RUNNING, _WAITING = "sglang:num_running_reqs", "sglang:num_queue_reqs"
_CACHE_USE, _HITS = "sglang:token_usage", "sglang:cache_hit_rate"


async def look(server: Server) -> Observation:
    seen = await models.look(server)
    # Newer versions know it by the first name. `/server_info` is not asked: it repeats all arguments, keys included.
    said = await server.json("/model_info") or await server.json("/get_model_info")
    vision = flag(said, "has_image_understanding")
    return seen if vision is None else replace(seen, vision=vision)


async def load(server: Server, seen: Observation) -> Observation:
    exposition = await server.text("/metrics")
    if exposition is None:
        return seen
    figures = Figures(exposition, (_RUNNING, _WAITING, _CACHE_USE, _HITS))
    return replace(
        seen,
        running=figures.count(_RUNNING),
        waiting=figures.count(_WAITING),
        cache_use=figures.highest(_CACHE_USE),
        prefix_hits=figures.highest(_HITS),
    )
