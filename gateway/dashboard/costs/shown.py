"""What the templates of the cost page are given: a board's figures with the words and links that go with them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Literal

from gateway.catalog.overview import price_warnings, retiring
from gateway.dashboard import figures
from gateway.dashboard.costs.coin import DOLLARS, Coin
from gateway.dashboard.costs.view import BYS, View
from gateway.economics import calendar
from gateway.ledger.budgets import Standing, window
from gateway.ledger.exports.lanes import usage_of
from gateway.ledger.overview import home_zones
from policies.prices import rate_on

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from gateway.catalog.load import Catalog
    from gateway.dashboard.costs.board import Board
    from gateway.dashboard.costs.view import By, Flag
    from gateway.dashboard.costs.written import Written
    from gateway.db.attempts import AttemptRow
    from gateway.economics.forecast import Forecast
    from gateway.wire.lanes import Usage
    from policies.budgets import Budget as PackBudget
    from policies.pack import Pack

Tone = Literal["", "warm", "bad"]
_FULL, _NEAR = 100, 80
LOOKED_AT: tuple[Flag, ...] = ("estimated", "assumed", "failed", "aborted")
"""Which calls need a look; the ledger's sums have a measure of each name."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place of the picture: its zone, its name on the page, its colour and what it came to."""

    zone: str
    name: str
    slot: int
    nano_usd: int


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget's state in words."""

    name: str
    subject: str
    tone: Tone
    used: int
    limit: int
    left: str
    told: str
    href: str | None = None
    """The calls that it counts; None where nothing tells them apart, as for groups, or where there are none."""


@dataclass(frozen=True, slots=True)
class Look:
    """Something that needs a look, and where to find it."""

    text: str
    href: str | None = None


_WARNINGS = (
    (re.compile(r"its operator (took|takes) the model away on (?P<day>.+)"), "look.retiring"),
    (re.compile(r"its price was looked up on (?P<day>.+): look again"), "look.old price"),
    (re.compile(r"its price holds until (?P<day>.+), and nothing says .+"), "look.ending price"),
    (re.compile(r"its price ended on (?P<day>.+), and is .+"), "look.ended price"),
    (re.compile(r"no price holds today: .+"), "look.no price"),
    (re.compile(r"the exchange rate of (?P<currency>.+) is of (?P<day>.+): .+"), "look.old rate"),
    (re.compile(r"its price names no cache_write_5m: .+"), "look.cache write"),
)
"""What the catalog warns of, in the words of the page."""


def coin_of(pack: Pack, today: date) -> Coin:
    """The owner's currency at the rate in force; dollars without one."""
    rate = rate_on(pack.exchange_rates, pack.budgets.currency, today)
    return DOLLARS if rate is None else Coin(rate.currency, rate.per_usd, rate.as_of)


def places(board: Board, w: Written) -> list[Place]:
    """The places that anything was spent at, or that were used for nothing, from the house outwards."""
    zones = board.zones
    order = {name: index for index, name in enumerate(w.pack.zones)}
    names = sorted(zones, key=lambda zone: (w.slot(zone), order.get(zone, len(order)), zone))
    return [Place(zone, w.place(zone), w.slot(zone), zones[zone].cost_nano_usd) for zone in names]


def home_share(board: Board, w: Written) -> str | None:
    """Which part of the tokens stayed in the house; None if there were none."""
    home, total = home_zones(w.pack), board.total.tokens
    stayed = sum(sums.tokens for zone, sums in board.zones.items() if zone in home)
    return w.percent(stayed, total) if total else None


def because(forecast: Forecast, w: Written) -> list[str]:
    """How the forecast comes about, a sentence each."""
    t, language = w.t, w.t.language
    if forecast.expected_nano_usd is None:
        few = "forecast few.one" if forecast.days_seen == 1 else "forecast few"
        return [t(few, seen=figures.count(forecast.days_seen, language), needed=forecast.days_needed)]
    sentences = [t("forecast days", so_far=w.money(forecast.so_far_nano_usd), seen=forecast.days_seen)]
    for basis in forecast.bases:
        kind = t(f"forecast.{basis.kind}", left=basis.left, money=w.money(basis.nano_usd_a_day))
        other = "" if basis.taken_from == basis.kind else t("forecast other", seen=basis.seen)
        sentences.append(f"{kind}{other}.")
    return [*sentences, t("forecast range")]


def budgets(board: Board, w: Written) -> list[Budget]:
    """How the budgets stand, the fullest first; one for each of its kind stands for itself before anybody used it."""
    today, known = calendar.day_of(board.opening.at, w.zone), {standing.budget for standing in board.standings}
    shown = [replace(_budget(standing, w), href=_behind(standing, today, w)) for standing in board.standings]
    unused = [_unused(each, board.opening.at, w) for each in w.pack.budgets.budgets if each not in known]
    return sorted((*shown, *unused), key=lambda one: (-one.used / one.limit, one.name))


