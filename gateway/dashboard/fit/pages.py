"""The routes of the page "Does it fit?"."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from gateway.catalog.hardware import gpus
from gateway.catalog.models import models
from gateway.dashboard.fit import shown, view
from gateway.dashboard.frame import CurrentFrame
from gateway.dashboard.language import CurrentTexts
from gateway.dashboard.render import html
from gateway.dashboard.route import PageRoute
from gateway.dashboard.session import CurrentRuntime
from gateway.economics import calendar
from gateway.errors import BadRequest
from gateway.owning.fits import fit as fits
from gateway.owning.fits import this_machine

if TYPE_CHECKING:
    from datetime import date

    from gateway.dashboard.fit.view import View
    from gateway.owning.fits.fit import Answer
    from gateway.runtime import Runtime

router = APIRouter(prefix=view.PATH, route_class=PageRoute, include_in_schema=False)


@router.get("")
async def show(request: Request, runtime: CurrentRuntime, frame: CurrentFrame, t: CurrentTexts) -> HTMLResponse:
    """The page: the questions, and the answer under them."""
    looked_at = _known_form(view.read(request.query_params))
    today = calendar.day_of(runtime.now(), runtime.packs.current.pack.budgets.zone)
    values: dict[str, Any] = {
        **frame,
        "view": looked_at,
        "models": models(),
        "gpus": gpus(),
        "sizes": view.SIZES,
        "engines": view.ENGINES,
        "caches": view.CACHES,
        "uses": view.USES,
        "found": None,
        "problem": None,
    }
    try:
        found = await _answer(runtime, looked_at, today)
    except BadRequest as error:
        refusal = {"problem": error, "wrong": shown.wrong(error, looked_at, t)}
        return html("fit/page.html", t, {**values, **refusal, **shown.writing(t)}, error.status)
    return html("fit/page.html", t, {**values, "found": found, **shown.writing(t), **shown.values(found, today, t)})


async def _answer(runtime: Runtime, looked_at: View, today: date) -> Answer:
    question = looked_at.question()
    here = None
    if looked_at.gpu == view.HERE:
        # Tools of the driver's may take seconds.
        here = await asyncio.to_thread(this_machine.look, runtime.settings.data, gpus())
    return fits.answer(question, today, here)


def _known_form(looked_at: View) -> View:
    """A form of another model, left over from choosing it, gives way to this one's first."""
    model = models().get(looked_at.model)
    if model is None or any(quant.name == looked_at.quant for quant in model.quants):
        return looked_at
    others = {quant.name for other in models().values() for quant in other.quants}
    if looked_at.quant not in others:
        return looked_at
    return view.with_quant(looked_at, model.quants[0].name)
