"""`soleira spend`: what the answers cost so far."""

from __future__ import annotations

from typing import Any

import typer

from gateway.cli import ledger, options
from gateway.ledger.price import as_usd
from gateway.settings import Settings

app = typer.Typer()


@app.command()
def spend(data: options.Data = None, pack: options.Pack = None, as_json: options.AsJson = False) -> None:
    """Show what was spent, by model and by zone."""
    with ledger.opened(Settings.from_environment(data, pack)) as opened:
        total = opened.spend()
    if as_json:
        return options.print_json(total)
    typer.echo(f"{usd(total['total_nano_usd'])} in {options.counted(total['attempts'], 'attempt')}")
    if total["estimated"]:
        typer.echo(f"{total['estimated']} of them charged at an estimate, since the upstream did not say")
    if total["held"]:
        typer.echo(f"{usd(total['held_nano_usd'])} held for {options.counted(total['held'], 'attempt')} under way")
    for heading, rows in (("By model", total["by_model"]), ("By zone", total["by_zone"])):
        _table(heading, rows)


def usd(nano_usd: int) -> str:
    """The amount in dollars, exactly: never less than cents, never rounded."""
    whole, _, part = as_usd(nano_usd).partition(".")
    return f"US$ {whole}.{part.ljust(2, '0')}"


def _table(heading: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        typer.echo(f"\n{heading}")
    for row in rows:
        typer.echo(f"  {usd(row['nano_usd']):>16}  {row['name']}  ({options.counted(row['attempts'], 'attempt')})")
