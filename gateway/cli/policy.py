"""`soleira policy`: is the pack right, do its tests pass, what would it decide."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.catalog.load import DEMONSTRATION
from gateway.cli import options
from gateway.settings import HOME_PACK, Settings
from gateway.supervisor import parts
from policies.explain import explain as explain_decision
from policies.load import load_pack
from policies.problems import PackError
from policies.signals import Signals
from policies.testing import run_tests

if TYPE_CHECKING:
    from pathlib import Path

    from policies.pack import Pack
    from policies.testing import Outcome

app = typer.Typer()
policy = typer.Typer(help="The pack: check it, test it, have a decision explained.", no_args_is_help=True)
app.add_typer(policy, name="policy")


@policy.command()
def check(data: options.Data = None, pack: options.Pack = None, as_json: options.AsJson = False) -> None:
    """Check every file of the pack; problems come as FILE:LINE."""
    if as_json:
        return _print_checked(data, pack)
    loaded = _load(data, pack)
    for warning in (*loaded.warnings, *_missing_keys(loaded)):
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(f"{loaded.folder} is a valid pack, version {loaded.version}.")


@policy.command("test")
def run_pack_tests(data: options.Data = None, pack: options.Pack = None, as_json: options.AsJson = False) -> None:
    """Run the tests that stand beside the pack's rules."""
    loaded = _load(data, pack)
    outcomes = run_tests(loaded)
    if as_json:
        options.print_json([asdict(outcome) for outcome in outcomes])
    else:
        _print_outcomes(loaded, outcomes)
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(1)


@policy.command()
def explain(
    label: Annotated[str, typer.Option(help="The label it came to: private+health. [default: the pack's]")] = "",
    model: Annotated[str, typer.Option(help="The model it asks for.")] = "auto",
    principal: Annotated[str, typer.Option(help="The name of the key it comes with.")] = "",
    groups: Annotated[str, typer.Option(help="The groups of that key: adults,family.")] = "",
    collections: Annotated[str, typer.Option(help="The collections it asks: papers,recipes.")] = "",
    language: Annotated[str, typer.Option(help="The language of its text: pt or en.")] = "",
    needs: Annotated[str, typer.Option(help="Capabilities it needs: tools,vision.")] = "",
    findings: Annotated[str, typer.Option(help="Kinds that detectors found in it: cpf,phone.")] = "",
    size: Annotated[int, typer.Option(min=0, help="Its size in tokens.")] = 0,
    hour: Annotated[int | None, typer.Option(min=0, max=23, help="The hour it comes at.")] = None,
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Say what the pack decides about a request, and why, rule by rule."""
    loaded = _load(data, pack)
    signals = Signals(
        label=options.label(label) if label else loaded.default_label,
        model=model,
        principal=principal,
        groups=frozenset(options.words(groups)),
        collections=options.words(collections),
        language=language or None,
        size=size,
        needs=frozenset(options.words(needs)),
        findings=frozenset(options.words(findings)),
        hour=hour,
    )
    explanation = explain_decision(loaded, signals)
    if as_json:
        return options.print_json(explanation.as_dict())
    typer.echo(explanation.as_text())


def _print_checked(data: Path | None, pack: Path | None) -> None:
    try:
        loaded = _load(data, pack)
    except PackError as error:
        options.print_json({"valid": False, "problems": [asdict(problem) for problem in error.problems]})
        raise typer.Exit(1) from None
    facts = {
        "folder": str(loaded.folder),
        "version": loaded.version,
        "warnings": [*loaded.warnings, *_missing_keys(loaded)],
    }
    options.print_json({"valid": True, **facts})


def _missing_keys(pack: Pack) -> list[str]:
    """The keys that a house started from here would not find."""
    named = ((spec.name, spec.api_key.env) for spec in pack.deployments if spec.api_key is not None)
    return [
        f"deployment {name!r} needs its key in {variable}, which is not set here: a house without it refuses the pack"
        for name, variable in named
        if variable is not None and not os.environ.get(variable)
    ]


def _load(data: Path | None, pack: Path | None) -> Pack:
    settings = Settings.from_environment(data, pack)
    # Before the first `up` there is no copy of the pack yet; this is what it will be.
    folder = HOME_PACK if settings.own_pack and not settings.pack.exists() else settings.pack
    loaded = load_pack(folder, settings.models)
    builtin = {DEMONSTRATION: loaded.loopback_zone.name} if parts.demonstrates(loaded) else {}
    return replace(loaded, builtin=builtin)


def _print_outcomes(pack: Pack, outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        if outcome.passed:
            typer.echo(f"passed  {outcome.name}")
            continue
        typer.echo(f"FAILED  {outcome.name}\n        rules_test.yaml:{outcome.line}: {outcome.message}")
    failed = sum(not outcome.passed for outcome in outcomes)
    typer.echo(f"{options.counted(len(outcomes), 'test')} of {pack.folder}, {failed} failed")
