"""`soleira alerts`: whether alerts arrive where the pack says."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer
from tenacity import wait_none

from gateway.alerts.errors import AlertNotTakenError, AlertUnusableError
from gateway.alerts.notices import a_test
from gateway.alerts.places import Message, places_of
from gateway.alerts.watch import delivered
from gateway.cli import books, options
from gateway.settings import Settings

if TYPE_CHECKING:
    from gateway.alerts.places import Place

app = typer.Typer()
alerts = typer.Typer(help="Alerts by webhook, e-mail and ntfy, as budgets.yaml says.", no_args_is_help=True)
app.add_typer(alerts, name="alerts")


@alerts.command("test")
def send_a_test(data: options.Data = None, pack: options.Pack = None, as_json: options.AsJson = False) -> None:
    """Send a test to each place of the pack's `alerts`. Fails if one does not take it."""
    places = places_of(books.pack_of(Settings.from_environment(data, pack)).budgets.alerts, os.environ)
    tried = [asyncio.run(_tried(place)) for place in places]
    if as_json:
        options.print_json(tried)
    else:
        for each in tried:
            typer.echo(f"{each['place']}: {each['failure'] or 'taken'}")
    if not places:
        typer.echo("The pack has no alerts: add some to budgets.yaml.", err=True)
    if any(each["failure"] for each in tried):
        raise typer.Exit(1)


async def _tried(place: Place) -> dict[str, Any]:
    at = datetime.now(UTC)
    message = Message(f"alert_test_{int(at.timestamp())}", (a_test(at),))
    failure: str | None = None
    try:
        await delivered(place, message, lambda: datetime.now(UTC), wait_none())
    except (AlertNotTakenError, AlertUnusableError) as error:
        failure = str(error).removeprefix(f"{place.name}: ").removeprefix(f"{place.name} ")
    return {"place": place.name, "failure": failure}
