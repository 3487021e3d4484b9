"""What a reader looks at: the days, the filters and the grouping, all of it in the page's address."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Literal, TypeVar, get_args
from urllib.parse import parse_qsl, urlencode

from gateway.economics.calendar import known
from gateway.errors import BadRequest
from policies.problems import closest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.datastructures import QueryParams

Range = Literal["7d", "30d", "month", "last-month", "12m"]
Step = Literal["day", "week", "month"]
By = Literal["person", "key", "model", "deployment", "collection", "zone", "tag", "label"]
Flag = Literal["estimated", "assumed", "failed", "aborted", "from_cache", "house", "saved", "privacy", "routing"]

RANGES: tuple[Range, ...] = get_args(Range)
BYS: tuple[By, ...] = get_args(By)
FLAGS: tuple[Flag, ...] = get_args(Flag)
PATH = "/dashboard/costs"
Known = TypeVar("Known", bound=str)

_DAY = timedelta(days=1)
_MANY_DAYS, _MANY_WEEKS = 62, 200
_LONGEST = timedelta(days=3 * 366)


@dataclass(frozen=True, slots=True)
class View:
    """The state of a page. Its address says all of it: whoever is sent the address sees the same."""

    first: date
    last: date
    """The last day that is shown, itself included."""
    range: Range | None = "30d"
    """None: the days were chosen one by one."""
    by: By = "person"
    compare: bool = False
    """True if the stretch before is shown beside."""
    where: Mapping[By, str] = field(default_factory=dict)
    dollars: bool = False
    """True if dollars are wanted where the owner has another currency."""
    all: bool = False
    """True if every line of the breakdown is shown, not only the dearest."""

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def step(self) -> Step:
        """How wide the picture's bars are."""
        if self.days <= _MANY_DAYS:
            return "day"
        return "week" if self.days <= _MANY_WEEKS else "month"

    @property
    def filters(self) -> dict[By, tuple[str, ...]]:
        """The filters as reports take them."""
        return {by: (name,) for by, name in self.where.items()}

    def href(self, path: str = "", **changes: object) -> str:
        """The address of this view, with some of it changed; `path` is a page below the costs."""
        changed = replace(self, **changes)  # type: ignore[arg-type]  # the names are the templates'
        return f"{PATH}{path}{changed._query()}"

    def only(self, by: By, name: str) -> str:
        """The address of this view with one more filter."""
        return self.href(where={**self.where, by: name}, all=False)

    def without(self, by: By) -> str:
        """The address of this view with that filter taken away."""
        return self.href(where={kind: name for kind, name in self.where.items() if kind != by})

    def rows(self, days: tuple[date, date] | None = None, flag: Flag | None = None, **where: str) -> str:
        """The address of the rows behind a number of this view; their days stand in it, whatever day it is opened."""
        first, last = days or (self.first, self.last)
        query: dict[str, str] = {"from": first.isoformat(), "to": last.isoformat(), **_plain(self.where), **where}
        if flag is not None:
            query["flag"] = flag
        if self.dollars:
            query["currency"] = "USD"
        return f"{PATH}/rows?{urlencode(query)}"

    def rows_without(self, flag: Flag | None, by: By | None) -> str:
        """The address of these rows with that filter taken away; None: the flag."""
        wider = replace(self, where={kind: name for kind, name in self.where.items() if kind != by})
        return wider.rows(flag=flag if by else None)

    def kept(self) -> list[tuple[str, str]]:
        """What a form that asks for other days takes along."""
        return parse_qsl(replace(self, range="30d")._query()[1:], keep_blank_values=True)

    def _query(self) -> str:
        query: dict[str, str] = {}
        if self.range is None:
            query |= {"from": self.first.isoformat(), "to": self.last.isoformat()}
        elif self.range != "30d":
            query["range"] = self.range
        if self.by != "person":
            query["by"] = self.by
        query |= _plain(self.where)
        query |= {name: "1" for name in ("compare", "all") if getattr(self, name)}
        if self.dollars:
            query["currency"] = "USD"
        return f"?{urlencode(query)}" if query else ""


