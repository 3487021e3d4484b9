"""Reads `/v1/models`, which every OpenAI-compatible server has, and what some of them add to it."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from gateway.catalog.observed import Observation
from gateway.upstream.probes.server import number, part, text

if TYPE_CHECKING:
    from gateway.upstream.probes.server import Json, Server

PATH = "/v1/models"

_CONTEXT_KEYS = ("max_model_len", "context_length", "context_window", "max_context_length")
_REMEMBERED_NAMES = 64
_LISTLESS = frozenset({HTTPStatus.OK, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED})
"""What a server answers that has no such list; any other status says that it would answer nothing else either."""
REFUSED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
KEY_REFUSED = "it refuses the key"


async def look(server: Server) -> Observation:
    """What the list says of the deployment's model. A server without a list may well answer."""
    heard = await server.get(PATH)
    if heard.status in REFUSED:
        return Observation(server.at, up=False, note=KEY_REFUSED)
    if heard.status not in _LISTLESS:
        return Observation(server.at, up=False, note=f"it answers with status {heard.status}")
    entries = _entries(heard.json()) if heard.status == HTTPStatus.OK else []
    if not entries:
        return Observation(server.at, up=True, note="it lists no models")
    return _said(server, entries)


def _entries(listed: Json | None) -> list[Json]:
    data = (listed or {}).get("data")
    return [entry for entry in data if isinstance(entry, dict) and text(entry, "id")] if isinstance(data, list) else []


def _said(server: Server, entries: list[Json]) -> Observation:
    wanted = server.deployment.upstream_model
    names = tuple(str(text(entry, "id")) for entry in entries)
    own = next((entry for entry, name in zip(entries, names, strict=True) if name == wanted), None)
    note = None if own is not None else f"it does not list {wanted!r}"
    if own is None and len(entries) == 1:
        own = entries[0]
    return Observation(
        server.at,
        up=True,
        models=names[:_REMEMBERED_NAMES],
        context=_context(own),
        vision=_vision(own),
        note=note,
    )


def _context(entry: Json | None) -> int | None:
    stated = [number(entry, key) for key in _CONTEXT_KEYS] + [number(part(entry, "meta"), "n_ctx")]
    return next((size for size in stated if size is not None), None)


def _vision(entry: Json | None) -> bool | None:
    """Moonshot's `supports_image_in`, and `input_modalities` of llama-server and resellers."""
    stated: Any = (entry or {}).get("supports_image_in")
    if isinstance(stated, bool):
        return stated
    modalities = part(entry, "architecture").get("input_modalities")
    return "image" in modalities if isinstance(modalities, list) else None
