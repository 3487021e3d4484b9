"""`soleira break-even`: whether owning machines is cheaper than paying a host, and from when on."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli import break_even_text, options
from gateway.errors import BadRequest
from gateway.owning.answers import answer
from gateway.owning.profiles import profiles
from gateway.owning.questions import Question, overrides_of
from gateway.owning.scenarios import asks_ledger, scenarios_of
from gateway.owning.shown import shown
from gateway.settings import Settings
from policies.problems import closest
from policies.scenario_file import read_scenarios
from policies.source import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateway.economics.profiles import Profile
    from policies.pack import Pack
    from policies.scenario_file import ScenarioFile
    from policies.scenarios import ScenarioEntry

app = typer.Typer()


@app.command("break-even")
def break_even(
    scenario: Annotated[
        str, typer.Option("--scenario", metavar="NAME", help="Which one. [default: the only one there is]")
    ] = "",
    scenario_file: Annotated[
        Path | None,
        typer.Option(
            "--scenario-file",
            metavar="FILE",
            help="A scenario of its own, which needs no house. [default: break_even.yaml of the pack]",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    from_ledger: Annotated[
        str,
        typer.Option(
            "--from-ledger", metavar="30d", help="Take traffic from the house's ledger, before what is stated of it."
        ),
    ] = "",
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change an input for this look: peak_to_mean=2.5."),
    ] = None,
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Answer whether owning machines is cheaper than a host: from which volume on, when, and how sure that is."""
    overrides = overrides_of(_changes(changes or ()))
    settings = Settings.from_environment(data, pack)
    file = None if scenario_file is None else read_scenarios(str(scenario_file), _bytes(scenario_file))
    of = _pack(settings, file, bool(from_ledger))
    if file is not None:
        file.check(
            [] if of is None else [rate.currency for rate in of.exchange_rates], {} if of is None else of.machines
        )
    name, entry = _chosen(scenario, file.scenarios if file else scenarios_of(of) if of else {})
    uses_ledger = bool(from_ledger) or asks_ledger(entry)
    found = answer(
        Question(
            entry,
            name,
            overrides,
            ledger_leads=bool(from_ledger),
            machines=file.machines if file else {},
            rents=file.rents if file else (),
        ),
        datetime.now(UTC).date(),
        of,
        _house().seen(settings, of, entry, from_ledger) if uses_ledger and of else None,
        _profiles(settings, entry, uses_ledger),
    )
    if as_json:
        return options.print_sentences(shown(found))
    return typer.echo(break_even_text.page(found, get_terminal_size().columns if sys.stdout.isatty() else None))


def _bytes(path: Path) -> bytes:
    """No more of it than shows that it is too large: a device may have no end."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror}") from None


def _house() -> Any:
    """The ledger's modules take half a second, which a scenario that needs no house should not wait for."""
    return import_module("gateway.cli.house_traffic")


def _changes(texts: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for name, _, value in pairs:
        if not value.strip():
            raise BadRequest(f"--set {name!r} should be NAME=VALUE, such as peak_to_mean=2.5")
    return {name.strip(): value for name, _, value in pairs}


def _pack(settings: Settings, file: ScenarioFile | None, uses_ledger: bool) -> Pack | None:
    """The pack, unless all that is asked stands in a file."""
    if file is not None and not uses_ledger and not any(_leans(each, file) for each in file.scenarios.values()):
        return None
    pack: Pack = _house().pack_of(settings)
    return pack


def _leans(entry: ScenarioEntry, file: ScenarioFile) -> bool:
    """True if the scenario names what only a pack has: a deployment, a machine, a rate of exchange, a ledger."""
    named = entry.hardware.machine
    if entry.hosted.deployment is not None or asks_ledger(entry) or (named is not None and named not in file.machines):
        return True
    known = {"USD", *(rate.currency for rate in entry.exchange_rates)}
    used = set(entry.currencies)
    if named is not None:
        used |= file.machines[named].currencies
    used |= {row.currency for row in file.rents if row.name == entry.hardware.rent_from}
    return not used <= known


def _chosen(name: str, scenarios: Mapping[str, ScenarioEntry]) -> tuple[str, ScenarioEntry]:
    if not scenarios:
        raise BadRequest(
            "break_even.yaml of the pack has no scenario: add one under `scenarios`, or name a file with one "
            "(--scenario-file); docs/break-even.md has examples"
        )
    if name in scenarios:
        return name, scenarios[name]
    if name:
        meant = closest(name, scenarios)
        hint = f"did you mean {meant!r}?" if meant else f"there is {', '.join(scenarios)}"
        raise BadRequest(f"there is no scenario {name!r}: {hint}")
    if len(scenarios) > 1:
        raise BadRequest(f"there are several scenarios: name one with --scenario ({', '.join(scenarios)})")
    return next(iter(scenarios.items()))


def _profiles(settings: Settings, entry: ScenarioEntry, uses_ledger: bool) -> Mapping[str, Profile]:
    """Those that are looked at: a broken file of measurements should not fail what needs none."""
    if uses_ledger or (entry.capacity is not None and entry.capacity.profile is not None):
        return profiles(settings.data)
    return profiles(None) if entry.capacity is None else {}
