"""The command line: `soleira COMMAND`."""

from __future__ import annotations

import typer

from gateway.cli import checks, documents, keys, policy, spend, up
from gateway.db.storage import NetworkFileSystemError
from gateway.errors import GatewayError
from gateway.supervisor.address import CannotListenError
from gateway.supervisor.children import RefusedError
from gateway.supervisor.lock import InUseError
from gateway.supervisor.prepare import UnsafeDirectoryError
from policies.problems import PackError
from retrieval.client import RetrievalError

EXPLAINED = (
    CannotListenError,
    GatewayError,
    InUseError,
    NetworkFileSystemError,
    PackError,
    RefusedError,
    RetrievalError,
    UnsafeDirectoryError,
)
"""Errors whose message says what to do; anything else is a fault of Soleira and shows where."""

app = typer.Typer(
    name="soleira",
    help="A gateway to language models that keeps private text in the house.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("up")(up.up)
app.add_typer(keys.app, name="keys")
app.command("ingest")(documents.ingest)
app.command("search")(documents.search)
app.add_typer(documents.app, name="docs")
app.add_typer(policy.app, name="policy")
app.command("spend")(spend.spend)
app.command("test", context_settings=checks.PASS_ON)(checks.test)
app.command("check")(checks.check)


def main() -> None:
    """Run one command; an error that explains itself is one message, without a traceback."""
    try:
        app(prog_name="soleira")
    except EXPLAINED as error:
        typer.echo(f"soleira: {error}", err=True)
        raise SystemExit(1) from None
