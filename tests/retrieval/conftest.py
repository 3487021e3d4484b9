"""Fixtures of the retrieval tests: an in-process house with a small embedder, and one real process for all."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import migrations
from policies.labels import Sensitivity
from retrieval import reconcile
from retrieval.background import Background
from retrieval.client import FileStatus, IngestRequest, Passage, RetrievalClient, Scope, SearchRequest
from retrieval.ingest import Ingest
from retrieval.labelling import PackLabelling
from retrieval.registry.engine import open_engine
from retrieval.runtime import Runtime
from retrieval.search import search
from retrieval.store.edge import EdgeStore
from retrieval.turns import Turns

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence

    from sqlalchemy import Engine

    from policies.labels import Label

ROOT = Path(__file__).resolve().parents[2]
PACK = ROOT / "policies" / "packs" / "home"
SAMPLES = PACK / "samples"
ALL = Scope.owner()


class WordEmbedder:
    """Puts texts with common words near each other: enough to tell documents apart, at no cost."""

    dimension = 64

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def query(self, text: str) -> list[float]:
        return self._vector(text)

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        self.embedded += texts
        return [self._vector(text) for text in texts]

    def count(self, text: str) -> int:
        return len(text.split())

    def _vector(self, text: str) -> list[float]:
        vector = [1e-3] * self.dimension
        for word in text.lower().split():
            vector[int(hashlib.sha256(word.strip(".,?:").encode()).hexdigest(), 16) % self.dimension] += 1
        length = sum(value * value for value in vector) ** 0.5
        return [value / length for value in vector]


class House:
    """Retrieval without its process: real registry, real store, real parsers, `WordEmbedder`."""

    def __init__(self, runtime: Runtime, embedder: WordEmbedder) -> None:
        self.runtime, self.embedder = runtime, embedder
        self.ingest = Ingest(runtime)

    async def take_in(self, path: Path, collection: str = "papers", label: Label | None = None) -> list[FileStatus]:
        request = IngestRequest(str(path), collection, label)
        return [status async for status in self.ingest.submit(request)]

    async def find(self, query: str, scope: Scope = ALL, top: int = 10) -> list[Passage]:
        return await search(self.runtime, SearchRequest(query, scope, top))

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        worker = asyncio.create_task(self.ingest.work())
        yield
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)


@contextmanager
def open_house(data: Path, pack: Path = PACK) -> Generator[House, None, None]:
    migrations.upgrade("registry", f"sqlite:///{data / 'registry.db'}")
    embedder = WordEmbedder()
    engine = open_engine(data / "registry.db")
    store = EdgeStore(data / "vectors", embedder.dimension)
    with Turns(embedder) as turns:
        runtime = Runtime(engine, store, turns, Background.of(embedder), PackLabelling(pack))
        embedder.embedded.clear()
        reconcile.clear(runtime)
        yield House(runtime, embedder)
    store.close()
    engine.dispose()


@pytest.fixture
async def house(tmp_path: Path) -> AsyncGenerator[House, None]:
    data = tmp_path / "data"
    data.mkdir()
    with open_house(data) as opened:
        async with opened.at_work():
            yield opened


@pytest.fixture
def registry(tmp_path: Path) -> Generator[Engine, None, None]:
    path = tmp_path / "registry.db"
    migrations.upgrade("registry", f"sqlite:///{path}")
    engine = open_engine(path)
    yield engine
    engine.dispose()


class Process:
    """The real retrieval process on a data directory."""

    def __init__(self, data: Path, pack: Path = PACK, model: Path | None = None) -> None:
        self.socket = data / "retrieval.sock"
        command = (sys.executable, "-m", "retrieval.service", "--data", str(data), "--socket", str(self.socket))
        environment = os.environ | ({"SOLEIRA_EMBEDDING_MODEL": str(model)} if model else {})
        self.child = subprocess.Popen(
            (*command, "--pack", str(pack)), cwd=ROOT, env=environment, stderr=subprocess.DEVNULL
        )

    async def until_ready(self) -> None:
        client = RetrievalClient(self.socket)
        while not await client.ready():
            assert self.child.poll() is None, "the retrieval process ended"
            await asyncio.sleep(0.1)
        await client.close()

    def stop(self) -> int:
        self.child.terminate()
        return self.child.wait(timeout=30)


@pytest.fixture(scope="session")
def process(tmp_path_factory: pytest.TempPathFactory) -> Generator[Process, None, None]:
    """One real process, with torch and the bundled weights, that holds the sample documents."""
    data = tmp_path_factory.mktemp("retrieval")
    migrations.upgrade("registry", f"sqlite:///{data / 'registry.db'}")
    started = Process(data)
    yield started
    started.stop()


@pytest.fixture
async def client(process: Process) -> AsyncGenerator[RetrievalClient, None]:
    await process.until_ready()
    opened = RetrievalClient(process.socket)
    async for status in opened.ingest(SAMPLES, "samples"):
        assert status.status in {"live", "unchanged"}, status
    yield opened
    await opened.close()


def reader(*collections: str, clearance: str = "private") -> Scope:
    return Scope(collections, Sensitivity.parse(clearance))
