"""Reads members of the objects in a request and refuses by their place what cannot be one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def text(holder: Mapping[str, Any], key: str, place: str) -> str:
    """The text at `key`; BadRequest if there is none."""
    value = holder.get(key)
    if isinstance(value, str):
        return value
    raise BadRequest(f"{place}.{key} must be a string", param=f"{place}.{key}")


def name(holder: Mapping[str, Any], key: str, place: str) -> str:
    """The name or identifier at `key`; BadRequest if there is none, or an empty one."""
    if value := text(holder, key, place):
        return value
    raise BadRequest(f"{place}.{key} is empty", param=f"{place}.{key}")


def objects(value: object, place: str) -> list[dict[str, Any]]:
    """A list of objects; BadRequest if it is anything else."""
    if not isinstance(value, list):
        raise BadRequest(f"{place} must be an array", param=place)
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise BadRequest(f"{place}[{index}] must be an object", param=f"{place}[{index}]")
    return value


def shown(place: str, kind: object, known: Collection[str]) -> str:
    """The place with the type that stands there, if it is a word of the protocol: any other could be a person's."""
    return f"{place}: {kind!r}" if isinstance(kind, str) and kind in known else f"{place}.type"
