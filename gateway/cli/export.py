"""`soleira export`: the ledger as CSV, for programs, for Excel in Brazil, and as FOCUS rows."""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli import books, options
from gateway.economics.calendar import day_of
from gateway.errors import BadRequest
from gateway.ledger.exports import attempts, focus, focus_columns, sums
from gateway.ledger.exports.columns import headings
from gateway.ledger.exports.offers import offers_of
from gateway.ledger.exports.sheets import for_brazil, for_programs, written
from gateway.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from typing import BinaryIO

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.ledger.exports.sheets import Row, Sheet
    from gateway.ledger.usage import Span
    from policies.pack import Pack

app = typer.Typer()
export = typer.Typer(help="The ledger as files: sums, single calls, FOCUS rows.", no_args_is_help=True)
app.add_typer(export, name="export")


class Format(StrEnum):
    """How the file is written."""

    CSV = "csv"
    BRAZIL = "csv-br"
    FOCUS = "focus"


From = Annotated[str, typer.Option("--from", metavar="DAY", help="The first day. [default: the month's first]")]
To = Annotated[str, typer.Option("--to", metavar="DAY", help="The last day. [default: today]")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="The file to write. [default: what the command prints]")
]
FormatOption = Annotated[
    Format, typer.Option("--format", help="csv; csv-br, which Excel in Brazil opens; or focus (FOCUS 1.2).")
]


@export.command()
def usage(
    by: Annotated[
        str, typer.Option(help="What tells rows apart: key,model,day. [default: nothing; focus: its own columns]")
    ] = "",
    file_format: FormatOption = Format.CSV,
    start: From = "",
    end: To = "",
    output: Output = None,
    account: Annotated[str, typer.Option(help="FOCUS: the BillingAccountId to write.")] = "soleira",
    data: options.Data = None,
    pack: options.Pack = None,
) -> None:
    """Export what was used and what it cost, summed by names and time."""
    settings = Settings.from_environment(data, pack)
    loaded = books.pack_of(settings)
    span = books.span_of(start, end, books.zone_of(loaded))
    if file_format is Format.FOCUS:
        if by:
            raise BadRequest("FOCUS rows are told apart by their own columns: leave --by out")
        return _focus(settings, loaded, span, output, account)
    groupings = sums.checked(options.words(by))
    _write(
        settings, loaded, file_format, sums.header(groupings), lambda engine: sums.rows(engine, span, groupings), output
    )


@export.command()
def rows(
    file_format: FormatOption = Format.CSV,
    start: From = "",
    end: To = "",
    output: Output = None,
    data: options.Data = None,
    pack: options.Pack = None,
) -> None:
    """Export every single call, the newest first: figures and names, nothing of what was said."""
    if file_format is Format.FOCUS:
        raise BadRequest("FOCUS rows are sums of an hour: use 'soleira export usage --format focus'")
    settings = Settings.from_environment(data, pack)
    loaded = books.pack_of(settings)
    span = books.span_of(start, end, books.zone_of(loaded))
    _write(settings, loaded, file_format, attempts.HEADER, lambda engine: attempts.rows(engine, span), output)


def _focus(settings: Settings, pack: Pack, span: Span, output: Path | None, account: str) -> None:
    """FOCUS rows, and beside a file what FOCUS wants to be said of it."""
    now = datetime.now(UTC)
    offers, bill = offers_of(pack, day_of(now, span.zone)), focus.Account(account, account)
    header = tuple(focus_columns.COLUMNS)
    _stream(settings, for_programs(), header, lambda engine: focus.rows(engine, span, offers, bill), output)
    if output is not None:
        described = output.with_name(f"{output.name}.metadata.json")
        described.write_text(json.dumps(focus_columns.metadata(now), indent=2) + "\n", encoding="utf-8")
        typer.echo(f"{described} says which version of FOCUS it is, and its columns.", err=True)


def _write(
    settings: Settings,
    pack: Pack,
    file_format: Format,
    names: Sequence[str],
    rows: Callable[[AsyncEngine], AsyncIterator[Row]],
    output: Path | None,
) -> None:
    brazil = file_format is Format.BRAZIL
    sheet = for_brazil(books.zone_of(pack)) if brazil else for_programs()
    _stream(settings, sheet, headings(names, "pt" if brazil else "en"), rows, output)


def _stream(
    settings: Settings,
    sheet: Sheet,
    header: Sequence[str],
    rows: Callable[[AsyncEngine], AsyncIterator[Row]],
    output: Path | None,
) -> None:
    """Write the rows as they come."""

    async def stream(engine: AsyncEngine) -> None:
        with _opened(output) as file:
            async for piece in written(sheet, header, rows(engine)):
                file.write(piece.encode())

    books.ask(settings, stream)


@contextmanager
def _opened(output: Path | None) -> Iterator[BinaryIO]:
    """The file, there once it is whole; or what the command prints."""
    if output is None:
        yield typer.get_binary_stream("stdout")
        return
    partial = output.with_name(f".{output.name}.part")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)
    typer.echo(f"{output} is written.", err=True)
