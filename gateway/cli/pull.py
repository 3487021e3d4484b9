"""`soleira models pull`: a GGUF file from a hub, fetched by a process that alone may reach outside."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli import options
from gateway.settings import Settings, child_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

_OFFLINE = frozenset({"HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"})
_QUIET = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_XET": "1",  # what was fetched by that protocol cannot be gone on with after an interruption
}


def pull(
    repository: Annotated[str, typer.Argument(metavar="REPO[/FILE]", help="OWNER/NAME, with the file if it is known.")],
    file: Annotated[str, typer.Option(help="A file, a pattern, or a quantisation: Q4_K_M. [default: lists them]")] = "",
    revision: Annotated[str, typer.Option(help="A branch, tag or commit.")] = "main",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before fetching.")] = False,
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Fetch a GGUF file from Hugging Face (or the hub in HF_ENDPOINT) into DATA/models, checked."""
    settings = Settings.from_environment(data, pack)
    given = {"--file": file, "--revision": revision, "--data": settings.data, "--pack": settings.pack}
    switches = [name for name, on in (("--yes", yes), ("--json", as_json)) if on]
    command = [sys.executable, "-P", "-m", "gateway.cli.hub", *(f"{name}={value}" for name, value in given.items())]
    done = subprocess.run([*command, *switches, "--", repository], env=environment(os.environ), check=False)
    raise typer.Exit(done.returncode)


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """That of a child, without other services' keys, but with the hub's own settings and the way out to it."""
    way = {name: value for name, value in environ.items() if name.startswith("HF_") or name.lower().endswith("_proxy")}
    whole = {**child_environment(environ), **way, **_QUIET}
    return {name: value for name, value in whole.items() if name not in _OFFLINE}
