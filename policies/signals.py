"""The facts about one request that rules may ask for."""

from __future__ import annotations

from dataclasses import dataclass

from policies.labels import Label


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of a request before anything is decided; None means nobody has found out."""

    label: Label
    model: str = "auto"
    principal: str = ""
    groups: frozenset[str] = frozenset()
    collections: tuple[str, ...] = ()
    language: str | None = None
    """`pt` or `en`."""
    size: int = 0
    """Estimated prompt tokens."""
    needs: frozenset[str] = frozenset()
    """Capabilities the request cannot do without."""
    findings: frozenset[str] = frozenset()
    """Kinds that the detectors found."""
    stream: bool = False
    hour: int | None = None
