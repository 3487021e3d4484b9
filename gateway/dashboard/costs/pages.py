"""The cost page's routes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse

from gateway.dashboard.costs import board, sheets, shown, view
from gateway.dashboard.costs.written import Written
from gateway.dashboard.frame import CurrentFrame
from gateway.dashboard.language import CurrentTexts
from gateway.dashboard.render import html
from gateway.dashboard.route import PageRoute
from gateway.dashboard.session import CurrentRuntime
from gateway.db import attempts
from gateway.economics import calendar
from gateway.errors import NotFound
from gateway.ledger import usage
from gateway.ledger.exports import attempts as exported
from gateway.ledger.exports.statement import statement

if TYPE_CHECKING:
    from datetime import date, datetime

    from gateway.dashboard.costs.view import View
    from gateway.runtime import Runtime
    from policies.pack import Pack

_ROWS = 50
_MONTHS_A_YEAR = 12

router = APIRouter(prefix=view.PATH, route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Reading:
    """One reader's look at the costs: what they asked for, and how it is written for them."""

    runtime: Runtime
    pack: Pack
    now: datetime
    view: View
    w: Written
    frame: dict[str, Any]

    def html(self, template: str, values: dict[str, Any]) -> HTMLResponse:
        """A page."""
        return html(template, self.w.t, {**self.w.values(), "view": self.view, **self.frame, **values})


async def _reading(request: Request, runtime: CurrentRuntime, frame: CurrentFrame, t: CurrentTexts) -> Reading:
    now, pack = runtime.now(), runtime.packs.current.pack
    today = calendar.day_of(now, pack.budgets.zone)
    looked_at = view.read(request.query_params, today)
    w = Written(t, pack, shown.coin_of(pack, today), looked_at.dollars)
    return Reading(runtime, pack, now, looked_at, w, frame)


CurrentReading = Annotated[Reading, Depends(_reading)]


@router.get("")
async def show(reading: CurrentReading) -> HTMLResponse:
    """The cost page."""
    found = await board.gather(reading.runtime, reading.view, reading.now)
    catalog = reading.runtime.packs.current.catalog
    return reading.html(
        "costs/page.html", {**page_values(found, reading.w), "looks": list(shown.looks(found, catalog, reading.w))}
    )


def page_values(found: board.Board, w: Written) -> dict[str, Any]:
    """What the page's template is given beside the words."""
    return {
        "board": found,
        "this_month": w.days_of(found.opening.month.span)[0],
        "places": shown.places(found, w),
        "home_share": shown.home_share(found, w),
        "because": shown.because(found.opening.forecast, w),
        "budgets": shown.budgets(found, w),
        "ranges": view.RANGES,
        "bys": view.BYS,
    }


@router.get("/days.csv")
async def picture_sheet(reading: CurrentReading) -> Response:
    """The picture's figures as CSV."""
    found = await board.picture(reading.runtime.engine, reading.view, reading.w.zone)
    header, rows = sheets.picture(found, reading.w)
    return sheets.response(reading.w, f"costs-{_named(reading.view)}", header, sheets.streamed(rows))


@router.get("/lines.csv")
async def breakdown_sheet(reading: CurrentReading) -> Response:
    """The breakdown as CSV, all of its lines."""
    found = await board.breakdown(reading.runtime.engine, reading.view, reading.w.zone)
    header, rows = sheets.breakdown(found, reading.view.by, reading.w)
    name = f"costs-by-{reading.view.by}-{_named(reading.view)}"
    return sheets.response(reading.w, name, header, sheets.streamed(rows))


@router.get("/machines.csv")
async def machines_sheet(reading: CurrentReading) -> Response:
    """What machines of one's own cost, as CSV."""
    found = await board.machines_of(reading.runtime.engine, reading.pack, reading.view, reading.now)
    header, rows = sheets.machines(found, reading.w)
    return sheets.response(reading.w, f"machines-{_named(reading.view)}", header, sheets.streamed(rows))


@router.get("/rows")
async def show_rows(request: Request, reading: CurrentReading, after: str | None = None) -> HTMLResponse:
    """The calls behind a number, the newest first."""
    looked_at, engine = reading.view, reading.runtime.engine
    flag = view.flag_of(request.query_params)
    span = board.span(looked_at, reading.w.zone)
    found, more = await attempts.page(engine, span.start, span.end, _where(looked_at, flag), after, _ROWS)
    return reading.html(
        "costs/rows.html",
        {
            "calls": [shown.call(row, reading.w) for row in found],
            "flag": flag,
            "after": after,
            "newest": looked_at.rows(flag=flag),
            "older": f"{looked_at.rows(flag=flag)}&{urlencode({'after': more})}" if more else None,
            "csv": looked_at.rows(flag=flag).replace("/rows?", "/rows.csv?", 1),
            "only_without": partial(looked_at.rows_without, flag),
            "report": await usage.report(engine, span, None, looked_at.filters),
            "amounts": view.AMOUNTS,
        },
    )


@router.get("/rows.csv")
async def rows_sheet(request: Request, reading: CurrentReading) -> Response:
    """All of these calls as CSV."""
    where = _where(reading.view, view.flag_of(request.query_params))
    rows = exported.rows(reading.runtime.engine, board.span(reading.view, reading.w.zone), where)
    return sheets.response(reading.w, f"calls-{_named(reading.view)}", exported.HEADER, rows)


@router.get("/requests/{decision_id}")
async def show_request(decision_id: str, reading: CurrentReading) -> HTMLResponse:
    """One request: each call that was made for it, with every token and what it cost."""
    found = await attempts.of_decision(reading.runtime.engine, decision_id)
    if not found:
        raise NotFound("the ledger has no such request")
    return reading.html("costs/request.html", {"calls": [shown.call(row, reading.w) for row in found]})


@router.get("/statement")
async def show_statement(reading: CurrentReading, month: str = "") -> HTMLResponse:
    """A month on paper."""
    today = calendar.day_of(reading.now, reading.w.zone)
    first = view.day_of(f"{month}-01", "month") if month else today.replace(day=1)
    found = await statement(reading.runtime.engine, reading.pack, first.year, first.month, reading.now)
    return reading.html(
        "costs/statement.html",
        {"statement": found, "first": first, "earlier": _month_from(first, -1), "later": _month_from(first, 1)},
    )


def _where(looked_at: View, flag: view.Flag | None) -> dict[str, Any]:
    """Which rows a view means, in the ledger's own words."""
    return {**usage.columns(looked_at.filters), **(view.FLAGGED[flag] if flag else {})}


def _named(looked_at: View) -> str:
    return f"{looked_at.first}-{looked_at.last}"


def _month_from(first: date, months: int) -> str:
    index = first.year * _MONTHS_A_YEAR + first.month - 1 + months
    return f"{index // _MONTHS_A_YEAR:04}-{index % _MONTHS_A_YEAR + 1:02}"
