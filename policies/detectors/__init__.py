"""Finding identifiers and keys in a text, by pattern, check digit and the words around them."""

from __future__ import annotations

from policies.detectors.search import Finding, Findings, find, raised

__all__ = ["Finding", "Findings", "find", "raised"]
