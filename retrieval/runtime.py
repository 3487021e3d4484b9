"""What the retrieval process works with, once it is ready."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from retrieval.background import Background
    from retrieval.labelling import PackLabelling
    from retrieval.store import Store
    from retrieval.turns import Turns


@dataclass(frozen=True, slots=True)
class Runtime:
    engine: Engine
    store: Store
    turns: Turns
    background: Background
    labelling: PackLabelling
