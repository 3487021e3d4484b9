"""The commands that read the ledger: export, statement and reconcile, on a house's own files."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import socket
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from gateway.cli import books, export, reconcile, statement
from gateway.settings import Settings
from gateway.supervisor import lock
from gateway.wire.lanes import Usage
from tests.gateway.ledger.exports.ledgers import Call, write
from tests.gateway.ledger.exports.packs import write_pack
from tests.gateway.ledger.samples import NOON, fresh_ledger, rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import typer
    from typer.testing import Result

CALLS = [Call(Usage(fresh=1_000_001, output=3), NOON), Call(Usage(cached=7), NOON + timedelta(seconds=1))]
NOVEMBER = ("--from", "2026-11-01", "--to", "2026-11-30")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "house"
    folder.mkdir()
    asyncio.run(write(fresh_ledger(folder), CALLS))
    write_pack(folder / "pack")
    return folder


def soleira(app: typer.Typer, data: Path, *arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments), "--data", str(data)])


def read(app: typer.Typer, data: Path, *arguments: object) -> str:
    result = soleira(app, data, *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_sums_of_the_month_so_far_are_exported_as_csv(data: Path) -> None:
    [line] = csv.DictReader(io.StringIO(read(export.app, data, "export", "usage", "--by", "key,model", *NOVEMBER)))

    assert (line["key"], line["model"], line["attempts"]) == ("ana", "kimi-k3", "2")
    assert line["cost_usd"] == "3.0000501"


def test_excel_in_brazil_gets_its_own_file(data: Path) -> None:
    text = read(export.app, data, "export", "rows", "--format", "csv-br", *NOVEMBER)

    assert text.startswith("\ufeffinício;")
    assert ";3,000048;" in text


def test_a_file_is_there_once_it_is_whole_with_its_metadata(data: Path, tmp_path: Path) -> None:
    output = tmp_path / "focus.csv"

    read(export.app, data, "export", "usage", "--format", "focus", *NOVEMBER, "--output", output)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["focus.csv", "focus.csv.metadata.json", "house"]
    assert json.loads((tmp_path / "focus.csv.metadata.json").read_text())["Schema"]["FocusVersion"] == "1.2"
    billed = [line["BilledCost"] for line in csv.DictReader(io.StringIO(output.read_text()))]
    assert sorted(billed) == ["0.0000021", "0.000045", "3.000003"]


def test_focus_rows_have_their_own_columns_and_are_sums(data: Path) -> None:
    by = soleira(export.app, data, "export", "usage", "--format", "focus", "--by", "key")
    rows = soleira(export.app, data, "export", "rows", "--format", "focus")

    assert "leave --by out" in str(by.exception)
    assert "export usage --format focus" in str(rows.exception)


def test_a_running_house_keeps_its_lock_and_is_read_all_the_same(data: Path) -> None:
    settings = Settings.from_environment(data)

    async def question(engine: object) -> str:
        return type(engine).__name__

    books.ask(settings, question)  # makes what a house needs

    with lock.hold(settings.lock), listener(settings):
        text = read(export.app, data, "export", "usage", *NOVEMBER)

    assert "3.0000501" in text


def test_the_statement_is_printed_in_three_ways(data: Path) -> None:
    said = json.loads(read(statement.app, data, "2026-11", "--json"))
    page = read(statement.app, data, "2026-11", "--html", "--language", "pt")
    text = read(statement.app, data, "2026-11")

    assert said["total_nano_usd"] == sum(row["cost_nano_usd"] for row in rows(data / "ledger.db"))
    assert "(US$\xa03,0000501)" in page
    assert "charged to callers US$ 3.0000501" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["2026-13"], "is no month"),
        (["9999-12"], "is no month"),
        (["2026-11", "--html", "--language", "fr"], "use en or pt"),
    ],
)
def test_a_statement_of_nothing_is_a_usage_error(data: Path, arguments: list[str], message: str) -> None:
    result = soleira(statement.app, data, *arguments)

    assert result.exit_code == 2
    assert message in result.output


def test_reconcile_says_what_it_read_and_fails_where_figures_differ(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "usage.csv"
    file.write_text("date,model,input_tokens,output_tokens\n2026-11-01,k3-0905,1000008,3\n")

    agrees = soleira(reconcile.app, data, file, "--deployment", "moonshot-k3")
    file.write_text("date,model,input_tokens,output_tokens\n2026-11-01,k3-0905,1000008,4\n")
    differs = soleira(reconcile.app, data, file, "--deployment", "moonshot-k3")

    assert agrees.exit_code == 0, agrees.output
    assert "Read day from 'date', model from 'model'" in agrees.output
    assert "no difference" in agrees.output
    assert differs.exit_code == 1
    assert "output: 4 there, 3 here (+1)" in differs.output


@pytest.mark.parametrize("text", ["yesterday", "2026-02-30", "2026-11-28T25:00", "9999-12-31", "0001-01-01T00:00"])
def test_what_is_no_day_is_a_usage_error(data: Path, text: str) -> None:
    result = soleira(export.app, data, "export", "usage", "--from", text)

    assert result.exit_code == 2
    assert "is no day" in result.output


def test_an_export_that_is_refused_leaves_nothing_behind(data: Path, tmp_path: Path) -> None:
    wanted = tmp_path / "usage.csv"

    refused = soleira(export.app, data, "export", "usage", "--from", "2026-11-01T00:10", "-o", wanted)
    assert refused.exit_code != 0
    assert list(tmp_path.glob("*usage.csv*")) == []

    done = soleira(export.app, data, "export", "usage", "--from", "2026-11-01", "-o", wanted)
    assert done.exit_code == 0
    assert f"{wanted} is written." in done.stderr
    assert [found.name for found in tmp_path.glob("*usage.csv*")] == ["usage.csv"]


def test_a_last_day_belongs_to_the_span() -> None:
    span = books.span_of("2026-11-01", "2026-11-30", UTC)

    assert (span.start, span.end) == (datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC))


@contextmanager
def listener(settings: Settings) -> Iterator[None]:
    """A running house's admin socket, as far as others see it."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(settings.admin_socket))
        server.listen()
        yield
