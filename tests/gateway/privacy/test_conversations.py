"""Answers under way are known by what has gone out of each of them, whatever becomes of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.db.engine import open_engine
from gateway.ledger.owners import this_process
from gateway.ledger.writer import open_writer
from gateway.privacy.conversations import Conversations, Trail
from gateway.runtime import now
from migrations import upgrade
from policies.labels import PRIVATE, SECRET

if TYPE_CHECKING:
    from pathlib import Path

BEGUN = {"role": "assistant", "content": "O aluguel"}


async def test_an_answer_that_ends_does_not_forget_another_that_began_alike(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'ledger.db'}"
    upgrade("ledger", url)
    engine = open_engine(url)
    boot = this_process("boot_1", now())
    async with open_writer(tmp_path / "ledger.db", boot) as writer:
        conversations = Conversations(engine, writer, b"s" * 32, [])
        one, other = Trail(conversations, PRIVATE), Trail(conversations, SECRET)
        await one.follow(["O aluguel"])
        await other.follow(["O aluguel"])
        both = await conversations.marks_of([BEGUN])

        await other.end(["O aluguel vence no dia oito de cada mês."], complete=True)
        one_left = await conversations.marks_of([BEGUN])
        await one.end(["O aluguel é reajustado em março de cada ano."], complete=True)
        none_left = await conversations.marks_of([BEGUN])
    await engine.dispose()

    assert [source.label for source in both] == [SECRET]
    assert [source.label for source in one_left] == [PRIVATE]
    assert none_left == []
