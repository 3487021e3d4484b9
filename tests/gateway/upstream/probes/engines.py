"""Fake engines: each answers its own pages as the real one does, and remembers what it was asked."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.wire.serving import serving

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Mapping

Page = tuple[int, object]
"""A status with a body: text as it is, anything else as JSON."""


@dataclass
class FakeEngine:
    """A server with some pages; the others are 404."""

    pages: dict[str, Page]
    port: int = 0
    asked: list[str] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next((line[15:] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), b"0")
        self.bodies.append(await reader.readexactly(int(length)))
        self.heads.append(head)
        path = head.split(b" ", 2)[1].decode()
        self.asked.append(path)
        status, body = self.pages.get(path, (404, {"error": "not found"}))
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        lines = f"HTTP/1.1 {status} Said\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        writer.write(lines.encode() + content)
        await writer.drain()


@asynccontextmanager
async def engine(pages: Mapping[str, Page]) -> AsyncIterator[FakeEngine]:
    """Listen on a free loopback port until the context is left."""
    fake = FakeEngine(dict(pages))
    async with serving(fake.handle) as port:
        fake.port = port
        yield fake


def listed(*entries: dict[str, Any]) -> Page:
    """A list of models."""
    return 200, {"object": "list", "data": list(entries)}


VLLM_METRICS = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="small"} 3.0
vllm:num_requests_running{engine="1",model_name="small"} 2.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="small"} 7.0
vllm:num_requests_waiting{engine="1",model_name="small"} 0.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="small",reason="capacity"} 7.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="small"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="small"} 0.75
# TYPE vllm:prefix_cache_queries counter
vllm:prefix_cache_queries_total{engine="0",model_name="small"} 1000.0
vllm:prefix_cache_hits_total{engine="0",model_name="small"} 400.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.001",model_name="small"} 0.0
"""

VLLM: dict[str, Page] = {
    "/health": (200, ""),
    "/version": (200, {"version": "0.32.0"}),
    "/v1/models": listed({"id": "small", "object": "model", "owned_by": "vllm", "max_model_len": 32768}),
    "/metrics": (200, VLLM_METRICS),
}

SGLANG: dict[str, Page] = {
    "/health": (200, ""),
    "/v1/models": listed({"id": "small", "object": "model", "owned_by": "sglang", "max_model_len": 16384}),
    "/get_model_info": (200, {"model_path": "m", "is_generation": True, "has_image_understanding": True}),
    "/metrics": (
        200,
        'sglang:num_running_reqs{model_name="small",dp_rank="0",tp_rank="0"} 4.0\n'
        'sglang:num_running_reqs{model_name="small",dp_rank="0",tp_rank="1"} 4.0\n'
        'sglang:num_running_reqs{model_name="small",dp_rank="1",tp_rank="0"} 1.0\n'
        'sglang:num_queue_reqs{model_name="small",dp_rank="0",tp_rank="0"} 2.0\n'
        'sglang:token_usage{model_name="small",dp_rank="0",tp_rank="0"} 0.5\n'
        'sglang:cache_hit_rate{model_name="small",dp_rank="0",tp_rank="0"} 0.125\n',
    ),
}

LLAMA_SERVER: dict[str, Page] = {
    "/health": (200, {"status": "ok"}),
    "/v1/models": listed({"id": "gemma.gguf", "meta": {"n_ctx_train": 131072, "n_ctx": 8192}}),
    "/props": (
        200,
        {
            "default_generation_settings": {"params": {}, "n_ctx": 4096},
            "total_slots": 2,
            "modalities": {"vision": False, "audio": False},
            "build_info": "b9999-abcdef",
        },
    ),
    "/slots": (200, [{"id": 0, "n_ctx": 4096, "is_processing": True}, {"id": 1, "is_processing": False}]),
    "/metrics": (501, {"error": {"code": 501, "message": "start it with --metrics"}}),
}

OLLAMA: dict[str, Page] = {
    "/api/version": (200, {"version": "0.40.12"}),
    "/api/tags": (200, {"models": [{"name": "small:latest", "model": "small:latest", "size": 3338801804}]}),
    "/api/show": (
        200,
        {
            "parameters": 'stop  "x"\nnum_ctx                        8192\n',
            "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
            "capabilities": ["completion", "tools", "thinking"],
        },
    ),
    "/api/ps": (200, {"models": []}),
}