def _behind(standing: Standing, today: date, w: Written) -> str | None:
    """The address of the calls that it counts so far; None where there are none yet."""
    kind, window = standing.budget.of.kind, standing.window
    by = next((each for each in BYS if each == kind), None)
    if not standing.is_used or (by is None and kind != "house"):
        return None
    where: dict[By, str] = {} if by is None else {by: window.subject}
    return View(calendar.day_of(window.starts_at, w.zone), today, where=where).rows()


def _unused(budget: PackBudget, at: datetime, w: Written) -> Budget:
    return _budget(Standing(budget, window(budget, budget.of.name or "", w.pack.budgets, at)), w)


def looks(board: Board, catalog: Catalog, w: Written) -> Iterator[Look]:
    """What needs a look, if anything does."""
    yield from _calls(board, w)
    today = calendar.day_of(board.opening.at, w.zone)
    told: dict[str, list[str]] = {}
    for deployment in catalog.deployments:
        for warning in (
            *retiring(deployment.price.retires_on, today),
            *price_warnings(deployment.price, deployment.engine, today),
        ):
            told.setdefault(_warning(warning, w), []).append(deployment.name)
    yield from (Look(f"{', '.join(names)}: {text}") for text, names in told.items())


def _warning(text: str, w: Written) -> str:
    for pattern, name in _WARNINGS:
        if found := pattern.fullmatch(text):
            values = found.groupdict()
            if "day" in values:
                values["day"] = w.day(date.fromisoformat(values["day"]))
            return w.t(name, **values)
    return text


def _calls(board: Board, w: Written) -> Iterator[Look]:
    view, total, t = board.view, board.total, w.t
    for flag in LOOKED_AT:
        if number := getattr(total, flag):
            name = f"look.{flag}.one" if number == 1 else f"look.{flag}"
            yield Look(t(name, n=figures.count(number, t.language)), view.rows(flag=flag))
    if total.house_nano_usd:
        yield Look(t("look.house", money=w.money(total.house_nano_usd)), view.rows(flag="house"))


@dataclass(frozen=True, slots=True)
class Call:
    """One upstream call in the words of the page."""

    row: AttemptRow
    usage: Usage
    nano_usd: int
    """What it cost, or while it is under way the most that it may."""
    outcome: str
    flags: tuple[str, ...]
    elsewhere: tuple[tuple[str, int], ...]
    """The same on other deployments, by an estimate, the cheapest first."""


def call(row: AttemptRow, w: Written) -> Call:
    """One upstream call, without a word of what was said in it."""
    told = {
        "estimated": row.estimated,
        "assumed": row.assumed,
        "from_cache": row.from_cache,
        "house": row.bearer == "house",
    }
    others: dict[str, int] = json.loads(row.elsewhere or "{}")
    return Call(
        row=row,
        usage=usage_of(row),
        nano_usd=row.held_nano_usd if row.cost_nano_usd is None else row.cost_nano_usd,
        outcome=w.t(f"outcome.{row.outcome or 'held'}"),
        flags=tuple(w.t(f"flag.{name}") for name, holds in told.items() if holds and row.state != "held"),
        elsewhere=tuple(sorted(others.items(), key=lambda other: (other[1], other[0]))),
    )


def _budget(standing: Standing, w: Written) -> Budget:
    t, by_tokens, window = w.t, standing.by_tokens, standing.window
    spent, held, limit = (
        (standing.spent_tokens, standing.held_tokens, window.limit_tokens or 0)
        if by_tokens
        else (standing.spent_nano_usd, standing.held_nano_usd, window.limit_nano_usd or 0)
    )

    def amount(number: int) -> str:
        if not by_tokens:
            return w.money(number)
        return t("budget tokens.one" if number == 1 else "budget tokens", n=figures.count(number, t.language))

    used = spent + held
    over = used > limit
    left = t("budget over", over=amount(used - limit), limit=amount(limit))
    if not over:
        left = t("budget left", left=amount(limit - used), limit=amount(limit))
    ends = t("until", when=w.moment(window.ends_at)[:-3])
    told = [t("budget state", spent=amount(spent), limit=amount(limit)), ends]
    told += [t("holding", held=amount(held))] if held else []
    told += [] if window.hard else [t("soft")]
    return Budget(window.budget, _subject(standing), _tone(used, limit), used, max(limit, 1), left, " · ".join(told))


def _subject(standing: Standing) -> str:
    """Whose budget it is, unless its name says so or it is the house's."""
    subject, is_house = standing.window.subject, standing.budget.of.kind == "house"
    return "" if is_house or subject == standing.budget.name else subject


def _tone(used: int, limit: int) -> Tone:
    if used * 100 >= limit * _FULL:
        return "bad"
    return "warm" if used * 100 >= limit * _NEAR else ""
