"""`soleira prices`: what the deployments cost, where that differs from a price list, and how it is brought over."""

from __future__ import annotations

import shutil
import tempfile
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.catalog import price_changes
from gateway.catalog.overview import price_warnings, priced, retiring
from gateway.catalog.price_lists import price_of
from gateway.cli import options
from gateway.errors import BadRequest
from gateway.settings import HOME_PACK, Settings
from policies.load import load_pack
from policies.price_map import bundled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from policies.pack import Pack
    from policies.schema import DeploymentSpec

app = typer.Typer()
prices = typer.Typer(help="What the deployments cost, and since when.", no_args_is_help=True)
app.add_typer(prices, name="prices")

Rows = list[dict[str, Any]]

PriceList = Annotated[
    Path | None,
    typer.Argument(
        help="A price list: litellm's model_prices_and_context_window.json, or one like policies/price_map.json. "
        "[default: the one that comes with Soleira]",
        exists=True,
        dir_okay=False,
    ),
]
AsOf = Annotated[
    str, typer.Option("--as-of", help="The day of the list, where it does not say. [default: the file's own]")
]

_HEADINGS = ("NAME", "MODEL", "FROM", "AS OF", "CURRENCY", "IN", "CACHED", "OUT")


@prices.command("list")
def list_prices(
    bundled_models: Annotated[
        str | None,
        typer.Option("--bundled", metavar="WORD", help="List the bundled map's models with WORD in their names."),
    ] = None,
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """List what each deployment costs today, where that was read, and what to look up again."""
    shown = _listed(_pack(data, pack), _today()) if bundled_models is None else _of_map(bundled_models)
    if as_json:
        return options.print_json(shown)
    _table(shown)
    for row in shown:
        for told in (*_more(row["price"]), *map(_next, row.get("later", ())), *row["warnings"]):
            typer.echo(f"{row['name']}: {told}")
    if not shown:
        typer.echo("No prices: the pack connects no model." if bundled_models is None else "No model is called so.")


@prices.command()
def diff(
    file: PriceList = None,
    as_of: AsOf = "",
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare the pack's prices with a price list. Fails if they differ."""
    found = price_changes.differences(_pack(data, pack), price_changes.read(file, _day(as_of)), _today())
    if as_json:
        options.print_json(found)
    else:
        for row in found:
            here, there = row["here"] or "not named", row["there"] or "not named"
            typer.echo(
                f"{row['deployment']}: {row['what']} is {here} here, {there} in {row['source']} ({row['as_of']})"
            )
        typer.echo(f"{options.counted(len(found), 'difference')}." if found else "No differences.")
    if found:
        raise typer.Exit(1)


@prices.command("import")
def import_prices(
    file: PriceList = None,
    names: Annotated[
        list[str] | None, typer.Option("--deployment", help="Only these deployments. [default: all that differ]")
    ] = None,
    start: Annotated[str, typer.Option("--from", metavar="DATE", help="The first day. [default: today]")] = "",
    as_of: AsOf = "",
    write: Annotated[
        bool, typer.Option("--write", help="Add the rows to prices.yaml, if the pack stays good.")
    ] = False,
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Show the rows by which prices.yaml would follow a price list; with --write, add them.

    What is there stays: the new rows begin on a day, and go before what held until then. A price that a deployment
    names itself goes before prices.yaml, so it is only told.
    """
    folder = _folder(data, pack)
    loaded = load_pack(folder)
    listed = price_changes.read(file, _day(as_of))
    rows, own = price_changes.rows(loaded, listed, _day(start) or _today(), frozenset(names or ()))
    if as_json:
        if write and rows:
            _write(folder, rows)
        return options.print_json({"rows": rows, "in_deployments": own, "written": bool(write and rows)})
    for name in own:
        typer.echo(
            f"{name}: names its price in deployments.yaml, which goes before prices.yaml: change it there", err=True
        )
    if not rows:
        return typer.echo("Nothing to import: prices.yaml says the same.", err=True)
    if not write:
        return typer.echo("prices:\n" + price_changes.text(rows, "  "), nl=False)
    _write(folder, rows)
    return typer.echo(f"{options.counted(len(rows), 'price')} added to {folder / 'prices.yaml'}.")


def _write(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Replace prices.yaml at once, after the whole pack was read with it; else it stays as it is."""
    file = folder / "prices.yaml"
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    after = price_changes.with_rows(before, rows)
    if after is None:
        raise BadRequest("prices.yaml does not write its prices one below the other: add the rows by hand")
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        tried = Path(scratch) / "pack"
        shutil.copytree(folder, tried)
        written = tried / "prices.yaml"
        written.write_text(after, encoding="utf-8")
        load_pack(tried)
        written.replace(file)


def _listed(pack: Pack, today: date) -> Rows:
    return [_row(spec, pack, today) for spec in pack.deployments]


def _row(spec: DeploymentSpec, pack: Pack, today: date) -> dict[str, Any]:
    whole = price_of(spec, pack, today)
    now = whole.at(datetime.combine(today, time(12), tzinfo=UTC))
    later = [price for price in whole.dated if price.starts_on is not None and price.starts_on > today]
    return {
        "name": spec.name,
        "model": spec.model,
        "engine": spec.engine,
        "upstream_model": spec.upstream_model,
        "zone": spec.zone,
        "machine": spec.owned,
        "price": priced(now),
        "later": [priced(price) for price in later],
        "retires_on": None if now.retires_on is None else now.retires_on.isoformat(),
        "warnings": [*retiring(now.retires_on, today), *price_warnings(whole, spec.engine, today)],
    }


def _of_map(word: str) -> Rows:
    listed = bundled()
    rows = (listed.row(key) for key in sorted(listed.rows) if word.casefold() in key.casefold())
    return [price_changes.shown(row) for row in rows if row is not None]


def _table(shown: Rows) -> None:
    for line in options.aligned([_HEADINGS, *(_cells(row) for row in shown)] if shown else []):
        typer.echo(line)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    price = row["price"]
    facts = (price["origin"], price["as_of"], price["currency"], price["input"], price["cached"], price["output"])
    return tuple("-" if fact is None else str(fact) for fact in (row["name"], row["model"], *facts))


def _more(price: Mapping[str, Any]) -> list[str]:
    """What else there is to know of a price, in words."""
    lines = [f"above {tier['above']} tokens {_rates(tier)}" for tier in price["tiers"]]
    lines += [f"as {name} {_rates(tier)}" for name, tier in price["service_tiers"].items()]
    lines += [f"from {each['from']} to {each['to']} {each['time_zone']} {_rates(each)}" for each in price["hours"]]
    lines += [f"{each['name']} {each['percent']} % on the {each['on']}" for each in price["surcharges"]]
    if price["multiplier"] != "1":
        lines.append(f"at {price['multiplier']} of the listed price")
    if price["per_usd"] is not None:
        lines.append(f"{price['currency']} {price['per_usd']} to the dollar, as of {price['per_usd_as_of']}")
    return lines


def _next(price: Mapping[str, Any]) -> str:
    return f"from {price['from']} on {price['currency']} {_rates(price)}"


def _rates(part: Mapping[str, Any]) -> str:
    if "factor" in part:
        return f"times {part['factor']}"
    return ", ".join(f"{name} {part[name]}" for name in ("input", "cached", "output") if part.get(name))


def _pack(data: Path | None, pack: Path | None) -> Pack:
    return load_pack(_folder(data, pack))


def _folder(data: Path | None, pack: Path | None) -> Path:
    settings = Settings.from_environment(data, pack)
    # Before the first `up` there is no copy of the pack yet; this is what it will be.
    return HOME_PACK if settings.own_pack and not settings.pack.exists() else settings.pack


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise BadRequest(f"{text!r} is no day: write it as 2026-11-30") from None


def _today() -> date:
    return datetime.now(UTC).date()
