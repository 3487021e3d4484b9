"""`soleira reconcile`: a provider's own usage file against the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from gateway.cli import books, options
from gateway.ledger.exports.provider_files import said_columns
from gateway.ledger.exports.reconcile import Question
from gateway.ledger.exports.reconcile import reconcile as compare
from gateway.ledger.exports.sheets import plain
from gateway.settings import Settings
from policies.problems import closest

if TYPE_CHECKING:
    from datetime import tzinfo

    from gateway.ledger.exports.reconcile import Difference, Reconciliation

app = typer.Typer()


@app.command()
def reconcile(
    file: Annotated[
        Path, typer.Argument(help="The provider's usage or cost file, a CSV.", exists=True, dir_okay=False)
    ],
    deployment: Annotated[str, typer.Option("--deployment", help="The deployment whose key it is of.")],
    start: Annotated[str, typer.Option("--from", metavar="DAY", help="The first day. [default: the file's]")] = "",
    end: Annotated[str, typer.Option("--to", metavar="DAY", help="The last day. [default: the file's]")] = "",
    columns: Annotated[
        str, typer.Option(metavar="ROLE=NAME,...", help="Which column says what: day=Date,input=Prompt tokens.")
    ] = "",
    time_zone: Annotated[str, typer.Option(help="Whose days the file counts: Asia/Shanghai.")] = "UTC",
    currency: Annotated[str, typer.Option(help="What its amounts are in. [default: as it says, else USD]")] = "",
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare a provider's file with the ledger by day and model. Fails if they differ."""
    settings = Settings.from_environment(data, pack)
    _check(deployment, [spec.name for spec in books.pack_of(settings).deployments])
    question = Question(
        deployment=deployment,
        zone=_zone(time_zone),
        start=books.day(start, "--from"),
        end=books.day(end, "--to"),
        said=said_columns(columns),
        currency=currency.upper() or None,
    )
    content = file.read_bytes()
    found = books.ask(settings, lambda engine: compare(engine, content, question))
    if as_json:
        options.print_json(found.as_dict())
    else:
        _print(found)
    if found.differences:
        raise typer.Exit(1)


def _check(name: str, known: list[str]) -> None:
    """A name that no pack has now may be an earlier one's, so it is only doubted."""
    if name not in known:
        near = closest(name, known)
        meant = f"; did you mean {near!r}?" if near else ""
        typer.echo(f"soleira: {name!r} is no deployment of the pack now{meant}", err=True)


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise typer.BadParameter(
            f"{name!r} is no time zone: write one such as Asia/Shanghai", param_hint="--time-zone"
        ) from None


def _print(found: Reconciliation) -> None:
    read = ", ".join(f"{role} from {name!r}" for role, name in found.columns.items())
    typer.echo(f"Read {read}.")
    for note in found.notes:
        typer.echo(f"Note: {note}.")
    for difference in found.differences:
        typer.echo(_line(difference, found.currency))
    days = str(found.start) if found.start == found.end else f"{found.start} to {found.end}"
    differ = len(found.differences)
    result = f"{options.counted(differ, 'figure')} of them differ" if differ else "no difference"
    typer.echo(f"{options.counted(found.compared, 'figure')} compared, {days}: {result}.")


def _line(found: Difference, currency: str) -> str:
    unit = f" {currency}" if found.what == "cost" else ""
    more = found.theirs - found.ours
    guessed = f", {options.counted(found.estimated, 'call')} charged by an estimate" if found.estimated else ""
    return (
        f"  {found.day}  {found.model or 'all models'}  {found.what}: {plain(found.theirs)}{unit} there, "
        f"{plain(found.ours)}{unit} here ({'+' if more > 0 else ''}{plain(more)}{guessed})"
    )
