"""`soleira models`: what can be called, and how it is."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.catalog import load as catalog_load
from gateway.catalog.engines import Engines
from gateway.catalog.load import Catalog, CatalogError
from gateway.catalog.observed import Observed
from gateway.catalog.overview import rows
from gateway.cli import options, running
from gateway.cli.pull import pull
from gateway.errors import GatewayError, NotFound
from gateway.settings import HOME_PACK, Settings
from gateway.upstream.guard import Guard
from gateway.upstream.probes.look import look
from gateway.upstream.probes.prober import is_own, now
from policies.load import load_pack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateway.catalog.deployments import Deployment
    from policies.pack import Pack
    from policies.schema import DeploymentSpec

app = typer.Typer()
models = typer.Typer(help="The models that can be called, and how they are.", no_args_is_help=True)
app.add_typer(models, name="models")
models.command()(pull)

Rows = list[dict[str, Any]]

_HEADINGS = ("NAME", "MODEL", "ENGINE", "ZONE", "STATE", "CONTEXT", "VISION", "LOAD", "SLOTS", "USD/M IN", "OUT")


class UnusablePackError(GatewayError):
    """A deployment that cannot be used as it is written, in the catalog's words."""


@models.command("list")
def list_models(data: options.Data = None, pack: options.Pack = None, as_json: options.AsJson = False) -> None:
    """List the deployments with what is known of them; nobody outside is asked."""
    settings = Settings.from_environment(data, pack)
    shown = _running(settings, "GET", "/models")
    _show(_alone(settings, is_own) if shown is None else shown, as_json=as_json)


@models.command()
def probe(
    name: Annotated[str, typer.Argument(help="One deployment, as 'models list' names it. [default: all]")] = "",
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Ask deployments how they are, hosted ones too. Fails if one of them is not up."""
    settings = Settings.from_environment(data, pack)
    shown = _running(settings, "POST", "/models/probe", {"name": name or None})
    if shown is None:
        shown = _alone(settings, lambda _: True, name)
    _show(shown, as_json=as_json)
    if not all(row["up"] for row in shown):
        raise typer.Exit(1)


def _running(settings: Settings, method: str, path: str, body: object = None) -> Rows | None:
    """What a running house answers; None if none is running."""
    try:
        shown: Rows = running.ask(settings.admin_socket, method, path, body)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    return shown


def _alone(settings: Settings, asked: Callable[[Deployment], bool], name: str = "") -> Rows:
    """The same without a house: the pack is read and its deployments are asked by this process."""
    pack = _pack(settings)
    specs = tuple(spec if spec.name == name else _with_key(spec) for spec in pack.deployments)
    catalog = _catalog(replace(pack, deployments=specs), Engines.of(settings))
    chosen = [d for d in catalog.deployments if d.base_url and name in ("", d.name)]
    if name and not chosen:
        raise NotFound(f"there is no deployment {name!r}: 'soleira models list' shows them")
    with redirect_stdout(sys.stderr):  # events that are logged meanwhile are not for the programs that read the list
        observed = asyncio.run(_looked([d for d in chosen if asked(d)]))
    return rows(chosen, pack.deployments, observed, datetime.now(UTC).date())


async def _looked(deployments: list[Deployment]) -> Observed:
    observed = Observed(now)
    async with Guard() as guard:
        seen = await asyncio.gather(*(look(guard, deployment, now()) for deployment in deployments))
    for deployment, observation in zip(deployments, seen, strict=True):
        observed.note(deployment.name, observation)
    return observed


def _pack(settings: Settings) -> Pack:
    # Before the first `up` there is no copy of the pack yet; this is what it will be.
    return load_pack(HOME_PACK if settings.own_pack and not settings.pack.exists() else settings.pack)


def _catalog(pack: Pack, engines: Engines, environ: Mapping[str, str] = os.environ) -> Catalog:
    try:
        return catalog_load.load(pack, environ, None, engines)
    except CatalogError as error:
        raise UnusablePackError(str(error)) from None


def _with_key(spec: DeploymentSpec, environ: Mapping[str, str] = os.environ) -> DeploymentSpec:
    """Without the key that only the house's environment has: it is shown all the same, and says so when asked."""
    key = spec.api_key
    if key is None or (key.env and environ.get(key.env)) or (key.file and Path(key.file).expanduser().is_file()):
        return spec
    return spec.model_copy(update={"api_key": None})


def _show(shown: Rows, *, as_json: bool) -> None:
    if as_json:
        return options.print_json(shown)
    for line in options.aligned([_HEADINGS, *(_cells(row) for row in shown)]):
        typer.echo(line)
    for row in shown:
        for told in (*([row["note"]] if row["note"] else []), *row["warnings"]):
            typer.echo(f"{row['name']}: {told}")
    if not shown:
        typer.echo("No model is connected: deployments.yaml in the pack holds ready entries.")


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    facts = (row["name"], row["model"], row["engine"], row["zone"], row["state"], row["context"], _yes(row["vision"]))
    return tuple("-" if fact is None else str(fact) for fact in (*facts, _load(row), row["slots"], *_prices(row)))


def _yes(fact: bool | None) -> str | None:
    return None if fact is None else "yes" if fact else "no"


def _load(row: Mapping[str, Any]) -> str | None:
    """`3 + 2`: three being answered, two waiting."""
    if row["running"] is None:
        return None
    return f"{row['running']} + {row['waiting']}" if row["waiting"] is not None else str(row["running"])


def _prices(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["price"]["input"], row["price"]["output"]
