"""`soleira spend`: what the answers cost so far."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import typer

from gateway.cli import ledger, options
from gateway.settings import Settings


def spend(data: options.Data = None, as_json: options.AsJson = False) -> None:
    """Show what was spent, by model and by zone."""
    with ledger.opened(Settings.from_environment(data)) as opened:
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
    whole, _, part = f"{Decimal(nano_usd).scaleb(-9):.9f}".partition(".")
    return f"US$ {whole}.{part.rstrip('0').ljust(2, '0')}"


def _table(heading: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        typer.echo(f"\n{heading}")
    for row in rows:
        typer.echo(f"  {usd(row['nano_usd']):>16}  {row['name']}  ({options.counted(row['attempts'], 'attempt')})")
