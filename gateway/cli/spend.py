"""`soleira spend`: what the answers cost so far."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli import ledger, options
from gateway.errors import BadRequest
from gateway.ledger import spans
from gateway.ledger.price import as_usd
from gateway.ledger.spans import Question
from gateway.ledger.usage import GROUPINGS
from gateway.settings import Settings
from policies.load import load_pack
from policies.prices import rate_on

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer()

_NANO = 1_000_000_000
_CENTS, _SMALL = Decimal("0.01"), Decimal("0.0001")
_COST = 16
"""Columns that a cost takes at least."""
_SIGNS = {"BRL": "R$", "EUR": "€", "CNY": "CN¥"}


@app.command()
def spend(
    start: Annotated[str, typer.Option("--from", help="A day, a month or a moment: 2026-11-01, 2026-11.")] = "",
    end: Annotated[str, typer.Option("--to", help="The last day or month, or a moment.")] = "",
    by: Annotated[str, typer.Option(help=f"What the lines stand for: {', '.join(GROUPINGS)}.")] = "",
    where: Annotated[list[str] | None, typer.Option(help="What counts: zone=hosted, key=ana; several times.")] = None,
    currency: Annotated[str, typer.Option(help="Show it in BRL, EUR or CNY, at the owner's rate.")] = "USD",
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what was spent, by model and by zone, or by anything else."""
    settings = Settings.from_environment(data, pack)
    question = Question(start, end, by, spans.filters(where or []))
    with ledger.opened(settings) as opened:
        total = opened.spend(question)
        coin = _coin(settings, currency)
    if as_json:
        return options.print_json({**total, **coin.as_dict(total["total_nano_usd"])})
    _summary(total, coin)
    if by:
        return _table(f"By {total['group_by']}", total["lines"], coin)
    for heading, rows in (("By model", total["by_model"]), ("By zone", total["by_zone"])):
        _table(heading, rows, coin)


def usd(nano_usd: int) -> str:
    """The amount in dollars, exactly: never less than cents, never rounded."""
    whole, _, part = as_usd(nano_usd).partition(".")
    return f"US$ {whole}.{part.ljust(2, '0')}"


@dataclass(frozen=True, slots=True)
class Coin:
    """A currency that amounts are shown in, at the owner's rate; dollars have none."""

    code: str = "USD"
    per_usd: Decimal = Decimal(1)
    as_of: date | None = None

    def shown(self, nano_usd: int) -> str:
        """Dollars exactly; other money rounded to its cents, or to four decimals below one unit."""
        if self.as_of is None:
            return usd(nano_usd)
        amount = nano_usd * self.per_usd / _NANO
        rounded = amount.quantize(_CENTS if not amount or abs(amount) >= 1 else _SMALL, ROUND_HALF_EVEN)
        return f"{_SIGNS.get(self.code, self.code)} {rounded}"

    def as_dict(self, nano_usd: int) -> dict[str, Any]:
        """What JSON says of it; nothing of dollars."""
        if self.as_of is None:
            return {}
        amount = format((nano_usd * self.per_usd / _NANO).normalize(), "f")
        rate = {"code": self.code, "per_usd": format(self.per_usd, "f"), "as_of": self.as_of.isoformat()}
        return {"currency": {**rate, "total": amount}}


def _coin(settings: Settings, code: str) -> Coin:
    """The currency of this code; BadRequest without a rate for it: none is assumed."""
    code = code.upper()
    if code == "USD":
        return Coin()
    rates = load_pack(settings.pack, settings.models).exchange_rates
    rate = rate_on(rates, code, datetime.now(UTC).date())
    if rate is None:
        known = ", ".join(dict.fromkeys(["USD", *(each.currency for each in rates)]))
        raise BadRequest(
            f"there is no exchange rate for {code!r} ({known}): write it under exchange_rates in prices.yaml"
        )
    return Coin(code, rate.per_usd, rate.as_of)


def _summary(total: dict[str, Any], coin: Coin) -> None:
    sums = total["total"]
    typer.echo(
        f"{coin.shown(total['total_nano_usd'])} in {options.counted(total['attempts'], 'attempt')}, "
        f"{sums['tokens']:,} tokens"
    )
    if coin.as_of is not None:
        typer.echo(f"at {coin.per_usd} {coin.code} for a dollar, the owner's rate of {coin.as_of}")
    if total["estimated"]:
        typer.echo(f"{total['estimated']} of them charged at an estimate, since the upstream did not say")
    if sums["assumed"]:
        typer.echo(f"{sums['assumed']} of them charged for some tokens at another price, since theirs is not known")
    if total["held"]:
        typer.echo(
            f"{coin.shown(total['held_nano_usd'])} held for {options.counted(total['held'], 'attempt')} under way"
        )
    if total["overlaps"]:
        typer.echo("some attempts stand in several lines, which come to more than the total for that")


def _table(heading: str, rows: Sequence[dict[str, Any]], coin: Coin) -> None:
    """One line each: what it cost, its name, its attempts and its tokens."""
    if not rows:
        return
    cells = [
        (coin.shown(row["nano_usd"]), row["name"] or "(none)", f"{row['attempts']:,}", f"{row['tokens']:,}")
        for row in rows
    ]
    cost, name, calls, tokens = (max(map(len, column)) for column in zip(*cells, strict=True))
    typer.echo(f"\n{heading}")
    for cell in cells:
        counts = f"{cell[2]:>{calls}} attempts  {cell[3]:>{tokens}} tokens"
        typer.echo(f"  {cell[0]:>{max(cost, _COST)}}  {cell[1]:<{name}}  {counts}")
