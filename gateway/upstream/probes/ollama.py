"""Ollama: whether it has the model and runs it itself, and what the model can."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.catalog.observed import Observation
from gateway.upstream import residence
from gateway.upstream.probes.server import number, part, text

if TYPE_CHECKING:
    from gateway.upstream.probes.server import Json, Server

_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


async def look(server: Server) -> Observation:
    model = server.deployment.upstream_model
    await server.guard.prove([server.deployment])
    tags = await server.json("/api/tags") or {}
    seen = Observation(server.at, up=True, models=_names(tags), version=await _version(server))
    shown = await server.ask("/api/show", json.dumps({"model": model}).encode())
    if shown is None:
        return replace(seen, up=False, note=f"it has no model {model!r}: 'ollama pull {model}' gets it")
    return _said(seen, shown, residence.entry(await server.json("/api/ps") or {}, model))


def _said(seen: Observation, shown: Json, loaded: residence.Json | None) -> Observation:
    capabilities = shown.get("capabilities")
    vision = "vision" in capabilities if isinstance(capabilities, list) else None
    chosen = number(dict(loaded or {}), "context_length") or _chosen(_text(shown, "parameters"))
    most = _most(part(shown, "model_info"))
    note = (
        None if chosen or not most else f"its model takes {most} tokens, but Ollama may load it with less: set num_ctx"
    )
    return replace(seen, vision=vision, context=chosen or most, note=note)


def _names(tags: Json) -> tuple[str, ...]:
    models = tags.get("models")
    found = (text(entry, "name") for entry in models if isinstance(entry, dict)) if isinstance(models, list) else ()
    return tuple(name for name in found if name)


async def _version(server: Server) -> str | None:
    return text(await server.json("/api/version"), "version")


def _text(shown: Json, key: str) -> str:
    value = shown.get(key)
    return value if isinstance(value, str) else ""


def _chosen(parameters: str) -> int | None:
    """The context that the model's own file sets."""
    found = _NUM_CTX.search(parameters)
    return int(found[1]) if found else None


def _most(info: Json) -> int | None:
    """What the weights allow: `qwen3.context_length`, the first word being their architecture."""
    return next((number(info, key) for key in info if key.endswith(".context_length")), None)
