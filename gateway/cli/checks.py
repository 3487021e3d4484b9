"""`soleira test` and `soleira check`: what a change must pass."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import typer

from gateway.cli import options
from gateway.settings import HOME_PACK, ROOT, child_environment

app = typer.Typer()

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""How typer takes arguments that belong to pytest, `--help` included."""

_ON_EVERY_CORE = ("-n", "auto", "--dist", "loadfile")
"""The tests of a file stay together: they share what takes long to start."""


@dataclass(frozen=True, slots=True)
class Step:
    """One check and how it is run."""

    name: str
    command: tuple[str, ...]


@app.command(context_settings=_PASS_ON)
def test(context: typer.Context) -> None:
    """Run the tests, on every core; with arguments, which are pytest's, on one."""
    _need_checkout()
    raise typer.Exit(_run(_module("pytest", *(context.args or _ON_EVERY_CORE))))


@app.command()
def check(data: options.Data = None, pack: options.Pack = None) -> None:
    """Check format, lint, import directions, the packs' tests, types, and the tests.

    With --data or --pack the pack of that house is tested too, beside those that come with Soleira.
    """
    _need_checkout()
    house = tuple(f"--{name}={folder}" for name, folder in (("data", data), ("pack", pack)) if folder)
    failed = [step.name for step in steps(house) if not _passes(step)]
    if failed:
        typer.echo(f"\nFailed: {', '.join(failed)}.", err=True)
        raise typer.Exit(1)
    typer.echo("\nAll checks passed.")


def steps(house: tuple[str, ...] = ()) -> tuple[Step, ...]:
    """The checks, the quick ones first; `house` are the options that name one whose pack is tested too."""
    packs = sorted(rules.parent for rules in HOME_PACK.parent.glob("*/rules.yaml"))
    return (
        Step("format", _module("ruff", "format", "--check", ".")),
        Step("lint", _module("ruff", "check", ".")),
        Step("import directions", (str(Path(sys.executable).with_name("lint-imports")),)),
        *(Step(f"pack {pack.name}", _module("gateway.cli", "policy", "test", "--pack", str(pack))) for pack in packs),
        *([Step("the house's pack", _module("gateway.cli", "policy", "test", *house))] if house else []),
        Step("types", _module("mypy")),
        Step("tests", _module("pytest", "-q", *_ON_EVERY_CORE)),
    )


def _need_checkout() -> None:
    if not (ROOT / "tests").is_dir():
        typer.echo("soleira: this is an installed copy, which has no tests: run ./soleira in a checkout", err=True)
        raise typer.Exit(1)


def _passes(step: Step) -> bool:
    typer.secho(f"\n{step.name}", bold=True)
    began = time.monotonic()
    passed = _run(step.command) == 0
    typer.echo(f"{step.name}: {'passed' if passed else 'FAILED'} in {time.monotonic() - began:.1f} s")
    return passed


def _module(name: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", name, *arguments)


def _run(command: tuple[str, ...]) -> int:
    return subprocess.run(command, cwd=ROOT, env=child_environment(), check=False).returncode
