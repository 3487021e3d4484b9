"""Options and arguments that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from policies.labels import Label, Sensitivity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Data = Annotated[
    Path | None,
    typer.Option("--data", envvar="SOLEIRA_DATA", show_envvar=True, help="The data directory. [default: ./data]"),
]
Pack = Annotated[
    Path | None,
    typer.Option("--pack", envvar="SOLEIRA_PACK", show_envvar=True, help="The pack. [default: DATA/pack]"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def words(text: str) -> tuple[str, ...]:
    """Read `adults,family`."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def mark(text: str) -> Sensitivity:
    """Read `private+health`, or end with a usage error."""
    try:
        return Sensitivity.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def label(text: str) -> Label:
    """Read `private+health`, or end with a usage error."""
    return Label(mark(text))


def counted(number: int, noun: str) -> str:
    """Write `1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def aligned(rows: Sequence[Sequence[str]], right: int = 0) -> Iterator[str]:
    """Rows of a table, a line each; the first so many columns stand to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    for row in rows:
        cells = [
            cell.rjust(width) if column < right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def print_json(value: object) -> None:
    """Print a value as JSON for programs to read."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_sentences(value: object) -> None:
    """The same of a value with sentences, whose blanks are plain ones: those that keep a line together are for eyes."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2).replace("\N{NO-BREAK SPACE}", " "))
