"""Reads files of meter readings: what was drawn from one moment to another, or what a counter showed.

CSV with a line of names, commas or semicolons between the values (with semicolons, decimal commas): either

    start,end,kwh              or   time,counter_kwh
    2026-11-01,2026-11-02,411.3     2026-11-01T00:00,18233.1

`wh` and `counter_wh` are watt-hours; a column `machine` names the machine of each line. Moments without an offset are
the owner's clock; a date alone is the beginning of that day.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import TYPE_CHECKING

from gateway.db.readings import MeterReading
from gateway.economics.calendar import known, start_of
from gateway.errors import BadRequest
from policies.problems import closest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

SOURCE = "import"
_MILLIWATT_HOURS = {"kwh": 1_000_000, "wh": 1_000, "counter_kwh": 1_000_000, "counter_wh": 1_000}
_AMOUNT = re.compile(r"\d{1,12}(\.\d{1,6})?\Z")
_NAMES = {"start", "end", "time", "machine", *_MILLIWATT_HOURS}
_DATE_CHARACTERS = 10


@dataclass(frozen=True, slots=True)
class MeterFile:
    """What a file's readings are of."""

    text: str
    zone: tzinfo
    """Of the moments that state no offset."""
    machines: Collection[str]
    """Those that break_even.yaml names."""
    machine: str | None = None
    """Whose readings they are, where no column says so."""


def read(file: MeterFile) -> list[MeterReading]:
    """The readings of a file, in order; BadRequest with the line that is wrong."""
    rows = list(_rows(file))
    found = _intervals(rows) if rows and rows[0].start is not None else _differences(rows)
    readings = sorted(found, key=lambda reading: (reading.machine, reading.starts_at))
    if not readings:
        raise BadRequest("the file holds no reading: a line of names, then one line for each reading")
    for one, other in pairwise(readings):
        if one.machine == other.machine and other.starts_at < one.ends_at:
            raise BadRequest(f"two readings of {one.machine!r} overlap at {other.starts_at.isoformat()}: leave one out")
    return readings


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    machine: str
    start: datetime | None
    """None: a counter's state at `end`."""
    end: datetime
    milliwatt_hours: int


def _rows(file: MeterFile) -> Iterator[_Row]:
    text = file.text.removeprefix("\ufeff")
    first, _, _ = text.partition("\n")
    delimiter = ";" if ";" in first else ","
    table = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names = [name.strip().lower() for name in next(table, [])]
        unit = _unit(names)
        for values in table:
            if any(value.strip() for value in values):
                yield _row(file, table.line_num, _named(table.line_num, names, values), unit, delimiter)
    except csv.Error as error:
        raise BadRequest(f"line {table.line_num}: {error}") from None


def _unit(names: list[str]) -> str:
    """Which column holds the energy; BadRequest where the columns make no readings."""
    for name in names:
        if name not in _NAMES:
            meant = closest(name, _NAMES)
            hint = f"; did you mean {meant!r}?" if meant else ""
            raise BadRequest(f"line 1: {name!r} is no column of meter readings{hint}")
    units = [name for name in names if name in _MILLIWATT_HOURS]
    moments = {"time"} if units and units[0].startswith("counter") else {"start", "end"}
    if len(units) != 1 or len(set(names)) != len(names) or set(names) - {"machine", *units} != moments:
        raise BadRequest("line 1: the columns should be start, end and kwh (or wh), or time and counter_kwh")
    return units[0]


def _named(line: int, names: list[str], values: list[str]) -> dict[str, str]:
    if len(values) != len(names):
        raise BadRequest(f"line {line}: has {len(values)} values, and the first line names {len(names)} columns")
    return {name: value.strip() for name, value in zip(names, values, strict=True)}


def _row(file: MeterFile, line: int, values: Mapping[str, str], unit: str, delimiter: str) -> _Row:
    start = _moment(file, line, values["start"]) if "start" in values else None
    end = _moment(file, line, values["end" if start else "time"])
    if start is not None and start >= end:
        raise BadRequest(f"line {line}: the reading ends before it begins")
    amount = values[unit].replace(",", ".") if delimiter == ";" else values[unit]
    return _Row(line, _machine(file, line, values), start, end, _energy(line, amount, unit))


def _machine(file: MeterFile, line: int, values: Mapping[str, str]) -> str:
    name = values.get("machine") or file.machine
    if not name:
        raise BadRequest(f"line {line}: says not of which machine it is: add a column, or say --machine NAME")
    if name not in file.machines:
        meant = closest(name, file.machines)
        hint = f"; did you mean {meant!r}?" if meant else ""
        raise BadRequest(f"line {line}: {name!r} is no machine of break_even.yaml{hint}")
    return name


def _moment(file: MeterFile, line: int, text: str) -> datetime:
    try:
        if len(text) <= _DATE_CHARACTERS:
            return start_of(known(date.fromisoformat(text)), file.zone)
        moment = datetime.fromisoformat(text)
        known(moment.date())
    except ValueError:
        raise BadRequest(f"line {line}: {text!r} should be a moment such as 2026-11-01T06:30 or 2026-11-01") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=file.zone)).astimezone(UTC)


def _energy(line: int, text: str, unit: str) -> int:
    try:
        if not _AMOUNT.match(text):
            raise InvalidOperation
        return round(Decimal(text) * _MILLIWATT_HOURS[unit])
    except InvalidOperation:
        raise BadRequest(f"line {line}: {text!r} should be an amount such as 18.25") from None


def _intervals(rows: list[_Row]) -> Iterator[MeterReading]:
    for row in rows:
        if row.start is not None:
            yield MeterReading(row.machine, row.start, row.end, row.milliwatt_hours, SOURCE)


def _differences(rows: list[_Row]) -> Iterator[MeterReading]:
    """What a counter went up by between each two of its states."""
    states = sorted(rows, key=lambda row: (row.machine, row.end))
    for one, other in pairwise(states):
        if one.machine != other.machine:
            continue
        if one.end == other.end:
            raise BadRequest(f"line {other.line}: the counter was read twice at {other.end.isoformat()}")
        if other.milliwatt_hours < one.milliwatt_hours:
            raise BadRequest(
                f"line {other.line}: the counter goes down; where the meter was changed, make it a file of its own"
            )
        yield MeterReading(one.machine, one.end, other.end, other.milliwatt_hours - one.milliwatt_hours, SOURCE)
