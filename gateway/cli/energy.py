"""`soleira energy`: what the house's machines draw."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli import books, options, reach, running
from gateway.db import readings
from gateway.db.engine import open_engine
from gateway.errors import BadRequest
from gateway.ledger import energy as meters
from gateway.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.db.readings import MeterReading
    from gateway.ledger.energy import Taken
    from policies.pack import Pack

    Take = Callable[[AsyncEngine, Pack], Awaitable[list[Taken]]]

app = typer.Typer()
energy = typer.Typer(help="What the machines of the house draw: meter readings for their cost.", no_args_is_help=True)
app.add_typer(energy, name="energy")

_LARGEST = 8 << 20
_MILLIWATT_HOURS_A_KWH = 1_000_000

Machine = Annotated[str, typer.Option("--machine", help="A machine of break_even.yaml. [default: all]")]


@energy.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="CSV: start,end,kwh (or wh), or time,counter_kwh; `machine` as well.")],
    machine: Annotated[str, typer.Option("--machine", help="Whose readings they are, if no column says so.")] = "",
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Take in meter readings from a file."""
    text = _text(file)
    asked = {"text": text, "machine": machine or None}
    _taken(
        Settings.from_environment(data, pack),
        ("/energy/import", asked),
        lambda engine, of: meters.take_in(engine, of, text, machine or None),
        as_json=as_json,
    )


@energy.command()
def read(
    machine: Machine = "",
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Ask the Prometheus servers that break_even.yaml names, now instead of at the next half hour."""
    _taken(
        Settings.from_environment(data, pack),
        ("/energy/read", {"machine": machine or None}),
        lambda engine, of: meters.read_meters(engine, of, datetime.now(UTC), machine or None),
        as_json=as_json,
    )


@energy.command("list")
def list_readings(
    start: Annotated[str, typer.Option("--from", help="A day or moment. [default: this month]")] = "",
    end: Annotated[str, typer.Option("--to", help="The last day, or a moment. [default: today]")] = "",
    machine: Machine = "",
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """List what meters saw."""
    settings = Settings.from_environment(data, pack)
    of = books.pack_of(settings)
    if machine and machine not in of.machines:
        raise BadRequest(f"{machine!r} is no machine of break_even.yaml ({', '.join(of.machines) or 'it has none'})")
    span = books.span_of(start, end, of.budgets.zone)
    names = [machine] if machine else list(of.machines)

    async def listed(engine: AsyncEngine) -> list[MeterReading]:
        return [row for name in names for row in await readings.between(engine, name, span.start, span.end)]

    rows = books.ask(settings, listed)
    if as_json:
        return options.print_json([_as_dict(row) for row in rows])
    for row in rows:
        begins, ends = (moment.astimezone(of.budgets.zone).isoformat("T", "minutes") for moment in _moments(row))
        typer.echo(f"{begins}  {ends}  {kwh(row.milliwatt_hours):>14} kWh  {row.machine}  ({row.source})")
    if not rows:
        typer.echo("No meter was read in that time.")


def kwh(milliwatt_hours: int) -> str:
    """The kilowatt-hours, every digit kept: `18250000` is `18.25`."""
    whole, rest = divmod(milliwatt_hours, _MILLIWATT_HOURS_A_KWH)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > _LARGEST:
            raise BadRequest(f"{str(file)!r} is larger than {_LARGEST >> 20} MiB: divide it")
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadRequest(f"{str(file)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadRequest(f"{str(file)!r} is not UTF-8 text: save it as CSV UTF-8") from None


def _taken(
    settings: Settings,
    asked: tuple[str, dict[str, Any]],
    take: Take,
    *,
    as_json: bool,
) -> None:
    """Have a running house do it, or do it here."""
    with reach.files(settings, settings.admin_socket) as ours:
        if ours:
            rows = [each.as_dict() for each in asyncio.run(_here(settings, take))]
        else:
            rows = running.ask(settings.admin_socket, "POST", *asked)
    if as_json:
        return options.print_json(rows)
    for row in rows:
        typer.echo(
            f"{row['machine']}: {options.counted(row['readings'], 'reading')}, {kwh(row['milliwatt_hours'])} kWh "
            f"from {row['starts_at']} to {row['ends_at']}"
        )
    if not rows:
        typer.echo("There was nothing new to read.")


async def _here(settings: Settings, take: Take) -> list[Taken]:
    engine = open_engine(settings.ledger_url)
    try:
        return await take(engine, books.pack_of(settings))
    finally:
        await engine.dispose()


def _moments(row: MeterReading) -> tuple[datetime, datetime]:
    return row.starts_at, row.ends_at


def _as_dict(row: MeterReading) -> dict[str, Any]:
    return {
        "machine": row.machine,
        "starts_at": row.starts_at.isoformat(),
        "ends_at": row.ends_at.isoformat(),
        "milliwatt_hours": row.milliwatt_hours,
        "source": row.source,
    }
