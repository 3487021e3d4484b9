"""Opens all that the retrieval process works with; the slow part of its start."""

from __future__ import annotations

import importlib
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from retrieval import reconcile
from retrieval.background import Background
from retrieval.labelling import PackLabelling
from retrieval.registry.engine import migrated, open_engine
from retrieval.runtime import Runtime
from retrieval.store.edge import EdgeStore
from retrieval.turns import Turns
from retrieval.weights import ensure

if TYPE_CHECKING:
    from collections.abc import Generator

    from sqlalchemy import Engine

    from retrieval.embed import Embedder

log = structlog.get_logger()

_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",  # e5 has no pooler, which the loader reports as a fault
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_WAIT_POLICY": "passive",  # threads of torch that wait must not burn the processor others need
}


class OpeningError(Exception):
    """The process cannot start like this; starting it again would not help."""


@contextmanager
def opened(data: Path, pack: Path) -> Generator[Runtime, None, None]:
    """Everything open and agreed with the registry; interrupted work is queued again."""
    engine = _registry(data / "registry.db")
    labelling = PackLabelling(pack)
    embedder = _embedder(data)
    store = EdgeStore(_vectors(data, embedder), embedder.dimension)
    try:
        with Turns(embedder) as turns:
            runtime = Runtime(engine, store, turns, Background.of(embedder), labelling)
            reconcile.clear(runtime)
            yield runtime
    finally:
        store.close()
        engine.dispose()


def _registry(path: Path) -> Engine:
    engine = open_engine(path)
    if not path.exists() or not migrated(engine):
        raise OpeningError(f"{path} has no tables yet: the registry's migrations have not run")
    return engine


def _embedder(data: Path) -> Embedder:
    """Torch takes seconds to import: here, on the thread that loads, and not before the socket answers."""
    for name, value in _OFFLINE.items():
        os.environ.setdefault(name, value)
    chosen = os.environ.get("SOLEIRA_EMBEDDING_MODEL")
    folder = Path(chosen) if chosen else ensure(data / "models")
    embedder: Embedder = importlib.import_module("retrieval.embed").Embedder(folder)
    return embedder


def _vectors(data: Path, embedder: Embedder) -> Path:
    """The shard of this model's vectors; those of other models are of no use any more."""
    kept = data / "vectors" / embedder.fingerprint
    for folder in kept.parent.glob("*"):
        if folder != kept:
            log.info("vectors_of_another_model_removed", model=folder.name)
            shutil.rmtree(folder)
    return kept