def _plain(where: Mapping[By, str]) -> dict[str, str]:
    return {str(by): name for by, name in where.items()}


def read(query: QueryParams, today: date) -> View:
    """The view that an address asks for; BadRequest if it makes no sense."""
    chosen = _range(query)
    first, last = _between(query) if chosen is None else _days_of(chosen, today)
    return View(
        first=first,
        last=last,
        range=chosen,
        by=_word("by", query.get("by") or "person", BYS),
        compare=query.get("compare") == "1",
        where={by: query[by] for by in BYS if by in query},
        dollars=query.get("currency") == "USD",
        all=query.get("all") == "1",
    )


_SETTLED = {"state": ("settled", "recovered")}
FLAGGED: dict[Flag, dict[str, tuple[str, ...]]] = {
    "estimated": {"estimated": ("true",), **_SETTLED},
    "assumed": {"assumed": ("true",), **_SETTLED},
    "failed": {"outcome": ("failed", "unknown")},
    "aborted": {"outcome": ("aborted",)},
    "from_cache": {"from_cache": ("true",), **_SETTLED},
    "house": {"bearer": ("house",), **_SETTLED},
    "saved": {"saved": ("true",), **_SETTLED},
    "privacy": {"privacy": ("true",), **_SETTLED},
    "routing": {"routing": ("true",), **_SETTLED},
}
"""Which rows a flag means, as the ledger tells them apart."""
AMOUNTS: tuple[Flag, ...] = ("saved", "privacy", "routing")
"""Flags that stand for a sum of money beside the cost."""


def flag_of(query: QueryParams) -> Flag | None:
    """Which rows alone are asked for."""
    return _word("flag", query["flag"], FLAGS) if query.get("flag") else None


def day_of(text: str, name: str) -> date:
    """The day that is written as `2026-11-28` or `28/11/2026`."""
    parts = text.split("/")
    try:
        return known(date.fromisoformat("-".join(reversed(parts)) if len(parts) == 3 else text))
    except ValueError:
        raise BadRequest(f"{name}={text!r} is not a day: write it as 2026-11-28 or 28/11/2026") from None


def _range(query: QueryParams) -> Range | None:
    if query.get("range"):
        return _word("range", query["range"], RANGES)
    return None if query.get("from") or query.get("to") else "30d"


def _between(query: QueryParams) -> tuple[date, date]:
    first = day_of(query.get("from") or query["to"], "from")
    last = day_of(query.get("to") or query["from"], "to")
    if last < first:
        raise BadRequest(f"from={first} lies after to={last}: exchange them")
    if last - first > _LONGEST:
        raise BadRequest("that is more than three years: choose fewer days, or export them with 'soleira export usage'")
    if not date(1970, 1, 2) <= first <= last <= date(9000, 1, 1):
        raise BadRequest("such days are not in the ledger: choose days since it began")
    return first, last


def _days_of(chosen: Range, today: date) -> tuple[date, date]:
    this_month = today.replace(day=1)
    match chosen:
        case "7d":
            return today - 6 * _DAY, today
        case "30d":
            return today - 29 * _DAY, today
        case "month":
            return this_month, today
        case "last-month":
            return (this_month - _DAY).replace(day=1), this_month - _DAY
        case "12m":
            return date(today.year - 1, today.month, 1) + _one_month(today), today


def _one_month(today: date) -> timedelta:
    """From the first of this month a year ago to the month after."""
    start = date(today.year - 1, today.month, 1)
    return (start + 31 * _DAY).replace(day=1) - start


def _word(name: str, word: str, known: tuple[Known, ...]) -> Known:
    for one in known:
        if word == one:
            return one
    near = closest(word, known)
    meant = f"; did you mean {near!r}?" if near else ""
    raise BadRequest(f"{name}={word!r} is not known: use one of {', '.join(known)}{meant}")
