"""`soleira budgets`: what each budget has spent, holds and allows, and until when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from gateway.cli import books, options
from gateway.ledger.budgets import Standing, state
from gateway.ledger.price import as_usd
from gateway.settings import Settings

if TYPE_CHECKING:
    from policies.budgets import Budgets

app = typer.Typer()


@app.command()
def budgets(data: options.Data = None, pack: options.Pack = None, as_json: options.AsJson = False) -> None:
    """Show how the budgets stand: the pack's and the keys' own."""
    settings = Settings.from_environment(data, pack)
    loaded, now = books.pack_of(settings), datetime.now(UTC)
    found = books.ask(settings, lambda engine: state(engine, loaded, now))
    if as_json:
        return options.print_json([standing.as_dict() for standing in found])
    for standing in found:
        typer.echo(_line(standing, loaded.budgets))
    if not found:
        typer.echo(
            "There is no budget yet: budgets.yaml sets them, and 'soleira keys create NAME --budget-usd 5/month'."
        )


def _line(standing: Standing, pack: Budgets) -> str:
    window, budget = standing.window, standing.budget
    kind = "" if budget.of.kind == "house" else f"{budget.of.kind} "
    until = f"{window.ends_at.astimezone(pack.zone):%Y-%m-%d %H:%M}"
    parts = [f"{budget.name}: {kind}{window.subject}, {standing.percent}% of this {budget.per}"]
    if window.limit_nano_usd is not None:
        spent, held, limit = map(as_usd, (standing.spent_nano_usd, standing.held_nano_usd, window.limit_nano_usd))
        written = budget.money
        own = f" ({written.currency} {written.amount})" if written is not None and written.currency != "USD" else ""
        parts.append(f"US$ {spent} spent and {held} held of {limit}{own}")
    if window.limit_tokens is not None:
        used = f"{standing.spent_tokens} tokens used and {standing.held_tokens} held"
        parts.append(f"{used} of {window.limit_tokens}")
    return "; ".join([*parts, f"until {until} {pack.zone_name}{'' if budget.hard else ', only warns'}"])
