"""`soleira keys`: who may call, and what they may read."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gateway.cli import ledger, options
from gateway.db.keys import Allowance, KeySpec, Role
from gateway.settings import Settings

app = typer.Typer()
keys = typer.Typer(help="API keys: who may call, and what they may read.", no_args_is_help=True)
app.add_typer(keys, name="keys")

_ALLOWED = {
    "budget_usd": "US$ {}",
    "budget_tokens": "{} tokens as a budget",
    "requests": "{} requests",
    "tokens": "{} tokens",
    "concurrency": "{} at once",
}
"""How `keys list` says what a key may use."""

Name = Annotated[str, typer.Argument(help="The name of the key.")]


@keys.command()
def create(
    name: Name,
    groups: Annotated[str, typer.Option(help="Groups that rules and collections speak of: adults,family.")] = "",
    clearance: Annotated[str, typer.Option(help="The highest label it may read: private+health.")] = "private",
    label: Annotated[str, typer.Option(help="What its texts count as. [default: the pack's default label]")] = "",
    collections: Annotated[str, typer.Option(help="Collections it may read: papers,recipes.")] = "",
    person: Annotated[str, typer.Option(help="Whose key it is. [default: the key's name]")] = "",
    role: Annotated[str, typer.Option(help="caller, or reader: sees figures and calls nothing.")] = "caller",
    budget_usd: Annotated[str, typer.Option(help="Dollars it may spend: 5/month (hour, day, week, month).")] = "",
    budget_tokens: Annotated[str, typer.Option(help="Tokens it may use: 1000000/day.")] = "",
    requests: Annotated[str, typer.Option(help="Requests it may make: 60/minute (second, minute, hour, day).")] = "",
    tokens: Annotated[str, typer.Option(help="Tokens it may ask for: 100000/minute.")] = "",
    concurrency: Annotated[int | None, typer.Option(min=1, help="Calls it may have under way at once.")] = None,
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Make a key; its text is shown once."""
    spec = KeySpec(
        name=name,
        groups=options.words(groups),
        clearance=options.mark(clearance),
        default_label=options.label(label) if label else None,
        collections=options.words(collections),
        person=person or None,
        role=_role(role),
        allowance=Allowance(
            budget_usd=budget_usd or None,
            budget_tokens=budget_tokens or None,
            requests=requests or None,
            tokens=tokens or None,
            concurrency=concurrency,
        ),
    )
    with ledger.opened(Settings.from_environment(data, pack)) as opened:
        created = opened.create_key(spec)
    if as_json:
        return options.print_json(created)
    typer.echo(f"The key of {name!r}, shown this once (it is kept only as a digest):", err=True)
    typer.echo(created["key"])


@keys.command("list")
def list_keys(data: options.Data = None, pack: options.Pack = None, as_json: options.AsJson = False) -> None:
    """List the keys, without their texts."""
    with ledger.opened(Settings.from_environment(data, pack)) as opened:
        listed = opened.list_keys()
    if as_json:
        return options.print_json(listed)
    for key in listed:
        typer.echo(_line(key))
    if not listed:
        typer.echo("There is no key yet: 'soleira keys create NAME' makes one.")


@keys.command()
def revoke(name: Name, data: options.Data = None, pack: options.Pack = None, as_json: options.AsJson = False) -> None:
    """Revoke a key: it is refused from now on."""
    with ledger.opened(Settings.from_environment(data, pack)) as opened:
        revoked = opened.revoke_key(name)
    if not revoked:
        typer.echo(f"soleira: there is no living key named {name!r}; 'soleira keys list' shows them", err=True)
        raise typer.Exit(1)
    if as_json:
        return options.print_json({"name": name, "state": "revoked"})
    typer.echo(f"{name!r} is revoked.")


def _role(text: str) -> Role:
    match text:
        case "caller" | "reader":
            return text
    raise typer.BadParameter(f"{text!r} is no role: use caller or reader")


def _line(key: dict[str, Any]) -> str:
    facts = [f"reads {key['clearance']} of {', '.join(key['collections']) or 'no collection'}"]
    if key["role"] == "reader":
        facts = ["reads figures only"]
    if key["person"]:
        facts.append(f"of {key['person']}")
    if key["groups"]:
        facts.append(f"in {', '.join(key['groups'])}")
    if key["label"]:
        facts.append(f"its texts count as {key['label']}")
    facts += [words.format(key[name]) for name, words in _ALLOWED.items() if key[name] is not None]
    if key["revoked_at"]:
        facts.append(f"revoked {key['revoked_at']}")
    return f"{key['name']}  {key['prefix']}…  {'; '.join(facts)}"
