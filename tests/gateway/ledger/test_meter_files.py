"""Files of meter readings: both kinds, both ways to write numbers, and what is wrong with a line."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from gateway.errors import BadRequest
from gateway.ledger.meter_files import MeterFile, read

SAO_PAULO = ZoneInfo("America/Sao_Paulo")


def rows(text: str, machine: str | None = "node") -> list[tuple[str, datetime, datetime, int]]:
    found = read(MeterFile(text, SAO_PAULO, ("node", "box"), machine))
    assert {row.source for row in found} == {"import"}
    return [(row.machine, row.starts_at, row.ends_at, row.milliwatt_hours) for row in found]


def utc(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC)


def test_days_are_the_owner_s() -> None:
    assert rows("start,end,kwh\n2026-11-01,2026-11-02,411.3\n2026-11-02,2026-11-03,0\n") == [
        ("node", utc(1, 3), utc(2, 3), 411_300_000),
        ("node", utc(2, 3), utc(3, 3), 0),
    ]


def test_a_counter_is_read_by_its_differences() -> None:
    text = "time,counter_kwh\n2026-11-01T02:00,18234.5\n2026-11-01T00:00,18233.1\n2026-11-01T06:00:00Z,18234.500001\n"

    assert rows(text) == [("node", utc(1, 3), utc(1, 5), 1_400_000), ("node", utc(1, 5), utc(1, 6), 1)]


def test_a_sheet_of_excel_in_brazil_is_read() -> None:
    text = "\ufeffMachine;Start;End;kWh\r\nbox;2026-11-01T00:00;2026-11-01T01:00;1,25\r\n\r\n"

    assert rows(text, None) == [("box", utc(1, 3), utc(1, 4), 1_250_000)]


def test_watt_hours_are_watt_hours() -> None:
    assert rows("start,end,wh\n2026-11-01,2026-11-02,0.5\n")[0][3] == 500


def test_machines_have_counters_of_their_own() -> None:
    text = "machine,time,counter_wh\nnode,2026-11-01,10\nbox,2026-11-01,500\nnode,2026-11-02,30\nbox,2026-11-02,501\n"

    assert [(row[0], row[3]) for row in rows(text)] == [("box", 1_000), ("node", 20_000)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: the columns should be"),
        ("start,end,kwh\n", "holds no reading"),
        ("time,counter_kwh\n2026-11-01,5\n", "holds no reading"),
        ("start,end\n2026-11-01,2026-11-02\n", "line 1: the columns should be"),
        ("start,end,kwh,wh\n2026-11-01,2026-11-02,1,1\n", "line 1: the columns should be"),
        ("time,kwh\n2026-11-01,1\n", "line 1: the columns should be"),
        ("start,end,kwhs\n", "line 1: 'kwhs' is no column of meter readings; did you mean 'kwh'?"),
        ("start,end,kwh\n2026-11-01,2026-11-02\n", "line 2: has 2 values, and the first line names 3"),
        ("start,end,kwh\n2026-11-01,2026-11-02,1e3\n", "line 2: '1e3' should be an amount"),
        ("start,end,kwh\n2026-11-01,2026-11-02,-1\n", "line 2: '-1' should be an amount"),
        ("start,end,kwh\n01/11/2026,2026-11-02,1\n", "line 2: '01/11/2026' should be a moment"),
        ("start,end,kwh\n2026-11-02,2026-11-01,1\n", "line 2: the reading ends before it begins"),
        ("start,end,kwh\n2026-11-01,2026-11-03,1\n2026-11-02,2026-11-04,1\n", "overlap at 2026-11-02T03:00"),
        ("time,counter_kwh\n2026-11-01,5\n2026-11-02,4\n", "line 3: the counter goes down"),
        ("time,counter_kwh\n2026-11-01,5\n2026-11-01,6\n", "line 3: the counter was read twice"),
        ("machine,start,end,kwh\nnodee,2026-11-01,2026-11-02,1\n", "line 2: 'nodee' is no machine of break_even.yaml"),
        ('start,end,kwh\n"2026-11-01,2026-11-02,1\n', "line 2: "),
    ],
)
def test_what_is_no_reading_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(said)):
        rows(text)


def test_whose_readings_they_are_must_be_said() -> None:
    with pytest.raises(BadRequest, match="line 2: says not of which machine it is"):
        rows("start,end,kwh\n2026-11-01,2026-11-02,1\n", None)
