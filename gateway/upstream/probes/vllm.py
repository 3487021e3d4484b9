"""vLLM: its models with their context, and its queue and caches by `/metrics`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.upstream.probes import models
from gateway.upstream.probes.metrics import Figures
from gateway.upstream.probes.server import text

if TYPE_CHECKING:
    from gateway.catalog.observed import Observation
    from gateway.upstream.probes.server import Server

_RUNNING, _WAITING = "vllm:num_requests_running", "vllm:num_requests_waiting"
_CACHE_USE = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")  # the second was its name until 0.10
_HITS, _QUERIES = "vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total"


async def look(server: Server) -> Observation:
    seen = await models.look(server)
    return replace(seen, version=text(await server.json("/version"), "version"))


async def load(server: Server, seen: Observation) -> Observation:
    exposition = await server.text("/metrics")
    if exposition is None:
        return seen
    figures = Figures(exposition, (_RUNNING, _WAITING, *_CACHE_USE, _HITS, _QUERIES))
    return replace(
        seen,
        running=figures.count(_RUNNING),
        waiting=figures.count(_WAITING),
        cache_use=figures.highest(*_CACHE_USE),
        prefix_hits=figures.share(_HITS, _QUERIES),
    )
