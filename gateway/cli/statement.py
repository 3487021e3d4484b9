"""`soleira statement`: what a month came to, for each person and for the house."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli import books, options
from gateway.cli.books import usd
from gateway.economics.calendar import FIRST_YEAR, LAST_YEAR, day_of
from gateway.ledger.exports.statement import statement as state
from gateway.ledger.exports.statement_page import page
from gateway.settings import Settings

if TYPE_CHECKING:
    from gateway.ledger.exports.statement import Bill, Statement
    from policies.fields import Language

app = typer.Typer()

_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])\Z")


@app.command()
def statement(
    month: Annotated[str, typer.Argument(help="The month: 2026-11. [default: this one]")] = "",
    as_html: Annotated[bool, typer.Option("--html", help="Print a page that prints on paper.")] = False,
    language: Annotated[str, typer.Option(help="The page's language: en or pt.")] = "en",
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Show a month's statement: what each person's keys come to, what the house bears, whom the money goes to."""
    settings = Settings.from_environment(data, pack)
    loaded = books.pack_of(settings)
    now = datetime.now(UTC)
    today = day_of(now, books.zone_of(loaded))
    year, number = _month(month) if month else (today.year, today.month)
    found = books.ask(settings, lambda engine: state(engine, loaded, year, number, now))
    if as_json:
        return options.print_json(found.as_dict())
    if as_html:
        return typer.echo(page(found, _language(language)), nl=False)
    _print(found)


def _month(text: str) -> tuple[int, int]:
    match = _MONTH.match(text)
    if match is None or not FIRST_YEAR <= int(match[1]) <= LAST_YEAR:
        raise typer.BadParameter(f"{text!r} is no month: write one such as 2026-11")
    return int(match[1]), int(match[2])


def _language(text: str) -> Language:
    match text:
        case "en" | "pt":
            return text
    raise typer.BadParameter(f"{text!r} is no language of the page: use en or pt")


def _print(found: Statement) -> None:
    total = found.total
    typer.echo(f"{found.month}: {usd(total.cost_nano_usd)} in {options.counted(total.attempts, 'call')}")
    typer.echo(f"charged to callers {usd(total.principal_nano_usd)}, borne by the house {usd(total.house_nano_usd)}")
    if total.surcharge_nano_usd:
        typer.echo(f"of the total, taxes and fees: {usd(total.surcharge_nano_usd)}")
    if not found.ended:
        typer.echo("not final: the month has not ended")
    if found.held:
        typer.echo(
            f"not final: {options.counted(found.held, 'call')} under way, for {usd(found.held_nano_usd)} at most"
        )
    for heading, bills in (("By person", found.people), ("By provider", found.providers), ("Own machines", found.own)):
        _table(heading, bills)


def _table(heading: str, bills: tuple[Bill, ...]) -> None:
    if bills:
        typer.echo(f"\n{heading}")
    for bill in bills:
        _line(bill, "  ")
        if [part.name for part in bill.parts] != [bill.name]:
            for part in bill.parts:
                _line(part, "    ")


def _line(bill: Bill, indent: str) -> None:
    sums = bill.sums
    house = f", {usd(sums.house_nano_usd)} of it borne by the house" if sums.house_nano_usd else ""
    typer.echo(f"{indent}{usd(sums.cost_nano_usd):>16}  {bill.name}  ({options.counted(sums.attempts, 'call')}{house})")
