"""Sheets: cells as programs and as Excel in Brazil read them, exact and harmless."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.ledger.exports.sheets import for_brazil, for_programs, harmless, usd

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def test_programs_read_points_commas_and_utc() -> None:
    line = for_programs().line([NOON, date(2026, 11, 1), usd(1500), 3, True, None, "a,b"])

    assert line == '2026-11-01T12:00:00Z,2026-11-01,0.0000015,3,true,,"a,b"\r\n'


def test_excel_in_brazil_reads_commas_semicolons_and_the_owners_time() -> None:
    sheet = for_brazil(ZoneInfo("America/Sao_Paulo"))

    line = sheet.line([NOON, date(2026, 11, 1), Decimal("-1234.50"), True, "a;b"])

    assert sheet.mark.encode() == b"\xef\xbb\xbf"
    assert line == '01/11/2026 09:00:00;01/11/2026;-1234,5;sim;"a;b"\r\n'


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "\uff1d1", "\uff0b1", '=HYPERLINK("x")']
)
def test_no_name_becomes_a_formula(text: str) -> None:
    [cell] = next(csv.reader(io.StringIO(for_programs().line([text]), newline="")))

    assert cell == f"'{text}"


@pytest.mark.parametrize("text", ["ana", "kimi-k3", "a=b", "", " ", "'quoted'"])
def test_other_names_stay_as_they_are(text: str) -> None:
    assert harmless(text) == text


def test_a_negative_amount_is_a_number_and_no_formula() -> None:
    assert for_programs().line([usd(-1)]) == "-0.000000001\r\n"


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_no_digit_of_an_amount_is_lost(nano_usd: int) -> None:
    for sheet, point in ((for_programs(), "."), (for_brazil(UTC), ",")):
        text = sheet.line([usd(nano_usd)]).strip().strip('"')

        assert Decimal(text.replace(point, ".")).scaleb(9) == nano_usd
        assert "E" not in text
