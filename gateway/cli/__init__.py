"""The command line: `soleira COMMAND`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group_from_info
from typer.models import TyperInfo

from gateway.db.storage import NetworkFileSystemError
from gateway.errors import GatewayError
from gateway.settings import SettingError
from gateway.supervisor.address import CannotListenError
from gateway.supervisor.children import RefusedError
from gateway.supervisor.lock import InUseError
from gateway.supervisor.prepare import MigrationError, UnsafeDirectoryError
from policies.problems import PackError

EXPLAINED = (
    CannotListenError,
    GatewayError,
    InUseError,
    MigrationError,
    NetworkFileSystemError,
    PackError,
    RefusedError,
    SettingError,
    UnsafeDirectoryError,
)
"""Errors whose message says what to do; anything else is a fault of Soleira and shows where."""

MODULES = {
    "up": "up",
    "keys": "keys",
    "ingest": "documents",
    "search": "documents",
    "docs": "documents",
    "policy": "policy",
    "spend": "spend",
    "budgets": "budgets",
    "prices": "prices",
    "statement": "statement",
    "export": "export",
    "reconcile": "reconcile",
    "machines": "machines",
    "energy": "energy",
    "break-even": "break_even",
    "fit": "fit",
    "measure": "measure",
    "alerts": "alerts",
    "models": "models",
    "test": "checks",
    "check": "checks",
}
"""The commands, each with the module whose `app` has it."""


class Commands(TyperGroup):
    """Imports a command's module when the command is asked for: none waits for what only others need."""

    # `Any` stands for classes that typer keeps private.
    def list_commands(self, ctx: Any) -> list[str]:
        return list(MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in MODULES:
            return None
        module = import_module(f"gateway.cli.{MODULES[cmd_name]}")
        group = get_group_from_info(
            TyperInfo(module.app), pretty_exceptions_short=False, suggest_commands=True, rich_markup_mode=None
        )
        return group.commands[cmd_name]


app = typer.Typer(
    cls=Commands,
    name="soleira",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def soleira() -> None:
    """A gateway to language models that keeps private text in the house."""


def main() -> None:
    """Run one command; an error that explains itself is one message, without a traceback."""
    try:
        app(prog_name="soleira")
    except EXPLAINED as error:
        typer.echo(f"soleira: {error}", err=True)
        raise SystemExit(1) from None
