"""Questions do not wait for documents."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from retrieval.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Sequence


class SlowEmbedder:
    """Embeds documents for as long as it is told to."""

    dimension = 1

    def __init__(self) -> None:
        self.begun, self.finish = threading.Event(), threading.Event()
        self.niceness = dict[str, int]()

    def query(self, text: str) -> list[float]:
        self.niceness["question"] = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        return [1.0]

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        self.niceness["documents"] = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        self.begun.set()
        self.finish.wait(10)
        return [[0.0] for _ in texts]

    def count(self, text: str) -> int:
        return len(text)


async def test_a_question_is_answered_while_a_batch_of_documents_is_embedded() -> None:
    embedder = SlowEmbedder()
    with Turns(embedder) as turns:
        batch = asyncio.create_task(turns.documents(["a", "b"]))
        await asyncio.to_thread(embedder.begun.wait, 10)

        vector = await asyncio.wait_for(turns.question("?"), 2)

        assert vector == [1.0]
        assert not batch.done()
        embedder.finish.set()
        assert await batch == [[0.0], [0.0]]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives threads a niceness of their own")
async def test_documents_get_what_questions_leave_of_the_processor() -> None:
    embedder = SlowEmbedder()
    embedder.finish.set()
    with Turns(embedder) as turns:
        await turns.documents(["a"])
        await turns.question("?")

    assert embedder.niceness["documents"] == embedder.niceness["question"] + 10
