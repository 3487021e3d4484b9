"""A house with a page, and somebody at its door."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gateway.dashboard.site import Visitor, site, visitor
from tests.gateway.house import deployment, passage
from tests.wire.upstream import DONE, Script, Upstream, delta, fake_upstream, finish, stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.gateway.house import House

USAGE = {"prompt_tokens": 1834, "completion_tokens": 77, "prompt_tokens_details": {"cached_tokens": 1024}}
"""At 3.00 in, 0.30 cached and 15.00 out per million: 810 * 3 + 1024 * 0.3 + 77 * 15 = 3892.2 millionths of a dollar."""


def answering(*words: str) -> Script:
    """A stream that says the words, and its usage in an event of its own, as OpenAI's do."""
    usage = {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [], "usage": USAGE}
    return stream(*(delta(word) for word in words), finish(), usage, DONE, pause=0.005)


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    """A hosted model that answers `Olá!`."""
    async with fake_upstream(answering("Olá", "!")) as running:
        yield running


@pytest.fixture
async def house(tmp_path: Path, upstream: Upstream) -> AsyncIterator[House]:
    """A house with private papers, and one hosted model."""
    papers = [passage("O aluguel vence todo dia 5."), passage("A multa é de 2%.")]
    async with site(tmp_path, [deployment("kimi-k3", upstream.url)], passages=papers) as running:
        yield running


@pytest.fixture
async def stranger(house: House) -> AsyncIterator[Visitor]:
    """Somebody who has not signed in."""
    async with visitor(house) as somebody:
        yield somebody


@pytest.fixture
async def owner(house: House) -> AsyncIterator[Visitor]:
    """Somebody who has."""
    async with visitor(house) as somebody:
        await somebody.sign_in()
        yield somebody
