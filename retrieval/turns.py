"""Gives every embedding its turn: questions at once, documents with what is left of the processor."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

_NICE = 10


class Embedder(Protocol):
    """Turns text into vectors; called from two threads."""

    @property
    def dimension(self) -> int: ...

    def query(self, text: str) -> list[float]: ...

    def passages(self, texts: Sequence[str]) -> list[list[float]]: ...

    def count(self, text: str) -> int: ...


class Turns:
    """Two threads around one embedder.

    Documents run on a thread of low priority, and the helpers that torch starts for it inherit that. A question then
    takes the processor from them within its time slice (30 ms instead of 26 while documents are embedded), where it
    would wait 120 ms or more for a batch to end if both shared one thread and a priority queue.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._questions = ThreadPoolExecutor(1, "questions")
        self._documents = ThreadPoolExecutor(1, "documents", initializer=_yield_to_others)

    def count(self, text: str) -> int:
        """How many of the model's tokens the text has."""
        return self._embedder.count(text)

    async def question(self, text: str) -> list[float]:
        return await asyncio.get_running_loop().run_in_executor(self._questions, self._embedder.query, text)

    async def sentences(self, texts: Sequence[str]) -> list[list[float]]:
        """Sentences that somebody waits for: they go with the questions."""
        return await asyncio.get_running_loop().run_in_executor(self._questions, self._embedder.passages, texts)

    async def documents(self, texts: Sequence[str]) -> list[list[float]]:
        return await asyncio.get_running_loop().run_in_executor(self._documents, self._embedder.passages, texts)

    def __enter__(self) -> Turns:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._questions.shutdown(cancel_futures=True)
        self._documents.shutdown(cancel_futures=True)


def _yield_to_others() -> None:
    """Linux gives every thread its own niceness; elsewhere both share the processor evenly."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
