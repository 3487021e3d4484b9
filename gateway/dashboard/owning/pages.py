"""The routes of the page "Is owning cheaper?"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from gateway.dashboard.costs import sheets
from gateway.dashboard.costs.coin import DOLLARS, Coin
from gateway.dashboard.costs.written import Written
from gateway.dashboard.frame import CurrentFrame
from gateway.dashboard.language import CurrentTexts
from gateway.dashboard.owning import asking, shown, tables, view
from gateway.dashboard.owning.written import Hand
from gateway.dashboard.render import html
from gateway.dashboard.route import PageRoute
from gateway.dashboard.session import CurrentRuntime
from gateway.dashboard.texts import Texts
from gateway.economics import calendar
from gateway.errors import BadRequest

if TYPE_CHECKING:
    from datetime import date

    from gateway.dashboard.owning.view import View
    from gateway.owning.answers import Answer
    from gateway.runtime import Runtime

router = APIRouter(prefix=view.PATH, route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Reading:
    """One reader's look at the question: what they asked for, and how the answer is written for them."""

    runtime: Runtime
    today: date
    view: View
    t: Texts
    frame: dict[str, Any]
    problem: BadRequest | None = None
    """Why the address makes no sense; the view is then the plain one."""

    async def answer(self) -> Answer:
        """The answer; BadRequest where the address makes no sense."""
        if self.problem is not None:
            raise self.problem
        return await asking.answer(self.runtime, self.view, self.today)

    def hand(self, answer: Answer | None = None) -> Hand:
        """What the page is written by: in the owner's currency, at the rate that the answer reckons with."""
        pack = self.runtime.packs.current.pack
        code = pack.budgets.currency
        rate = answer.exchange.get(code) if answer else None
        owner = Coin(code, *rate) if rate else DOLLARS
        return Hand(Written(self.t, pack, owner, self.view.dollars))

    def html(self, template: str, hand: Hand, values: dict[str, Any], status: int = 200) -> HTMLResponse:
        """A page."""
        return html(template, self.t, {**hand.values(), "view": self.view, **self.frame, **values}, status)

    def _says(self, problem: BadRequest, hand: Hand) -> str:
        """Of a figure that makes no sense what it should be; of one that lacks its other half, which."""
        if problem is self.problem:
            return shown.refused(problem, hand)
        return self.t("own.refused capacity") if problem.param in ("prefill_tps", "decode_tps") else ""

    def refusal(self, problem: BadRequest) -> HTMLResponse:
        """Why there is no answer, and the way back to one."""
        hand = self.hand()
        values = {"problem": problem, "says": self._says(problem, hand), "plain": self.view.href(tried={})}
        if problem.param == "scenario":
            values["plain"] = self.view.href(tried={}, scenario="")
        return self.html("owning/refused.html", hand, values, problem.status)


async def _reading(request: Request, runtime: CurrentRuntime, frame: CurrentFrame, t: CurrentTexts) -> Reading:
    today = calendar.day_of(runtime.now(), runtime.packs.current.pack.budgets.zone)
    try:
        return Reading(runtime, today, view.read(request.query_params), t, frame)
    except BadRequest as problem:
        return Reading(runtime, today, view.untried(request.query_params), t, frame, problem)


CurrentReading = Annotated[Reading, Depends(_reading)]


@router.get("")
async def show(request: Request, reading: CurrentReading) -> Response:
    """The page; what its form sent is led on to the address that says the same plainly."""
    if reading.problem is None and not view.is_plain(request.query_params):
        return RedirectResponse(reading.view.href(), 303)
    own = asking.names(reading.runtime)
    if not own and not reading.view.is_example:
        return reading.html("owning/empty.html", reading.hand(), {"snippet": asking.SNIPPET})
    try:
        answer = await reading.answer()
    except BadRequest as problem:
        return reading.refusal(problem)
    hand = reading.hand(answer)
    values = shown.page(answer, reading.view, reading.today, hand)
    names = asking.names(reading.runtime, reading.view.is_example)
    choices = {"names": names, "has_own": bool(own), "windows": view.WINDOWS}
    return reading.html("owning/page.html", hand, {**values, **choices})


@router.get("/volumes.csv")
async def volumes_sheet(reading: CurrentReading) -> Response:
    """The picture's figures as CSV."""
    answer = await reading.answer()
    hand = reading.hand(answer)
    header, rows = tables.volumes(answer, hand)
    return sheets.response(hand.w, f"owning-{answer.name}", header, sheets.streamed(rows))


@router.get("/figures.csv")
async def figures_sheet(reading: CurrentReading) -> Response:
    """Every figure with its source as CSV."""
    answer = await reading.answer()
    hand = reading.hand(answer)
    header, rows = tables.figures(answer, reading.today, hand)
    return sheets.response(hand.w, f"owning-{answer.name}-figures", header, sheets.streamed(rows))
