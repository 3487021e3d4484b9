"""Which budgets an attempt counts against, and how they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from gateway.db import keys
from gateway.db import windows as window_rows
from gateway.economics import calendar
from gateway.ledger import subjects
from gateway.ledger.entries import Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.catalog.deployments import Deployment
    from gateway.db.windows import WindowRow
    from gateway.ledger.entries import Account
    from policies.budgets import Budget, Budgets
    from policies.pack import Pack


def windows(
    pack: Pack, own: Iterable[Budget], account: Account, deployment: Deployment, at: datetime
) -> tuple[Window, ...]:
    """The windows that an attempt begun at that moment counts against: the pack's, and the key's own.

    Each comes once, by its id, in the order of the ids.
    """
    budgets = pack.budgets
    found = (
        window(budget, subject, budgets, at)
        for budget in (*budgets.budgets, *own)
        for subject in subjects.of_attempt(budget.of, account, deployment)
    )
    by_id = {each.id: each for each in found}
    return tuple(by_id[name] for name in sorted(by_id))


def window(budget: Budget, subject: str, budgets: Budgets, at: datetime) -> Window:
    """A budget's window for one subject at a moment. A limit in another currency goes by the rate of its first day."""
    starts_at, ends_at = calendar.window(at, budget.per, budgets.zone)
    first_day = calendar.day_of(starts_at, budgets.zone)
    return Window(
        id=_id(budget, subject, starts_at),
        budget=budget.name,
        subject=subject,
        starts_at=starts_at,
        ends_at=ends_at,
        limit_nano_usd=None if budget.money is None else budget.money.nano_usd(first_day),
        limit_tokens=budget.tokens,
        hard=budget.hard,
    )


def _id(budget: Budget, subject: str, starts_at: datetime) -> str:
    """The same in every process; parts are quoted, so that no two windows are one."""
    whose = "own" if budget.own else "pack"
    parts = (whose, budget.name, budget.per, budget.of.kind, subject, f"{starts_at:%Y%m%dT%H%MZ}")
    return ":".join(quote(part, safe=" ") for part in parts)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a budget stands for one subject now."""

    budget: Budget
    window: Window
    spent_nano_usd: int = 0
    held_nano_usd: int = 0
    spent_tokens: int = 0
    held_tokens: int = 0

    @property
    def is_used(self) -> bool:
        """True if anything is spent or held of it."""
        return bool(self.spent_nano_usd or self.held_nano_usd or self.spent_tokens or self.held_tokens)

    @property
    def by_tokens(self) -> bool:
        """True if its limit of tokens is the tighter one."""
        money, tokens = self.window.limit_nano_usd, self.window.limit_tokens
        if tokens is None or money is None:
            return money is None
        return self.spent_tokens * money > self.spent_nano_usd * tokens

    @property
    def percent(self) -> int:
        """How much of its tightest limit is spent or held, rounded down; a limit of nothing is used up."""
        pairs = (
            (self.spent_nano_usd + self.held_nano_usd, self.window.limit_nano_usd),
            (self.spent_tokens + self.held_tokens, self.window.limit_tokens),
        )
        return max(used * 100 // limit if limit else 100 for used, limit in pairs if limit is not None)

    def as_dict(self) -> dict[str, object]:
        """The form for JSON."""
        return {
            "budget": self.budget.name,
            "of": self.budget.of.kind,
            "subject": self.window.subject,
            "per": self.budget.per,
            "hard": self.budget.hard,
            "starts_at": self.window.starts_at.isoformat(),
            "ends_at": self.window.ends_at.isoformat(),
            "percent": self.percent,
            "spent_nano_usd": self.spent_nano_usd,
            "held_nano_usd": self.held_nano_usd,
            "limit_nano_usd": self.window.limit_nano_usd,
            "spent_tokens": self.spent_tokens,
            "held_tokens": self.held_tokens,
            "limit_tokens": self.window.limit_tokens,
        }


async def state(engine: AsyncEngine, pack: Pack, now: datetime) -> list[Standing]:
    """How all budgets stand, the pack's and the living keys' own."""
    own = [budget for key in await keys.list_keys(engine) if key.revoked_at is None for budget in key.budgets]
    return list(standings(pack, own, await window_rows.state(engine, now), now))


def standings(pack: Pack, own: Iterable[Budget], rows: Iterable[WindowRow], now: datetime) -> Iterator[Standing]:
    """How each budget stands by these rows, for its subject, or for each that it has counted for in this window."""
    by_id = {row.id: row for row in rows}
    for budget in (*pack.budgets.budgets, *own):
        counted = {row.subject for row in by_id.values() if row.budget == budget.name}
        for subject in sorted({*_foreseen(budget), *counted}):
            expected = window(budget, subject, pack.budgets, now)
            row = by_id.get(expected.id)
            if row is not None:
                yield Standing(
                    budget, expected, row.spent_nano_usd, row.held_nano_usd, row.spent_tokens, row.held_tokens
                )
            elif subject in _foreseen(budget):
                yield Standing(budget, expected)


def _foreseen(budget: Budget) -> tuple[str, ...]:
    """The subject that a budget is there for before anything counts against it."""
    if budget.of.kind == "house":
        return (subjects.HOUSE,)
    return () if budget.of.name is None else (budget.of.name,)
