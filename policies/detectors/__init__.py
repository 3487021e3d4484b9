"""Finding identifiers and keys in a text, by pattern, check digit and the words around them."""

from __future__ import annotations

from policies.detectors.kinds import KINDS
from policies.detectors.search import Finding, Findings, find, raised

__all__ = ["DETECTED", "Finding", "Findings", "find", "raised"]

DETECTED = frozenset(kind.name for kind in KINDS)
"""The kinds that `find` knows; a pack may name others, which come later."""
