"""Rows of cells as CSV: for programs, and for Excel as it is set up in Brazil."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

Cell = str | int | bool | Decimal | datetime | date | None
Row = tuple[Cell, ...]

_FORMULA = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""What a spreadsheet takes a cell for a formula by, in narrow and in full-width signs."""
_NANO = -9


@dataclass(frozen=True, slots=True)
class Sheet:
    """How cells are written."""

    delimiter: str = ","
    decimal: str = "."
    mark: str = ""
    """What the file begins with."""
    zone: tzinfo = UTC
    moment: str = "%Y-%m-%dT%H:%M:%SZ"
    day: str = "%Y-%m-%d"
    yes: str = "true"
    no: str = "false"

    def line(self, row: Sequence[Cell]) -> str:
        """One line with its end."""
        text = io.StringIO()
        csv.writer(text, delimiter=self.delimiter, lineterminator="\r\n").writerow([self._text(cell) for cell in row])
        return text.getvalue()

    def _text(self, cell: Cell) -> str:
        match cell:
            case None:
                return ""
            case bool():
                return self.yes if cell else self.no
            case int():
                return str(cell)
            case Decimal():
                return plain(cell).replace(".", self.decimal)
            case datetime():
                return cell.astimezone(self.zone).strftime(self.moment)
            case date():
                return cell.strftime(self.day)
        return harmless(cell)


def for_programs() -> Sheet:
    """Commas, decimal points, moments in UTC: RFC 4180."""
    return Sheet()


def for_brazil(zone: tzinfo) -> Sheet:
    """Semicolons, decimal commas, a byte order mark and the owner's time: what Excel opens by a double click there."""
    return Sheet(";", ",", "\ufeff", zone, "%d/%m/%Y %H:%M:%S", "%d/%m/%Y", "sim", "não")


async def written(sheet: Sheet, header: Sequence[str], rows: AsyncIterator[Row]) -> AsyncIterator[str]:
    """The file in pieces, as the rows come."""
    yield sheet.mark + sheet.line(header)
    async for row in rows:
        yield sheet.line(row)


def usd(nano_usd: int) -> Decimal:
    """Nano-dollars as dollars, exactly."""
    return Decimal(nano_usd).scaleb(_NANO)


def plain(number: Decimal) -> str:
    """Every digit that counts, without an exponent."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def harmless(text: str) -> str:
    """The text so that no spreadsheet takes it for a formula: with an apostrophe before what could be one."""
    return f"'{text}" if text.lstrip(" ")[:1] in _FORMULA and text.strip() else text
