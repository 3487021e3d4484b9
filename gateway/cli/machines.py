"""`soleira machines`: what the house's own machines cost, used and idle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli import books, options
from gateway.ledger.machines import report
from gateway.settings import Settings

if TYPE_CHECKING:
    from gateway.ledger.machines import MachineCost

app = typer.Typer()

_LINES = (
    ("capital", "capital_nano_usd"),
    ("rent", "rent_nano_usd"),
    ("energy", "energy_nano_usd"),
    ("staff", "staff_nano_usd"),
    ("used", "used_nano_usd"),
    ("idle", "idle_nano_usd"),
)


@app.command()
def machines(
    start: Annotated[str, typer.Option("--from", help="A day or moment. [default: this month]")] = "",
    end: Annotated[str, typer.Option("--to", help="The last day, or a moment. [default: today]")] = "",
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what the machines of break_even.yaml cost over time, by line, and what of that was used or idle."""
    settings = Settings.from_environment(data, pack)
    of = books.pack_of(settings)
    span = books.span_of(start, end, of.budgets.zone)
    found = books.ask(settings, lambda engine: report(engine, of, span.start, span.end))
    if as_json:
        return options.print_json([machine.as_dict() for machine in found])
    for machine in found:
        _show(machine)
    if not found:
        typer.echo("No machine of break_even.yaml says what it costs over time: capex, rent, energy, staff.")


def _show(machine: MachineCost) -> None:
    answers = ", ".join(machine.deployments) or "no deployment"
    typer.echo(f"{machine.name}  {books.usd(machine.allocated_nano_usd)}  ({answers})")
    for name, field in _LINES:
        if amount := getattr(machine, field):
            typer.echo(f"  {name:<8} {books.usd(amount):>24}")
    if (full := machine.full_nano_usd_per_million) is not None:
        typer.echo(f"  {books.usd(full)} for a million tokens with everything; the ledger charged the marginal price")
    if machine.unmetered_hours:
        typer.echo(f"  the energy of {machine.unmetered_hours} hours is missing: state `kw`, or bring readings")
