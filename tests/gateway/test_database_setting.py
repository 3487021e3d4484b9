"""Where the ledger is: in the data directory, or where the environment says; a password stays where it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.settings import SettingError, Settings, child_environment, gateway_environment

if TYPE_CHECKING:
    from pathlib import Path

URL = "postgresql://ana:canary-password@db.example:5432/ledger"


def test_without_a_word_the_ledger_is_a_file_in_the_data_directory(tmp_path: Path) -> None:
    settings = Settings.from_environment(tmp_path, environ={"SOLEIRA_DATABASE_URL": ""})

    assert settings.ledger_url == f"sqlite+aiosqlite:///{tmp_path}/ledger.db"
    assert settings.database_environment == {}


def test_the_environment_may_name_a_database_which_settings_do_not_show(tmp_path: Path) -> None:
    settings = Settings.from_environment(tmp_path, environ={"SOLEIRA_DATABASE_URL": URL})

    assert settings.ledger_url == URL
    assert settings.database_environment == {"SOLEIRA_DATABASE_URL": URL}
    assert "canary" not in repr(settings)


@pytest.mark.parametrize("url", ["mysql://ana:canary@db/ledger", "db.example/canary", "canary"])
def test_an_address_that_cannot_be_meant_is_refused_without_being_shown(tmp_path: Path, url: str) -> None:
    with pytest.raises(SettingError, match="postgresql://USER") as told:
        Settings.from_environment(tmp_path, environ={"SOLEIRA_DATABASE_URL": url})

    assert "canary" not in str(told.value)


def test_only_the_gateway_is_given_the_address() -> None:
    environ = {"SOLEIRA_DATABASE_URL": URL, "PATH": "/bin"}

    assert "SOLEIRA_DATABASE_URL" in gateway_environment(environ)
    assert "SOLEIRA_DATABASE_URL" not in child_environment(environ)
