"""Where a pack's prices differ from a price list, and the rows of prices.yaml by which they would follow it."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import yaml

from gateway.catalog.build_price_map import rows as rows_of_litellm
from gateway.catalog.overview import priced
from gateway.catalog.price_lists import in_force, written_price
from gateway.errors import BadRequest
from policies.price_map import PriceMap, bundled
from policies.prices import TokenPrice, Variation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from policies.pack import Pack
    from policies.price_map import MapRow
    from policies.pricing import PriceRow
    from policies.schema import DeploymentSpec

_QUOTED = re.compile(r"'(\d+(?:\.\d+)?|\d{4}-\d\d-\d\d)'")
_PRICES = re.compile(r"^prices:[ \t]*(?:#.*)?$", re.MULTILINE)
_FIRST_ROW = re.compile(r"(?:[ \t]*(?:#.*)?\n)*( *)- ")
_NEITHER = re.compile(r"^prices:", re.MULTILINE)


def read(file: Path | None, as_of: date | None) -> PriceMap:
    """A price list out of a file, as litellm publishes it or as Soleira carries it; None: the bundled one."""
    if file is None:
        return bundled()
    try:
        found = _read(file, as_of)
    except (ValueError, AttributeError, KeyError, TypeError, ArithmeticError):
        found = None
    if found is None or not found.rows:
        raise BadRequest(
            f"{file.name} is no price list: give litellm's JSON, or one like Soleira's policies/price_map.json"
        )
    return found


def _read(file: Path, as_of: date | None) -> PriceMap:
    written = json.loads(file.read_bytes(), parse_float=Decimal)
    if isinstance(written.get("prices"), dict):
        return PriceMap(written["source"], date.fromisoformat(written["as_of"]), written["prices"])
    day = as_of or datetime.fromtimestamp(file.stat().st_mtime, UTC).date()
    return PriceMap(file.name, day, rows_of_litellm(written))


def differences(pack: Pack, listed: PriceMap, today: date) -> list[dict[str, str | None]]:
    """What deployments cost here and there, lane by lane; what the list does not have is not compared."""
    found: list[dict[str, str | None]] = []
    for spec, here, there in _pairs(pack, listed, today):
        seen = {"deployment": spec.name, "source": listed.source, "as_of": listed.as_of.isoformat()}
        found += [
            {**seen, "what": what, "here": one, "there": other} for what, one, other in _compared(here, there.price)
        ]
    return found


def rows(
    pack: Pack, listed: PriceMap, start: date, names: frozenset[str] = frozenset()
) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows from a day on for what differs, and the deployments that differ but name a price of their own."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    own: list[str] = []
    for spec, here, there in _pairs(pack, listed, start):
        if (names and spec.name not in names) or not list(_compared(here, there.price)):
            continue
        if here.origin == "deployment":
            own.append(spec.name)
        else:
            head = {"engine": spec.engine, "model": spec.upstream_model, "from": start.isoformat(), "currency": "USD"}
            found[spec.engine, spec.upstream_model] = {
                **head,
                **listed.rows[there.key],
                "source": listed.source,
                "as_of": listed.as_of.isoformat(),
            }
    return list(found.values()), own


def text(rows: Sequence[Mapping[str, Any]], indent: str) -> str:
    """The rows as people write them, one below the other."""
    written = ""
    for row in rows:
        leaves = yaml.safe_dump(dict(row), sort_keys=False, default_flow_style=None, width=10_000, allow_unicode=True)
        first, *others = _QUOTED.sub(r"\1", leaves).splitlines()
        written += f"{indent}- {first}\n" + "".join(f"{indent}  {line}\n" for line in others)
    return written


def with_rows(before: str, rows: Sequence[Mapping[str, Any]]) -> str | None:
    """The text of a prices.yaml with further rows, all else as it was; None if its prices stand in brackets."""
    at = _PRICES.search(before)
    if at is None:
        if _NEITHER.search(before) or before.lstrip()[:1] in ("{", "["):
            return None
        return f"{before.rstrip()}\n\nprices:\n{text(rows, '  ')}".lstrip()
    head, tail = before[: at.end()], before[at.end() :]
    first = _FIRST_ROW.match(tail)
    return f"{head}\n{text(rows, first[1] if first else '  ')}{tail.removeprefix(chr(10))}"


def shown(row: MapRow) -> dict[str, Any]:
    """A row of a price list as a deployment's price is shown."""
    return {
        "name": row.key,
        "model": row.key.rpartition("/")[2],
        "price": priced(written_price(row.price, "map")),
        "retires_on": None if row.retires_on is None else row.retires_on.isoformat(),
        "warnings": [],
    }


def _pairs(pack: Pack, listed: PriceMap, day: date) -> Iterator[tuple[DeploymentSpec, PriceRow, MapRow]]:
    """The deployments that the list knows, each with the row in force and the list's."""
    for spec in pack.deployments:
        there = listed.called_at(spec.base_url, spec.engine, spec.upstream_model) if spec.owned is None else None
        found = pack.priced.get(spec.name)
        if there is not None and found is not None:
            yield spec, in_force(day, found.rows, found.otherwise)[0], there


def _compared(here: PriceRow, there: TokenPrice) -> Iterator[tuple[str, str | None, str | None]]:
    if here.price.currency != there.currency:
        yield "currency", here.price.currency, there.currency
        return
    share = here.price.multiplier * here.multiplier
    ours, theirs = _amounts(here.price, share), _amounts(there, there.multiplier)
    for name in dict.fromkeys((*ours, *theirs)):
        if ours.get(name) != theirs.get(name):
            yield name, ours.get(name), theirs.get(name)


def _amounts(price: TokenPrice, share: Decimal) -> dict[str, str]:
    """Every rate of a price by what people call it, without zeros that say nothing."""
    parts: dict[str, Variation | TokenPrice] = {"": price}
    parts |= {f" above {tier.above}": tier for tier in price.tiers}
    for name, service in price.service_tiers.items():
        parts[f" as {name}"] = service
        parts |= {f" as {name} above {tier.above}": tier for tier in service.tiers or ()}
    for each in price.hours:
        days = "" if each.weekdays is None else f" on {', '.join(each.weekdays)}"
        parts[f" from {each.from_:%H:%M} to {each.to:%H:%M} {each.time_zone.key}{days}"] = each
    return {
        f"{lane}{where}": _plain(amount if lane == "factor" else amount * share)
        for where, part in parts.items()
        for lane, amount in _rates(part)
    }


def _rates(part: Variation | TokenPrice) -> Iterator[tuple[str, Decimal]]:
    if part.per_million is None:
        yield "factor", part.factor or Decimal(1)
        return
    yield from part.per_million.amounts.items()
    if part.per_thousand_searches is not None:
        yield "per_thousand_searches", part.per_thousand_searches


def _plain(amount: Decimal) -> str:
    return format(amount.normalize(), "f")
