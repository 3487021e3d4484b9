"""Machines of one's own, as people write them: break_even.yaml."""

from __future__ import annotations

from pydantic import Field

from policies.fields import Strict, Word
from policies.prices import TokenPrice


class Machine(Strict):
    marginal: TokenPrice


class BreakEvenFile(Strict):
    machines: dict[Word, Machine] = Field(default_factory=dict)
