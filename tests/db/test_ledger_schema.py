"""The ledger's schema: made by the migrations, the same as the tables, and strict about money."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect

from gateway.db.tables import metadata
from migrations import configuration, head, upgrade
from tests.gateway.ledger.samples import execute, fresh_ledger, rows, url_of

if TYPE_CHECKING:
    from pathlib import Path


def test_the_migrations_make_what_the_tables_say(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{fresh_ledger(tmp_path)}")

    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, metadata)
        checks = inspect(connection).get_check_constraints("attempts")
        revision = context.get_current_revision()

    engine.dispose()
    assert differences == []
    assert {check["name"] for check in checks} == {
        c.name for c in metadata.tables["attempts"].constraints if _is_check(c)
    }
    assert revision == head("ledger")


def _is_check(constraint: object) -> bool:
    return type(constraint).__name__ == "CheckConstraint"


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
    "bytes_out) VALUES ('a', 'd', 'r', 1, 'p', 'x', 'm', 'u', 'z', 'boot', {state}, {held}, {cost}, 'USD', 0, 0, 0, 0, "
    "0, 0, 0)"
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
    tmp_path: Path, state: str, held: str, cost: str
) -> None:
    path = fresh_ledger(tmp_path)
    execute(path, _ATTEMPT.format(state="'settled'", held="1", cost="1").replace("'a'", "'good'"))

    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        execute(path, _ATTEMPT.format(state=state, held=held, cost=cost))

    assert [row["id"] for row in rows(path)] == ["good"]
