"""`soleira up`: the whole house in the foreground."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from gateway.cli import options
from gateway.settings import Settings
from gateway.supervisor import house
from gateway.supervisor.address import Address

app = typer.Typer()


@app.command()
def up(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 4141,
    data: options.Data = None,
    pack: options.Pack = None,
) -> None:
    """Start the house and keep it running until Ctrl-C."""
    settings = Settings.from_environment(data, pack)
    asyncio.run(house.run(settings, Address(host, port), typer.echo))
