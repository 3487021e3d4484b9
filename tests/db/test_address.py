"""Addresses of ledgers: what may be one, and how it is shown."""

from __future__ import annotations

import pytest

from gateway.db.address import dsn, is_postgres, parse, shown
from gateway.db.connections import open as open_connection
from gateway.db.texts import kept


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+asyncpg"])
def test_every_way_to_write_postgresql_is_one(scheme: str) -> None:
    address = parse(f"{scheme}://ana:p%40ss@db:6543/ledger?sslmode=require")

    assert dsn(address) == "postgresql://ana:p%40ss@db:6543/ledger?sslmode=require"
    assert shown(address) == "postgresql://ana:***@db:6543/ledger"


def test_a_file_is_no_postgresql() -> None:
    assert is_postgres("sqlite+aiosqlite:////data/ledger.db") is False


@pytest.mark.parametrize("url", ["canary", "mysql://ana:canary@db/x", "postgresql://ana:canary@db:port/x"])
def test_what_cannot_be_an_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ValueError, match=r"postgresql|PostgreSQL") as told:
        parse(url)

    assert "canary" not in str(told.value)


def test_a_ledger_in_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="name a file"):
        open_connection("sqlite://", "power")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("São", "São"), ("a\x00b", "a\ufffdb"), ("\ud83d", "\ufffd"), ("😀", "😀"), ("", "")],
)
def test_only_what_no_database_takes_is_replaced(text: str, expected: str) -> None:
    assert kept(text) == expected
    assert kept(text).encode().decode() == expected
