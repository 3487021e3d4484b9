"""The house's own pack and ledger, as a break-even asks for them; loaded only where a question needs them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gateway.cli import books
from gateway.ledger.traffic import observed, since
from gateway.owning.scenarios import ledger_days, ledger_models

if TYPE_CHECKING:
    from gateway.ledger.traffic import Observed
    from gateway.settings import Settings
    from policies.pack import Pack
    from policies.scenarios import ScenarioEntry


def pack_of(settings: Settings) -> Pack:
    """The pack in use, or the one that a new house starts with."""
    return books.pack_of(settings)


def seen(settings: Settings, pack: Pack, entry: ScenarioEntry, window: str) -> Observed:
    """What the ledger saw of the scenario's models in the window, by default in that of the scenario."""
    now = datetime.now(UTC)
    span = since(window or f"{ledger_days(entry)}d", now, pack.budgets.zone)
    models = ledger_models(entry)
    return books.ask(settings, lambda engine: observed(engine, pack, span, models, now=now))
