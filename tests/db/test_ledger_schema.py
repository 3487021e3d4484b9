"""The ledger's schema: made by the migrations, the same as the tables, and strict about money."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING

import asyncpg
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import CheckConstraint, Connection, inspect

from gateway.db import rollups
from gateway.db.tables import metadata, microseconds
from migrations import configuration, head, upgrade
from tests.db.stores import Store
from tests.gateway.ledger.samples import NOON, fresh_ledger, rows, url_of

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine


async def test_the_migrations_make_what_the_tables_say(opened: AsyncEngine) -> None:
    async with opened.connect() as connection:
        differences, checks, revision = await connection.run_sync(_compared)

    assert differences == []
    assert checks == {
        (table.name, constraint.name)
        for table in metadata.tables.values()
        for constraint in table.constraints
        if isinstance(constraint, CheckConstraint) and _is_for(constraint, opened.dialect.name)
    }
    assert revision == head("ledger")


def _compared(connection: Connection) -> tuple[list[object], set[tuple[str, str | None]], str | None]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    inspected = inspect(connection)
    checks = {(table, check["name"]) for table in metadata.tables for check in inspected.get_check_constraints(table)}
    # Comments are for readers of the tables; the migrations leave them out.
    told = [change for change in compare_metadata(context, metadata) if not _is_comment(change)]
    return told, checks, context.get_current_revision()


def _is_comment(change: object) -> bool:
    return isinstance(change, list) and all(part[0] == "modify_comment" for part in change)


def _is_for(constraint: CheckConstraint, dialect: str) -> bool:
    """Only SQLite has to be told that money is whole: PostgreSQL's columns take nothing else."""
    return dialect == "sqlite" or constraint.name != "ck_attempts_cost_exact"


def test_the_migrations_go_down_and_up_again_on_postgresql(postgres_url: str) -> None:
    store = Store(postgres_url, None)
    columns = (
        "SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns "
        "WHERE table_schema = 'public' ORDER BY table_name, column_name"
    )
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    made = store.rows(columns)

    command.downgrade(configuration("ledger", postgres_url), "base")
    left = store.rows(tables)
    upgrade("ledger", postgres_url)

    assert left == [{"tablename": "alembic_version"}]
    assert store.rows(columns) == made


async def test_rollups_are_made_of_what_was_settled_before_there_were_any(store: Store, opened: AsyncEngine) -> None:
    command.downgrade(configuration("ledger", store.url), "0002")
    store.execute("INSERT INTO boots VALUES ('boot', 'h', 1, '', 0, 0)")
    moments = [microseconds(NOON + timedelta(minutes=minutes)) for minutes in (0, 29, 31)]
    for number, (state, cost) in enumerate((("settled", "7"), ("recovered", "5"), ("held", "NULL"))):
        attempt = _ATTEMPT.format(state=f"'{state}'", held="9", cost=cost, truth="true")
        store.execute(attempt.replace("'a'", f"'a{number}'").replace("'start'", str(moments[number])))

    upgrade("ledger", store.url)

    found = await rollups.sums(opened, NOON, NOON + timedelta(hours=1), ("person", "model"), step="bucket")
    assert [(row.names, row.bucket) for row in found] == [({"person": "p", "model": "m"}, NOON)]
    assert {name: found[0].measures[name] for name in ("attempts", "cost_nano_usd", "estimated", "fresh")} == {
        "attempts": 2,
        "cost_nano_usd": 12,
        "estimated": 2,
        "fresh": 6,
    }


def test_the_migrations_go_down_and_up_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    upgrade("ledger", url_of(path))
    made = rows(path, "SELECT sql FROM sqlite_master WHERE name <> 'alembic_version' ORDER BY name")

    command.downgrade(configuration("ledger", url_of(path)), "base")
    left = {row["name"] for row in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    upgrade("ledger", url_of(path))

    assert left == {"alembic_version"}
    assert rows(path, "SELECT sql FROM sqlite_master WHERE name <> 'alembic_version' ORDER BY name") == made


def test_upgrading_again_changes_nothing(tmp_path: Path) -> None:
    path = fresh_ledger(tmp_path)
    before = path.read_bytes()

    upgrade("ledger", url_of(path))

    assert path.read_bytes() == before


def test_a_new_ledger_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "100% ours" / "ledger.db"
    path.parent.mkdir()

    upgrade("ledger", url_of(path))

    assert path.stat().st_mode & 0o777 == 0o600


_ATTEMPT = (
    "INSERT INTO attempts (id, decision_id, request_id, ordinal, principal, deployment, model, upstream_model, zone, "
    "owner, state, held_nano_usd, cost_nano_usd, currency, fresh, cached, output, reasoning, estimated, started_at, "
    "bytes_out) VALUES ('a', 'd', 'r', 1, 'p', 'x', 'm', 'u', 'z', 'boot', {state}, {held}, {cost}, 'USD', 3, 0, 0, 0, "
    "{truth}, 'start', 0)"
)


@pytest.mark.parametrize(
    ("state", "held", "cost"),
    [
        ("'held'", "0.5", "NULL"),
        ("'settled'", "1", "0.5"),
        ("'settled'", "1", "-1"),
        ("'settled'", "1", "NULL"),
        ("'held'", "1", "1"),
        ("'paid'", "1", "1"),
    ],
)
def test_money_that_is_no_whole_number_or_in_no_known_state_is_refused(
    store: Store, state: str, held: str, cost: str
) -> None:
    entry = _ATTEMPT.replace("'start'", "0")
    store.execute("INSERT INTO boots VALUES ('boot', 'h', 1, '', 0, 0)")
    store.execute(entry.format(state="'settled'", held="1", cost="1", truth="true").replace("'a'", "'good'"))

    if store.path is None and "0.5" in (held, cost):  # such a column cannot hold one: it is rounded
        return
    with pytest.raises((sqlite3.IntegrityError, asyncpg.CheckViolationError), match=r"(?i)check"):
        store.execute(entry.format(state=state, held=held, cost=cost, truth="true"))

    assert [row["id"] for row in store.rows()] == ["good"]
